// Which idle time is the cost of launching kernels that are too short: what rule launch-latency
// counts and host-bound-launches leaves to it.
#pragma once

#include <vector>

#include "analyzer/rules/rule.h"

namespace stepscope::analyzer {

/// The host takes 2 to 5 µs for a call that launches a kernel, and 5 to 10 µs for an op of a
/// framework. With shorter kernels the device is done before the next is there.
inline constexpr int64_t kShortKernelNs = 10'000;
/// Idle for longer between two ops, the host did more than to launch.
inline constexpr int64_t kLongestLaunchNs = 10'000;

/// Marks, beside device.gaps, of the idle times of at most kLongestLaunchNs that are late launches
/// and start latency and nothing else. Empty where the rule does not speak of the device: its
/// median kernel is no shorter than kShortKernelNs, or these gaps are less than kWarningShare of
/// its time.
std::vector<bool> launch_cost_gaps(RuleInput const& input, MeasuredDevice const& device);

}  // namespace stepscope::analyzer
