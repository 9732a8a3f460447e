// Findings about the host of a process without a device: rules of devices call these for the same
// fault there.
#pragma once

#include "analyzer/rules/rules.h"

namespace stepscope::analyzer {

/// input-bound: the steps wait for data.
void find_host_input(RuleInput const& input, std::vector<Finding>& findings);
/// step-outliers: a few steps take much longer than the others.
void find_host_outliers(RuleInput const& input, std::vector<Finding>& findings);
/// straggler: one rank says last that it is ready for collectives
/// (metrics/communication/negotiations.h).
void find_late_rank(RuleInput const& input, std::vector<Finding>& findings);
/// load-imbalance: of the threads of a timeline that compute, one a rank, some are busy for much
/// longer than the others.
void find_busy_rank(RuleInput const& input, std::vector<Finding>& findings);

}  // namespace stepscope::analyzer
