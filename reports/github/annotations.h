// What a gate found as workflow commands of GitHub Actions: annotations on the run and, of budgets,
// on the line of the file.
#pragma once

#include <string>
#include <string_view>

#include "analyzer/gate/gate.h"

namespace stepscope::reports {

/// A line each for what failed (error), is unclear (warning) or changed in the history (notice),
/// none for what passed.
std::string gate_annotations(analyzer::GateResult const& result);

/// Text that a workflow prints but must not obey: what stands between "::stop-commands::TOKEN" and
/// "::TOKEN::" is no command. `token`: must be unknown to the author of the text.
std::string without_commands(std::string_view text, std::string_view token);

}  // namespace stepscope::reports
