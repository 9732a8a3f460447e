// Where efficiency went between two numbers of devices: an exact breakdown of what a step takes
// more than if the work scaled.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "analyzer/compare/comparison.h"

namespace stepscope::analyzer {

/// A part of the lost time. All of them sum to it, to the ns.
enum class LostPart : uint8_t {
  kKernels = 0,        ///< calls of kernels take longer than their share of the work
  kCalls = 1,          ///< more calls of the same kernels
  kOtherKernels = 2,   ///< kernels that only one of both has
  kOverlap = 3,        ///< kernels run side by side less
  kCommunication = 4,  ///< exposed, without waiting
  kWaiting = 5,    ///< for peers that come late by anything but compute; idle time of cause peer
  kImbalance = 6,  ///< exposed communication that peers cause which compute longer
  kCopies = 7,     ///< exposed
  kHost = 8,       ///< idle since the host is late: input, allocation, sync, launches
  kRest = 9  ///< other idle time: dependencies within a rank, graphs, the profiler, unexplained
};
inline constexpr size_t kLostPartCount = 10;
/// "kernels", "kernel_calls", "other_kernels", "kernel_overlap", "exposed_comm", "waiting",
/// "imbalance", "exposed_copy", "host", "rest".
char const* to_string(LostPart part);
/// To which an idle cause belongs.
LostPart lost_part(IdleCause cause);

struct LostTime {
  size_t from = 0, to = 0;  ///< indices of points, from < to
  int64_t ideal_ns =
      0;  ///< the mean step at `from`, times what a device's work at `to` is of that there
  int64_t step_ns = 0;                             ///< the mean step at `to`
  std::array<int64_t, kLostPartCount> parts_ns{};  ///< Σ = step_ns − ideal_ns
  /// The same by cause, with kernels, host ops and late devices that explain it: `to` against
  /// `from`, whose times are ideal ones.
  Comparison explained;
};

/// `ideal`: what a device's work at `to` is of that at `from`: 1 at weak scaling, fewer devices /
/// more devices at strong scaling. Both have a run, each run a step.
LostTime lost_time(std::vector<RunMeasurements> const& from, std::vector<RunMeasurements> const& to,
                   double ideal);

}  // namespace stepscope::analyzer
