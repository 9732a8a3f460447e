// Time for recorders: raw ticks on the hot path, turned into trace nanoseconds later by the writer
// thread. Ticks are the time-stamp counter where the processor reports one rate in every power
// state (CPUID 80000007h, EDX bit 8: constant_tsc and nonstop_tsc). Elsewhere they are
// CLOCK_MONOTONIC in ns. Trace time 0 is the moment the session began.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace stepscope::tracer {

/// CLOCK_MONOTONIC in ns.
inline int64_t monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

/// Where ticks come from; the same for the whole session.
enum class TickSource : uint8_t { kMonotonicClock, kTimeStampCounter };

TickSource choose_tick_source();
char const* to_string(TickSource source);
/// The processor's name as it tells it itself, without the system: to open /proc/cpuinfo takes some
/// kernels 10 ms. Empty where processors do not.
std::string cpu_brand();

inline int64_t read_ticks(TickSource source) {
#if defined(__x86_64__)
  if (source == TickSource::kTimeStampCounter) [[likely]]
    return static_cast<int64_t>(__rdtsc());
#endif
  return monotonic_ns();
}

/// The two clocks read at the same moment.
struct ClockSample {
  int64_t ticks = 0;
  int64_t monotonic_ns = 0;
};
/// The tightest of a few tries, so that being preempted between the two reads does not bend the
/// fit.
ClockSample sample_clocks(TickSource source);

/// Ticks → trace ns: straight lines between the samples, so monotonic and exact at each of them.
/// Not thread-safe: the writer thread's.
class ClockFit {
 public:
  explicit ClockFit(ClockSample origin);

  /// Samples must come in order; one that goes back in either clock is ignored.
  void add(ClockSample sample);
  /// ns since the origin. Ticks past the last sample go on with the last line's slope; never
  /// negative.
  [[nodiscard]] int64_t to_trace_ns(int64_t ticks) const {
    // Records are converted right after a sample was taken: nearly all lie between it and the one
    // before.
    auto const since = static_cast<uint64_t>(ticks) - static_cast<uint64_t>(current_.ticks);
    if (since < current_.length) [[likely]]
      return current_.ns + static_cast<int64_t>(since * current_.ns_per_tick >> kFraction);
    return to_trace_ns_on_any_line(ticks);
  }
  /// Converts times that were CLOCK_MONOTONIC from the beginning.
  [[nodiscard]] int64_t monotonic_to_trace_ns(int64_t ns) const {
    return ns - origin_monotonic_ns_;
  }
  /// Trace time of the newest sample.
  [[nodiscard]] int64_t latest_ns() const { return last_.monotonic_ns - origin_monotonic_ns_; }
  [[nodiscard]] int64_t latest_ticks() const { return last_.ticks; }

 private:
  struct Line {
    int64_t ticks, ns;  ///< where it begins
    double ns_per_tick;
  };
  /// The line from the last but one sample to the last, for one multiplication a record.
  struct CurrentLine {
    int64_t ticks, ns;     ///< where it begins
    uint64_t length;       ///< ticks; 0 when they could overflow the product
    uint64_t ns_per_tick;  ///< in units of 2^-kFraction, rounded down: never passes the next line's
                           ///< begin
  };
  static constexpr unsigned kFraction = 28;
  [[nodiscard]] int64_t to_trace_ns_on_any_line(int64_t ticks) const;
  void set_current_line(Line const& line, ClockSample end);
  /// Lines kept: records are converted within a few drains, so a few seconds of lines are plenty.
  static constexpr size_t kMaxLines = 1024;

  int64_t origin_monotonic_ns_;
  ClockSample last_;
  CurrentLine current_{};
  std::vector<Line> lines_;
};

}  // namespace stepscope::tracer
