// Sums and durations over events: the questions behind the statistics panel and the histogram, and
// their answers.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/results/device_stats.h"
#include "viewer/scene/view_state.h"
#include "viewer/widgets/palette.h"

namespace stepscope::viewer {

/// What happened in a range of time: per device its split (DEFINITIONS, "Device time", over the
/// range) and the device ops that took longest. An op counts with the part of it that lies in the
/// range.
struct RangeStatistics {
  struct DeviceSplit {
    uint32_t node = 0;
    /// ns; compute, exposed communication, exposed copy, idle causes: with `outside` they sum to
    /// the range.
    std::array<int64_t, kPaintCount> time{};
    int64_t idle = 0;
    int64_t outside = 0;  ///< before the device's first op or after its last
  };
  struct Op {
    std::string name;  ///< printable
    Paint paint = Paint::kCompute;
    uint64_t count = 0;
    int64_t total = 0;
  };
  /// A thread of a run without devices.
  struct Thread {
    uint32_t node = 0;
    int64_t busy = 0;  ///< ns of the range in which its outermost events ran
  };
  TimeWindow range;
  std::vector<DeviceSplit> devices;
  std::vector<Thread> threads;    ///< without devices: those that did anything, busiest first
  bool are_threads_known = true;  ///< false: they were not looked at
  /// Device ops; in a run without devices ranges and calls, by own time. Sorted by total,
  /// descending, at most kMaxOps.
  std::vector<Op> ops;
  uint64_t op_count = 0;
};
inline constexpr size_t kMaxOps = 50;

/// Which device ops a histogram shows.
struct HistogramKey {
  analyzer::DeviceRef ref;
  std::string name;  ///< printable
  uint32_t bins = 40;
  friend bool operator==(HistogramKey const&, HistogramKey const&) = default;
};

}  // namespace stepscope::viewer
