// The clock of CUPTI's records → trace time. Where CUPTI uses our clock (a timestamp callback) that
// is a subtraction. Elsewhere it is CUPTI's own, CLOCK_REALTIME on Linux: converted by pairs of
// both clocks, straight lines between them. A clock that is set while the program runs begins a new
// era.
#pragma once

#include <cstdint>
#include <vector>

#include "tracer/core/clock.h"

namespace stepscope::tracer {

/// The writer thread's.
class RecordClock {
 public:
  /// Records' times are CLOCK_MONOTONIC; the trace began at `origin_monotonic_ns`.
  explicit RecordClock(int64_t origin_monotonic_ns) : origin_ns_(origin_monotonic_ns) {}
  /// Records' times are of another clock; `first` (its ticks: that clock, in ns) was read before
  /// anything was recorded.
  RecordClock(int64_t origin_monotonic_ns, ClockSample first);

  /// A later pair. Ignored where records' times are CLOCK_MONOTONIC.
  void add(ClockSample sample);
  [[nodiscard]] int64_t to_trace_ns(uint64_t time) const {
    if (eras_.empty()) [[likely]]
      return static_cast<int64_t>(time - static_cast<uint64_t>(origin_ns_));
    return convert(static_cast<int64_t>(time));
  }

  /// The newest trace time that a record can have: it is decoded now.
  void set_now(int64_t trace_ns) { latest_ns_ = trace_ns + kMarginNs; }
  /// CUPTI has been seen to write ends before starts, and times of another clock (pytorch#192021);
  /// one such row would stretch the trace by days.
  [[nodiscard]] bool is_possible(int64_t start_ns, int64_t end_ns) const {
    return start_ns >= -kMarginNs && start_ns <= end_ns && end_ns <= latest_ns_;
  }

 private:
  /// CUPTI interpolates the device's clock: its times are off by microseconds; a second is
  /// generous.
  static constexpr int64_t kMarginNs = 1'000'000'000;
  /// Between two samples the clocks drift apart by microseconds. More than this, and somebody has
  /// set one.
  static constexpr int64_t kStepNs = 1'000'000;
  /// Samples closer than this tell no more of the drift than their own noise.
  static constexpr int64_t kSpacingNs = 50'000'000;
  /// Clocks that were set; records of earlier eras have long been decoded.
  static constexpr size_t kMaxEras = 4;

  struct Era {
    ClockFit fit;
    int64_t first_ticks, first_ns;  ///< where it begins: the other clock, trace time
  };
  void begin_era(ClockSample sample);
  [[nodiscard]] int64_t convert(int64_t ticks) const;

  int64_t origin_ns_;
  int64_t latest_ns_ = INT64_MAX;
  std::vector<Era> eras_;
};

}  // namespace stepscope::tracer
