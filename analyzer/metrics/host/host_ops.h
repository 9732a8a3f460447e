// What the launching threads did while a device was idle: idle time by cause and by the range or
// call that ran for most of each gap (IdleGap::host_row).
#pragma once

#include "analyzer/metrics/core/device_ops.h"

namespace stepscope::analyzer {

/// Rows of a device that name a host op; what is below is summed up by cause. More, nobody reads,
/// and each is below 1 % of the idle time on average.
inline constexpr size_t kMostHostOps = 100;

/// `gaps`: of this device. By idle time, descending; those that name no op last. For each cause the
/// rows sum to the gaps' time.
std::vector<HostOpStats> host_op_table(DeviceOps const& device, std::vector<IdleGap> const& gaps);

}  // namespace stepscope::analyzer
