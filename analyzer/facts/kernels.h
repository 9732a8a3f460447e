// The device ops of a device by name: how often, how long, how well they use the GPU. median_ns and p95_ns are durations that
// occurred: the ⌈n/2⌉-th and the ⌈0.95 n⌉-th smallest. share = of the summed durations of the device's ops, which is not a share
// of time where ops overlap. Rates and shares are over the calls of which the recording tells what they need: operations, least
// memory traffic, blocks. Whether memory or compute bounds a kernel needs the memory's peak bandwidth, which no recording has.
// O(n).
#pragma once

#include "analyzer/facts/run_index.h"

namespace stepscope::analyzer {

/// By total descending, then name. `rows`: device ops of the device.
std::vector<KernelFacts> kernel_table(DeviceIndex const& device, std::vector<uint32_t> const& rows);

/// What the trace says of the device; null where it says nothing.
model::Device const* described_device(DeviceIndex const& device);

}  // namespace stepscope::analyzer
