// What the rules about idle causes share: the device that loses most to some gaps, and the host ops
// to blame.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>

#include "analyzer/rules/rule.h"

namespace stepscope::analyzer {

/// Finds the device on which the gaps that `counts` (called with places in device.gaps, from
/// several threads at once) take the largest share of a step. From `least_share` on, a finding with
/// cost, evidence (longest first), the metrics "gaps_per_step" and "devices" (how many pass
/// least_share), and the subject "host_op": the host op that was running for most of it. `causes`:
/// of the gaps that may count; others are not asked for where these cannot reach least_share.
std::optional<Finding> find_idle_cost(
    char const* rule, RuleInput const& input, double least_share,
    std::initializer_list<IdleCause> causes,
    std::function<bool(MeasuredDevice const&, size_t)> const& counts);

/// find_idle_cost() of all gaps of one cause.
std::optional<Finding> find_idle_cost(char const* rule, RuleInput const& input, double least_share,
                                      IdleCause cause);

/// The name of the host op that was running for most of these gaps (places in device.gaps); empty
/// when none was.
std::string busiest_host_op(RuleInput const& input, MeasuredDevice const& device,
                            std::vector<size_t> const& gaps);

/// Whether this late time around a sync is what the step's syncs cost: no more in all than they
/// blocked the host. Late time is not theirs where the host was mostly in a range of its own that
/// began after the sync and was over before the launch: that is what kept it.
bool is_way_from_sync(MeasuredDevice const& device, size_t place);

}  // namespace stepscope::analyzer
