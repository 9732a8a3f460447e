// What happened in a range of time: per device its split (DEFINITIONS, "Device time", over the
// range) and the device ops that took longest. Ops count with the part of them that lies in the
// range.
#pragma once

#include <array>
#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "viewer/scene/scene.h"

namespace stepscope::viewer {

struct RangeStatistics {
  struct DeviceSplit {
    uint32_t node = 0;
    std::array<int64_t, kPaintCount> time{};  ///< ns; compute, exposed communication, exposed copy,
                                              ///< idle causes: sums to the range
    int64_t idle = 0, outside = 0;  ///< `outside` = before the device's first op or after its last
  };
  struct Op {
    std::string name;  ///< printable
    Paint paint = Paint::kCompute;
    uint64_t count = 0;
    int64_t total = 0;
  };
  /// Of a run without devices.
  struct Thread {
    uint32_t node = 0;
    int64_t busy = 0;  ///< ns of the range in which its outermost events ran
  };
  TimeWindow range;
  std::vector<DeviceSplit> devices;
  std::vector<Thread> threads;  ///< without devices: those that did anything, busiest first
  std::vector<Op> ops;  ///< device ops; without devices ranges and calls, by own time; by total,
                        ///< descending, at most kMaxOps
  uint64_t op_count = 0;
};
inline constexpr size_t kMaxOps = 50;

/// O(segments and device ops in the range). Told to stop, it returns what is there.
RangeStatistics range_statistics(Scene const& scene, TimeWindow range,
                                 std::stop_token const& stop = {});

}  // namespace stepscope::viewer
