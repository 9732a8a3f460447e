// How a window of a device's time divides into compute, communication, copies and idle time.
#pragma once

#include <cstdint>
#include <optional>

#include "analyzer/results/idle_stats.h"

namespace stepscope::analyzer {

/// Exact breakdown of a window: compute + exposed_comm + exposed_copy + Σ idle = window, to the ns.
struct TimeSplit {
  int64_t window_ns = 0, busy_ns = 0, idle_ns = 0;
  int64_t compute_ns = 0, comm_ns = 0, copy_ns = 0;
  int64_t exposed_comm_ns = 0, exposed_copy_ns = 0;
  int64_t exposed_wait_ns = 0;  ///< of exposed_comm_ns: waiting for peers, not moving data
  int64_t exposed_late_ns = 0;  ///< of exposed_comm_ns: caused by peers that came late
  std::optional<int64_t> blocking_comm_ns;  ///< of exposed_comm_ns: no other op was ready; none
                                            ///< where that is not known
  IdleSplit idle_by_cause{};                ///< sums to idle_ns
  /// Exposed communication and copies that compute would have hidden, had the host launched it in
  /// time; by what kept the host. 0 where the trace lacks what streams waited for.
  IdleSplit unhidden_by_cause{};
  int64_t unhidden_comm_ns = 0;                         ///< of that, in exposed_comm_ns
  [[nodiscard]] std::optional<double> overlap() const;  ///< none without communication
  [[nodiscard]] std::optional<double> utilization() const;
};

/// The parts of a TimeSplit that sum to its window, as an index: 0 compute, 1 exposed
/// communication, 2 exposed copies, kFirstIdlePart + cause: idle time by cause.
inline constexpr int kFirstIdlePart = 3;
inline constexpr int kPartCount = kFirstIdlePart + kIdleCauseCount;
int64_t part_ns(TimeSplit const& split, int index);

/// Parts of a window in which ops could take less time, by reason (DEFINITIONS, "Slow time"). They
/// may overlap.
struct SlowTime {
  int64_t simt_matrix_ns = 0;  ///< only matrix kernels that leave the tensor cores unused compute
  int64_t small_grid_ns = 0;   ///< a kernel with fewer blocks than SMs runs, alone on the device
  /// small_grid_ns × the share of the SMs that have no block.
  int64_t small_grid_lost_ns = 0;
  /// The default stream makes a kernel wait that would fit next to the running one.
  int64_t serialized_ns = 0;
  int64_t slow_copy_ns =
      0;  ///< of exposed_copy_ns: copies of pageable memory, or that block the host
  int64_t device_copy_ns = 0;  ///< of exposed_copy_ns: only copies within the device run
};

}  // namespace stepscope::analyzer
