// The predicted events of a replay on the rows of the timeline: what is drawn under the recorded
// ones. All times are the replay's; none is computed here.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/whatif/replay_session.h"
#include "viewer/scene/scene.h"

namespace stepscope::viewer {

/// The predicted events of one row, in the order in which they begin.
struct GhostTrack {
  uint32_t node = 0;                                ///< of Scene::nodes
  analyzer::PredictedTrack const* track = nullptr;  ///< of GhostTracks::timeline
  BeginIndex begins;                                ///< run time
  std::vector<int64_t> busy_before;  ///< Σ of what is drawn before each block of kBusyBlock events
  /// Where events are drawn, run time: ops of one stream that overlap, as some recordings have
  /// them, are cut so that they do not. Empty where none overlap.
  std::vector<model::Interval> cut;

  [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(track->size()); }
  [[nodiscard]] int64_t begin(uint32_t i) const {
    return cut.empty() ? track->begin[i] : cut[i].begin;
  }
  [[nodiscard]] int64_t end(uint32_t i) const { return cut.empty() ? track->end[i] : cut[i].end; }
  [[nodiscard]] model::Trace const& trace() const { return track->rank->trace; }
};

/// Immutable.
struct GhostTracks {
  std::string change;                                      ///< what is predicted; printable
  std::shared_ptr<analyzer::ReplaySession const> session;  ///< has the rows of the timeline
  analyzer::PredictedTimeline timeline;
  std::vector<GhostTrack> tracks;  ///< by node
  /// The predicted begins of a device's steps, run time, ascending.
  std::map<analyzer::DeviceRef, std::vector<int64_t>> steps;

  [[nodiscard]] GhostTrack const* of_node(uint32_t node) const;
  /// The nodes of all tracks, ascending.
  [[nodiscard]] std::vector<uint32_t> nodes() const;
};

/// Tracks of the scene that have predicted events. O(predicted events).
std::shared_ptr<GhostTracks const> make_ghost_tracks(
    Scene const& scene, std::shared_ptr<analyzer::ReplaySession const> session, std::string change,
    analyzer::PredictedTimeline timeline);

/// What the tooltip of a predicted event says: its name, then a line a fact; printable.
std::vector<std::string> describe_ghost(GhostTracks const& ghosts, GhostTrack const& track,
                                        uint32_t index);

}  // namespace stepscope::viewer
