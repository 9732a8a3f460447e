// The communicators of a device: whose collectives it takes part in, where a row for each is worth
// it, what it is called.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "analyzer/results/analysis.h"
#include "trace/model/run.h"
#include "viewer/scene/track_events.h"

namespace stepscope::viewer {

/// A communicator as one device sees it.
struct Communicator {
  uint64_t id = 0;
  uint32_t participants = 0;  ///< as the first collective that says it; 0 = unknown
  uint32_t tracks = 0;        ///< of the device: on so many its collectives run
  uint32_t last_track = 0;
};

/// The collectives of one communicator.
struct CommunicatorLanes {
  Communicator of;
  std::vector<Lane> lanes;  ///< an event is in the first one that is free when it begins; what
                            ///< finds none of kMaxLanes is in none
};
/// The collectives of some tracks by communicator, in the order of their first ones. O(n log n) in
/// the events of the tracks.
std::vector<CommunicatorLanes> communicator_lanes(model::Trace const& trace,
                                                  std::span<uint32_t const> tracks);

/// Where each has a stream of its own the streams say whose they are, and no rows are needed.
template <class Each>
[[nodiscard]] bool streams_tell_apart(std::vector<Each> const& communicators) {
  std::set<uint32_t> alone;
  for (Each const& each : communicators)
    if (each.of.tracks == 1) alone.insert(each.of.last_track);
  return alone.size() == communicators.size();
}

/// Who is in each communicator, as far as collectives were matched.
class CommunicatorMembers {
 public:
  CommunicatorMembers() = default;
  /// O(participants of all collectives).
  explicit CommunicatorMembers(analyzer::Analysis const& analysis);
  /// "Ranks 0–3", "Ranks 0, 2, 4, …"; of devices of one process "Devices 0, 1". `run`: the
  /// analysis'.
  [[nodiscard]] std::string label(model::Run const& run, Communicator const& of) const;

 private:
  std::map<uint64_t, std::set<analyzer::DeviceRef>> members_;
};

/// Puts intervals that are added by their begins into lanes in which they do not overlap: each into
/// the first one that is free.
class FreeLanes {
 public:
  static constexpr size_t kNone = kMaxLanes;
  /// The lane of the next one; kNone: no lane of kMaxLanes is free.
  size_t add(int64_t begin, int64_t end) {
    size_t lane = 0;
    while (lane < ends_.size() && ends_[lane] > begin) ++lane;
    if (lane == kMaxLanes) return kNone;
    if (lane == ends_.size()) ends_.push_back(end);
    ends_[lane] = end;
    return lane;
  }
  [[nodiscard]] size_t count() const { return ends_.size(); }

 private:
  std::vector<int64_t> ends_;
};

}  // namespace stepscope::viewer
