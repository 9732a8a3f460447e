// The page of a search for faster settings: one self-contained document like the report of a run.
// What trials, knobs and commands say is hostile text.
#pragma once

#include <string>

#include "reports/html/html.h"
#include "tune/study.h"

namespace stepscope::reports {

/// A search as the page shows it. One that is not over is asked for its next action before, so that
/// its candidates and their predictions are known.
struct TuningSearch {
  tune::Study const& study;
  std::string folder;       ///< of the search, for commands
  std::string command;      ///< of the best settings, as people copy it
  std::string unpredicted;  ///< why no replay predicts, or empty
};

/// A whole HTML document. `options`: uses title, version and language.
std::string tuning_html(TuningSearch const& search, ReportOptions const& options = {});

}  // namespace stepscope::reports
