// What the rules about idle causes share: the device that loses most to some gaps, and the host ops
// to blame.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>

#include "analyzer/rules/rule.h"

namespace stepscope::analyzer {

/// Finds the device on which the gaps that `counts` accepts take the largest share of a step.
/// `counts` gets places in device.gaps, from several threads at once. From `least_share` on,
/// returns a finding with cost and evidence (longest first). Its metrics are "gaps_per_step" and
/// "devices" (how many pass least_share). Its subjects are those of blame_host_op(). The gaps that
/// may count have one of `causes`; `counts` is not called on devices where these cannot reach
/// least_share.
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

/// Gives the finding the subject "host_op", in place of the one that it has. Its subject "caller"
/// is the function of the program that called it, if most of these gaps that it takes have one.
void blame_host_op(RuleInput const& input, MeasuredDevice const& device,
                   std::vector<size_t> const& gaps, std::string const& name, Finding& finding);

/// Whether this late time around a sync is a cost of the step's syncs: no more in all than they
/// blocked the host. It is not if the host was mostly in a range of its own, begun after the sync
/// and over before the launch: that range kept it.
bool is_way_from_sync(MeasuredDevice const& device, size_t place);

}  // namespace stepscope::analyzer
