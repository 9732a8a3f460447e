// What the launching threads did while a device was idle: idle time by cause and by the range or
// call that ran for most of each gap (IdleGap::host_row).
#pragma once

#include "analyzer/metrics/core/device_ops.h"

namespace stepscope::analyzer {

/// Rows of a device that name a host op; the rest is summed up by cause. A row beyond them is below
/// 1 % of the idle time on average.
inline constexpr size_t kMostHostOps = 100;

/// `gaps`: of this device. Rows come by idle time, descending; those without an op come last. For
/// each cause the rows sum to the gaps' time.
std::vector<HostOpStats> host_op_table(DeviceOps const& device, std::vector<IdleGap> const& gaps);

}  // namespace stepscope::analyzer
