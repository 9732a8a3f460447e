// The critical path of a run: the chain of work, over all ranks, that made the measured window as
// long as it is. Slack: how much longer all other work could take (DEFINITIONS, "Critical path").
// analyzer/metrics/critical_path/critical_path finds both.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/model/intervals.h"

namespace stepscope::analyzer {

/// What the path did at an instant.
enum class PathClass : uint8_t {
  kCompute,        ///< a device op that computes
  kCommunication,  ///< a collective or message, from the arrival of its last participant on
  kCopy,           ///< a memcpy
  kHost,           ///< a host thread, in whatever is not one of the next
  kLaunch,         ///< in a launch call, or from there to the start of the device op
  kSync,   ///< in a call that waits for the device, while the device is over with what it waits for
  kInput,  ///< waiting for training data
  kAllocation,  ///< in a call that allocates or frees device memory
  kProfiler,    ///< the profiler's own time
  kPeer,        ///< in a collective, waiting for a rank whose part of the path is not followed
  kUnexplained  ///< no record tells
};
inline constexpr int kPathClassCount = 11;
/// The JSON key: "compute", "communication", …
char const* to_string(PathClass path_class);
/// ns by class.
using PathSplit = std::array<int64_t, kPathClassCount>;

/// The part of the path on one device, or on the host of one process.
struct PathPlace {
  int32_t rank_index = 0;
  std::optional<int32_t> device;  ///< none = the host
  PathSplit by_class{};
};

/// The part of the path in events of one name.
struct PathContributor {
  PathClass path_class = PathClass::kUnexplained;
  /// Hostile text; none = no event was open. Launch latency has the device op that began late.
  std::optional<std::string> name;
  int64_t ns = 0;
  uint64_t count = 0;  ///< stretches of the path
  double share = 0;    ///< of the path
};

/// The part of the path in the windows of one step, each process's own.
struct PathStep {
  int64_t step = 0;
  int32_t rank_index = 0;  ///< the process that has most of it; the first of equals
  PathSplit by_class{};
};

/// Device ops off the path, of one class or one name. Slack of an op: it alone could end so much
/// later, and the window would not grow.
struct PathSlack {
  PathClass path_class = PathClass::kCompute;
  std::optional<std::string> name;  ///< hostile text; none = all of the class
  uint64_t ops = 0;
  int64_t total_ns = 0;  ///< their summed durations
  int64_t nearly_critical_ns =
      0;  ///< of total_ns: ops with less slack than CriticalPathStats::nearly_critical_below_ns
  int64_t min_ns = 0, median_ns = 0;  ///< of the slack
};

struct CriticalPathStats {
  model::Interval window;         ///< first begin to last end of the devices' windows
  PathSplit by_class{};           ///< sums to the window's length
  std::vector<PathPlace> places;  ///< by (rank, host before devices); each ns of the path is in one
  std::vector<PathContributor> contributors;  ///< by ns descending, at most kMaxContributors
  std::vector<PathStep> steps;                ///< by step
  int64_t bare_host_ns =
      0;             ///< of kHost: no event but the step's own range says what the thread did
  uint64_t ops = 0;  ///< device ops on the path
  /// Ops on the path without a record of what they waited for: the last op before each was taken.
  uint64_t guessed_waits = 0;
  uint64_t jumps = 0;  ///< from a collective to the device of its last participant
  /// The largest difference, over all jumps, between the two sides' begins of the transfer.
  int64_t clock_disagreement_ns = 0;
  int64_t clock_filled_ns =
      0;  ///< of kCommunication: by the clocks before the op from which the path jumps
  int64_t clock_cut_ns = 0;  ///< cut off the path's begin, because clocks contradict each other
  std::vector<PathSlack> slack_by_class;  ///< by class, those with ops off the path
  std::vector<PathSlack> slack_by_name;   ///< by total_ns descending, at most kMaxContributors
  int64_t nearly_critical_below_ns = 0;   ///< 1 % of the median step, without steps of the window
  /// False: more ranks delay each other in turn than are followed, so the slack may be less.
  bool is_slack_exact = true;
};
/// More names than one reads.
inline constexpr size_t kMaxContributors = 20;

}  // namespace stepscope::analyzer
