// Which event of a host thread was innermost at every instant, and what that means for the critical
// path: for walks back in time that cost nothing but their steps. O(events of the thread) to
// prepare and, once each, for the stretches that are walked.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "analyzer/metrics/core/device_ops.h"
#include "analyzer/results/critical_path_stats.h"

namespace stepscope::analyzer {

/// Whether the thread does something while such an event is open: calls, ranges, waits and steps,
/// but no instants and no samples.
bool is_host_activity(model::EventKind kind);

inline constexpr uint32_t kNoLeafRow = std::numeric_limits<uint32_t>::max();
/// From `begin` to the next leaf's, the last begun of the open events is `row`.
struct HostLeaf {
  int64_t begin = 0;          ///< run time
  uint32_t row = kNoLeafRow;  ///< none: nothing is open
  PathClass path_class = PathClass::kHost;
};

/// What every event of a trace is to the path, as far as its kind and name tell. Made once for all
/// threads of a process.
class HostClasses {
 public:
  explicit HostClasses(model::Trace const& trace)
      : trace_(trace), of_name_(trace.strings().size(), NameKind::kUnknown) {}
  PathClass of(uint32_t row);

 private:
  enum class NameKind : uint8_t { kUnknown, kInput, kOther };
  model::Trace const& trace_;
  std::vector<NameKind> of_name_;  ///< by StringId, when first asked for
};

/// The leaves of one thread. Ranges within a wait, an allocation or a launch are a part of it;
/// calls within it are what they are.
class InnermostHostEvents {
 public:
  InnermostHostEvents(model::RankTrace const& rank, model::TrackId thread, HostClasses& classes);
  /// The last leaf that begins before the instant; none before the thread's first event.
  std::optional<HostLeaf> before(int64_t instant);

 private:
  struct Open {
    uint32_t row;
    int64_t end;
    PathClass path_class;
  };
  /// Where the leaves from one row on can be made: that row, and what is open when it begins.
  struct Mark {
    int64_t begin;
    uint32_t row;
    std::vector<Open> open;
  };
  void pass(uint32_t row, bool keeps_leaves);
  void close_until(int64_t instant, bool keeps_leaves);
  void add_leaf(int64_t begin);
  void load(size_t mark);

  model::RankTrace const& rank_;
  HostClasses& classes_;
  uint32_t last_row_;
  std::vector<Mark> marks_;
  std::vector<Open> open_;
  size_t loaded_ = std::numeric_limits<size_t>::max();  ///< the mark from which leaves_ are
  size_t last_ = 0;                                     ///< the leaf that was asked for last
  std::vector<HostLeaf> leaves_;
};

}  // namespace stepscope::analyzer
