// The analysis as a person reads it in a terminal in 20 seconds: verdict, step split, devices,
// findings.
#pragma once

#include <string>

#include "analyzer/results/analysis.h"

namespace stepscope::reports {

struct TextOptions {
  bool color = false;  ///< ANSI colours; the caller knows terminal and NO_COLOR
  int width = 100;     ///< columns to fill, at least 60 are used
};

/// UTF-8, ends with a newline. Text from the trace is made printable.
std::string analysis_text(model::Run const& run, analyzer::Analysis const& analysis,
                          TextOptions const& options = {});

}  // namespace stepscope::reports
