// What one host thread does, as a row of stretches without a hole: the nodes that a thread has in a
// replay graph. Each stretch has one class; a call is a stretch, or several where calls within it
// are something else. O(events of the thread).
#pragma once

#include <cstdint>
#include <vector>

#include "analyzer/metrics/host/innermost_host_events.h"

namespace stepscope::analyzer {

/// It begins where the one before it ends.
struct HostStretch {
  int64_t end = 0;            ///< run time
  uint32_t row = kNoLeafRow;  ///< of the call or wait; none: the host's own work, or nothing
  PathClass path_class = PathClass::kHost;
  bool starts_step = false;  ///< its begin is that of a step of the thread
  bool waits = false;        ///< for the thread that the cut at its end tells of
};

struct HostStretches {
  int64_t begin = 0;  ///< of the first
  std::vector<HostStretch> all;

  [[nodiscard]] int64_t begin_of(size_t place) const {
    return place == 0 ? begin : all[place - 1].end;
  }
};

/// An instant at which a thread is cut though it does not change what it does.
struct HostCut {
  int64_t at = 0;             ///< run time
  bool starts_step = false;   ///< a step of the thread begins
  bool ends_waiting = false;  ///< the thread has waited since it last began or ended anything
  friend auto operator<=>(HostCut const&, HostCut const&) = default;
};

/// `cuts`: by time. Stretches from the thread's first event to the last change of what it does.
HostStretches host_stretches(model::RankTrace const& rank, model::TrackId thread,
                             std::vector<HostCut> const& cuts, HostClasses& classes);

/// Finds the stretches of a thread by their ends, faster where the instants come in order.
class StretchFinder {
 public:
  explicit StretchFinder(HostStretches const& stretches) : stretches_(stretches) {}
  /// The number of stretches that end at the instant or before.
  size_t count_ended(int64_t instant);

 private:
  HostStretches const& stretches_;
  size_t last_ = 0;
};

}  // namespace stepscope::analyzer
