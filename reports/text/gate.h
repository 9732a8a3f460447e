// A gate's verdict as a person reads it in the log of a CI: verdict, one line a check, then the
// comparison and the history.
#pragma once

#include <cstdint>
#include <string>

#include "analyzer/gate/gate.h"
#include "reports/text/text.h"

namespace stepscope::reports {

enum class GateDetail : uint8_t {
  kWhatMatters,  ///< without the comparison where all checks passed
  kAll,
};

/// For a result without refusal. UTF-8, ends with a newline. Text from traces and files is made
/// printable.
std::string gate_text(analyzer::GateResult const& result, TextOptions const& options = {},
                      GateDetail detail = GateDetail::kAll);

}  // namespace stepscope::reports
