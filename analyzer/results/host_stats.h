// What the host of a process did, where the process used no device: its steps, ranges and threads
// (DEFINITIONS, "Programs without a device"). Times are integer ns; instants are run time.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/results/device_stats.h"

namespace stepscope::analyzer {

/// DeviceRef::device of findings and places that are a process's host and no device.
inline constexpr int32_t kHostDevice = -1;

/// A step of a thread.
struct HostStepStats {
  int64_t step = 0;
  uint32_t track = 0;  ///< the thread
  Interval range;      ///< the annotated range
  Interval
      period;  ///< from the end of the step before, if that has the number before, to its own end
  int64_t input_ns = 0;  ///< of the period: the thread waited for data
  bool warmup = false;   ///< left out of means and findings
  bool outlier = false;  ///< much longer than the others
};

enum class HostRangeKind : uint8_t { kRange, kPhase, kInput };
/// The JSON's word: "range", "phase", "input".
char const* to_string(HostRangeKind kind);

/// Ranges and calls of one name on all threads of the process; the steps themselves are none of
/// them.
struct HostRangeStats {
  std::string name;  ///< hostile text; empty: further names together
  HostRangeKind kind = HostRangeKind::kRange;
  uint64_t names = 1;        ///< how many names this row stands for
  uint64_t count = 0;        ///< how often they ran
  int64_t inclusive_ns = 0;  ///< union a thread, summed over the threads
  int64_t exclusive_ns = 0;  ///< of it: nothing within ran
  int64_t longest_ns = 0;    ///< of one time
  /// Means over the steps that count, as the mean step is; none without steps.
  std::optional<int64_t> step_inclusive_ns, step_exclusive_ns;
  std::optional<int64_t> steady_exclusive_ns;  ///< of a usual step: what runs are compared by
};

struct HostThreadStats {
  uint32_t track = 0;
  std::string name;     ///< hostile text
  uint64_t events = 0;  ///< ranges, calls and steps
  uint64_t steps = 0;
  int64_t busy_ns = 0;   ///< union of its ranges, calls and steps
  int64_t input_ns = 0;  ///< of it: it waited for data
};

/// What the slow steps have more of than the usual ones; of the slowest alone, where none is an
/// outlier.
struct SlowSteps {
  uint64_t count = 0;     ///< outliers; 0: the slowest counted step stands here
  int64_t mean_ns = 0;    ///< their period
  int64_t steady_ns = 0;  ///< period of the other counted steps, mean
  int64_t worst = 0;      ///< number of the slowest step
  Interval when;          ///< period of the slowest
  std::optional<std::string>
      differs;  ///< range whose exclusive time grew most; none: time outside of all ranges did
  int64_t differs_ns = 0;  ///< by so much a step
};

struct HostStats {
  int32_t rank_index = 0;
  Interval window;                   ///< first begin to last end of the threads' events
  std::vector<HostStepStats> steps;  ///< by (thread, time)
  uint64_t counted_steps = 0;        ///< without warm-up
  /// Periods of counted steps; none without steps.
  std::optional<int64_t> mean_ns, median_ns, p95_ns, input_ns;
  std::optional<SlowSteps> slow;         ///< none with fewer than three counted steps
  std::vector<HostRangeStats> ranges;    ///< by exclusive time descending; further names last
  std::vector<HostThreadStats> threads;  ///< that have events, by busy time descending
};

/// Who was ready last to negotiations of collectives: a timeline of Horovod, which one rank writes
/// for all.
struct NegotiationStats {
  struct Rank {
    int64_t rank = 0;
    uint64_t last = 0;       ///< negotiations to which it came last
    int64_t late_ns = 0;     ///< union, over these, from the last but one to it
    int64_t longest_ns = 0;  ///< the longest of these
    int64_t mean_ns = 0;     ///< of one of these
    uint64_t moments = 0;    ///< stretches that late_ns consists of
    Interval worst;          ///< the longest stretch
    uint32_t track = 0;      ///< of the negotiation with the longest
  };
  int32_t rank_index = 0;   ///< of the process whose file tells
  uint64_t count = 0;       ///< negotiations whose record names every rank
  uint64_t incomplete = 0;  ///< others
  int64_t window_ns = 0;    ///< first begin to last end of the process's events
  std::vector<Rank> ranks;  ///< all, by late_ns descending
};

}  // namespace stepscope::analyzer
