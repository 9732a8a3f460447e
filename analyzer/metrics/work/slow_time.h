// Time in which a device is busy with ops that could take less (DEFINITIONS, "Slow time"): what the
// rules about kernels and copies judge, of any window. O(n log n) for the device, O(log n +
// covered) for a window.
//   simt_matrix   matrix kernels without tensor cores (kernel_traits.h), while nothing else
//   computes small_grid    a kernel with fewer blocks than the GPU has multiprocessors, while
//   nothing else computes; lost: what goes beyond
//                 the time that any kernel takes × the share of the multiprocessors without a
//                 block, its own or a collective's
//   serialized    a kernel waits although nothing keeps it but the order that the default stream
//   makes: it was launched and its
//                 stream was free; the kernel before it, which is on the default stream where it is
//                 on another or the other way round, was running; both together have no more blocks
//                 than the GPU has multiprocessors; and no call had let its stream wait for an
//                 event since the last op of the stream. At most as long as the kernel itself
//                 takes.
//   slow_copy     pageable and blocking copies (copies.h), while nothing computes or communicates;
//                 and calls that copy pageable memory on the host, while the device is idle
#pragma once

#include "analyzer/metrics/time/device_time.h"
#include "analyzer/metrics/work/op_tables.h"

namespace stepscope::analyzer {

class SlowTimes {
 public:
  /// `places`: of the device's process.
  SlowTimes(DeviceOps const& device, DeviceSets const& sets,
            std::vector<LaunchPlace> const& places);
  [[nodiscard]] SlowTime within(Interval window) const;

 private:
  /// The small-grid kernels by start, disjoint in time; sums up to and with each.
  struct SmallGrids {
    std::vector<int64_t> starts, alone_sums, lost_sums;
  };
  void add_small_grids(DeviceOps const& device, DeviceSets const& sets, uint64_t multiprocessors);

  model::IntervalSet simt_matrix_, serialized_, slow_copy_, device_copy_;
  SmallGrids small_;
};

/// Even an empty kernel takes about so long from its start to its end on a GPU: with more blocks
/// none gets faster than this.
inline constexpr int64_t kEmptyKernelNs = 3'000;
/// A collective has a block a channel, and NCCL at most so many channels on the links within a
/// machine.
inline constexpr uint64_t kBlocksOfCollective = 32;
/// A kernel that another one kept starts at once when that is over: later, something else kept it.
inline constexpr int64_t kStartsAtOnceNs = 10'000;

}  // namespace stepscope::analyzer
