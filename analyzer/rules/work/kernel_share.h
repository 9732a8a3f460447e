// What the rules about kinds of kernels share: how much of a device's op time and of its steps
// kernels with one role take.
#pragma once

#include <functional>
#include <string_view>

#include "analyzer/rules/rule.h"

namespace stepscope::analyzer {

using KernelRole = bool (*)(std::string_view kernel);

/// Kernels with a role on one device.
struct KernelShare {
  MeasuredDevice const* device = nullptr;
  double op_share = 0;  ///< of the device's summed op time, over the whole recording
  double ns_per_step =
      0;  ///< their summed time in measured steps; without steps in the whole window
  double time_share = 0;      ///< of measured time
  double count_per_step = 0;  ///< calls
  KernelStats const* heaviest = nullptr;
  std::vector<Finding::Evidence> evidence;  ///< steps in which they take longest
};

/// From these shares on a role is worth a finding.
struct LeastShares {
  double of_ops, of_time;
};

/// The device on which kernels with the role take the largest share of time, if `holds` and both
/// shares are reached there. `device` is null where no device reaches them.
KernelShare find_kernel_share(RuleInput const& input, KernelRole role, LeastShares least,
                              std::function<bool(KernelShare const&)> const& holds);

/// A warning without a cost: what a remedy would save is not known, only that it is no more than
/// these kernels take
/// ("at_most_ns_per_step").
Finding make_share_finding(char const* rule, KernelShare const& share);

}  // namespace stepscope::analyzer
