// What the rules about steps that take longer than usual share: which part of the step grew, and
// what the host did meanwhile.
#pragma once

#include "analyzer/rules/rule.h"

namespace stepscope::analyzer {

/// Adds the subject "part" (what grew most from the usual steps to the longer ones: "compute",
/// "exposed_comm", "exposed_copy" or an idle cause) and, where that is idle time during which host
/// ops ran, "host_op". Both of one device, with periods.
void add_grown_part(RuleInput const& input, MeasuredDevice const& steady,
                    MeasuredDevice const& longer, Finding& finding);

/// Of at least one period, ns; of two in the middle the shorter.
int64_t median_length(std::vector<Interval> const& periods);

}  // namespace stepscope::analyzer
