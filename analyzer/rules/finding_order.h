// In which order findings are shown: worst first, but a finding that says why another one is there
// before that one.
#pragma once

#include <vector>

#include "analyzer/results/analysis.h"

namespace stepscope::analyzer {

/// Sorts by severity, then cost, both descending, then as they come. A reason has at least the
/// severity of what it explains and stands before it.
void order_findings(std::vector<Finding>& findings);

/// After replays: among findings of one severity, those whose fix gives nothing by itself come
/// last. The others stay in their order.
void order_by_replay(std::vector<Finding>& findings);

}  // namespace stepscope::analyzer
