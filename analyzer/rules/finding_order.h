// In which order findings are shown: worst first, but a finding that says why another one is there
// before that one.
#pragma once

#include <vector>

#include "analyzer/results/analysis.h"

namespace stepscope::analyzer {

/// Sorts by severity, then cost, both descending, then as they come. A reason has at least the
/// severity of what it explains and stands before it.
void order_findings(std::vector<Finding>& findings);

}  // namespace stepscope::analyzer
