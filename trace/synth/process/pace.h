// How fast made hosts and devices are, beside what programs say: ns.
#pragma once

#include <cstdint>

namespace stepscope::synth {

// The pace of a host that runs ahead of its device.
inline constexpr int64_t kBeforeLaunchNs = 2'600;  // in the framework's operation
inline constexpr int64_t kAfterLaunchNs = 1'100;
inline constexpr int64_t kBetweenOpsNs = 900;
inline constexpr int64_t kLaunchNs = 3'800;
inline constexpr int64_t kHostJitterPermille = 200;
inline constexpr int64_t kEventCallNs = 700;
inline constexpr int64_t kCachedAllocationNs = 1'300;
inline constexpr int64_t kDeviceAllocationNs = 240'000;
inline constexpr int64_t kBetweenStepsNs = 14'000;
inline constexpr int64_t kSyncReturnNs = 6'500;
inline constexpr int64_t kShortestSyncNs = 1'500;
inline constexpr int64_t kInputWaitNs = 38'000;
/// In a tuned job the batch is ready and only handed over.
inline constexpr int64_t kReadyInputNs = 9'000;
/// Until the first bytes of pageable memory are in the driver's buffer.
inline constexpr int64_t kStagingNs = 12'000;
// The device's own latencies, all below the limit that DEFINITIONS sets for launch_latency.
inline constexpr int64_t kStartLatencyNs = 2'100;
inline constexpr int64_t kNextKernelNs = 900;
inline constexpr int64_t kWakeNs = 1'400;
inline constexpr int64_t kKernelJitterPermille = 25;

inline constexpr int32_t kFirstStreamNumber = 7;  // as CUPTI numbers the default stream

}  // namespace stepscope::synth
