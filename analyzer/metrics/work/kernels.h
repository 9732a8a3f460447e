// The device ops of a device by name: how often, how long, how well they use the GPU. The fields
// median_ns and p95_ns are durations that occurred: the ⌈n/2⌉-th and the ⌈0.95 n⌉-th smallest. The
// field share is of the summed durations of the device's ops; it is no share of time where ops
// overlap. Rates and shares cover the calls whose operations, least memory traffic or blocks the
// recording has. Whether memory or compute bounds a kernel needs the memory's peak bandwidth, which
// no recording has. O(n).
#pragma once

#include <string_view>

#include "analyzer/metrics/core/device_ops.h"

namespace stepscope::analyzer {

/// Rows come by total, descending, then name. `rows`: device ops of the device.
std::vector<KernelStats> kernel_table(DeviceOps const& device, std::vector<uint32_t> const& rows);

/// What the trace says of the device; null where it says nothing.
model::Device const* described_device(DeviceOps const& device);

/// Whether the machine's cores execute the device's streams, by its name
/// (tracer/api/device_events.h: the runtime names its devices; ours are "host:0", "host:1", …).
inline bool is_host_device(std::string_view name) { return name.starts_with("host"); }

}  // namespace stepscope::analyzer
