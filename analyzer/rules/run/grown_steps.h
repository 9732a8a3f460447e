// What the rules about steps that take longer than usual share: which part of the step grew, and
// what the host did meanwhile.
#pragma once

#include "analyzer/rules/rule.h"

namespace stepscope::analyzer {

/// Adds the subject "part": what grew most from the steady steps to the longer ones ("compute",
/// "exposed_comm", "exposed_copy" or an idle cause). If host ops ran during that idle time, adds
/// "host_op". Both are of one device, with periods.
void add_grown_part(RuleInput const& input, MeasuredDevice const& steady,
                    MeasuredDevice const& longer, Finding& finding);

/// Median length of at least one period, ns; the shorter of two in the middle.
int64_t median_length(std::vector<Interval> const& periods);

}  // namespace stepscope::analyzer
