// What the rules about slow time (metrics/work/slow_time.h) share: the device that loses most to
// it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "analyzer/rules/rule.h"

namespace stepscope::analyzer {

/// Over the measured steps of the device; over its whole window where it has none.
SlowTime measured_slow_time(RuleInput const& input, MeasuredDevice const& device);

/// The part of a device's slow time that is lost, ns.
using SlowLoss = std::function<int64_t(MeasuredDevice const&, SlowTime const&)>;
/// What the slow ops do. Compute that takes less is waited for less, by the devices that it comes
/// late to.
enum class SlowWork : uint8_t { kCompute, kCopies };
/// Whether the rule is about a device with this measured slow time.
using SlowCondition = std::function<bool(MeasuredDevice const&, SlowTime const&)>;

/// A finding about the device that meets the condition and loses the largest share of its measured
/// time; none below `least_share`. Cost: its loss and, in its waiting for others' compute, the part
/// that is lost there. Evidence: the steps that lose most. At most a warning: what such ops would
/// save is a ceiling that was not measured.
std::optional<Finding> find_slow_cost(char const* rule, RuleInput const& input, double least_share,
                                      SlowLoss const& loss, SlowCondition const& applies,
                                      SlowWork work = SlowWork::kCompute);

/// The kernels of a device, as the facts have them.
std::span<KernelStats const> kernels_of(RuleInput const& input, DeviceRef ref);

/// The kernel of the device for which `weight` is largest; empty where it is 0 for all.
std::string heaviest_kernel(RuleInput const& input, DeviceRef ref,
                            std::function<double(KernelStats const&)> const& weight);

}  // namespace stepscope::analyzer
