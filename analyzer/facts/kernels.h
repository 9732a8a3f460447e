// The device ops of a device by name: how often, how long. median_ns and p95_ns are durations that occurred: the ⌈n/2⌉-th and the
// ⌈0.95 n⌉-th smallest. share = of the summed durations of the device's ops, which is not a share of time where ops overlap.
// O(n).
#pragma once

#include "analyzer/facts/run_index.h"

namespace stepscope::analyzer {

/// By total descending, then name. `rows`: device ops of the device.
std::vector<KernelFacts> kernel_table(DeviceIndex const& device, std::vector<uint32_t> const& rows);

}  // namespace stepscope::analyzer
