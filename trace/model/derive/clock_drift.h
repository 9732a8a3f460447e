// A clock that runs at another speed than the one it is compared with, and a trace whose times are
// corrected for that.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "trace/model/trace.h"

namespace stepscope::model {

/// Maps instants to instants, linear and never backwards: what met before meets after.
struct ClockDrift {
  double rate =
      0;  ///< how much faster time passes on the corrected clock, per ns; within ±kMostRate
  int64_t pivot_ns = 0;  ///< the instant that stays

  static constexpr double kMostRate = 1e-2;  ///< a hundred times what the worst quartz does

  [[nodiscard]] bool is_none() const { return rate == 0; }
  [[nodiscard]] int64_t corrected(int64_t instant) const {
    if (is_none()) return instant;
    return instant + std::llround(rate * static_cast<double>(instant - pivot_ns));
  }
  /// An instant that corrected() gives back, to within a few ns.
  [[nodiscard]] int64_t recorded(int64_t instant) const {
    return instant - std::llround(rate / (1 + rate) * static_cast<double>(instant - pivot_ns));
  }
};

/// Whether the trace says when it began, and says something possible.
bool has_origin(TraceInfo const& info);
/// TraceInfo::facts of recorders that state no epoch: times count since the host's boot, so that
/// processes of one host compare.
inline constexpr std::string_view kClockFact = "clock", kBootClock = "since boot";
bool has_boot_clock(TraceInfo const& info);
/// For each process the number of the clock that recorded it, from 0. Processes of one host share a
/// clock; a process that names no host has its own.
std::vector<uint32_t> clocks_of(std::span<TraceInfo const* const> processes);

/// The trace as its clock would have recorded it without drift: starts and ends are mapped,
/// durations follow. O(events).
Trace correct_drift(Trace const& trace, ClockDrift const& drift);

}  // namespace stepscope::model
