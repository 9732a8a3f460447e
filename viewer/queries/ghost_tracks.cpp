#include "viewer/queries/ghost_tracks.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "trace/base/format.h"
#include "viewer/widgets/text.h"

namespace stepscope::viewer {
namespace {

/// Wraps where a damaged trace has times that no difference holds.
int64_t length(int64_t begin, int64_t end) { return add(end, add(~begin, 1)); }

std::vector<model::Interval> cut_overlaps(analyzer::PredictedTrack const& track) {
  bool is_disjoint = true;
  for (size_t i = 1; i < track.size() && is_disjoint; ++i)
    is_disjoint = track.begin[i] >= track.end[i - 1];
  if (is_disjoint) return {};

  std::vector<model::Interval> cut;
  cut.reserve(track.size());
  for (size_t i = 0; i < track.size(); ++i) {
    int64_t const begin = std::max(track.begin[i], i > 0 ? cut[i - 1].end : track.begin[i]);
    cut.push_back({begin, std::max(track.end[i], begin)});
  }
  return cut;
}

GhostTrack ghost_of(uint32_t node, analyzer::PredictedTrack const& predicted) {
  GhostTrack ghost;
  ghost.node = node;
  ghost.track = &predicted;
  ghost.cut = cut_overlaps(predicted);

  int64_t busy = 0;
  for (uint32_t i = 0; i < ghost.size(); ++i) {
    ghost.begins.add(ghost.begin(i));
    if (i % kBusyBlock == 0) ghost.busy_before.push_back(busy);
    busy = add(busy, length(ghost.begin(i), ghost.end(i)));
  }
  return ghost;
}

}  // namespace

GhostTrack const* GhostTracks::of_node(uint32_t node) const {
  auto const found = std::partition_point(
      tracks.begin(), tracks.end(), [&](GhostTrack const& track) { return track.node < node; });
  return found == tracks.end() || found->node != node ? nullptr : &*found;
}

std::vector<uint32_t> GhostTracks::nodes() const {
  std::vector<uint32_t> nodes;
  nodes.reserve(tracks.size());
  for (GhostTrack const& track : tracks) nodes.push_back(track.node);
  return nodes;
}

std::shared_ptr<GhostTracks const> make_ghost_tracks(
    Scene const& scene, std::shared_ptr<analyzer::ReplaySession const> session, std::string change,
    analyzer::PredictedTimeline timeline) {
  auto ghosts = std::make_shared<GhostTracks>();
  ghosts->change = printable_name(change, 200);
  ghosts->session = std::move(session);
  ghosts->timeline = std::move(timeline);

  for (analyzer::PredictedTrack const& track : ghosts->timeline.tracks)
    if (auto const node = scene.node_of_track(track.process, track.track))
      ghosts->tracks.push_back(ghost_of(*node, track));
  std::sort(ghosts->tracks.begin(), ghosts->tracks.end(),
            [](GhostTrack const& a, GhostTrack const& b) { return a.node < b.node; });

  for (analyzer::PredictedStep const& step : ghosts->timeline.steps)
    ghosts->steps[step.ref].push_back(step.predicted.begin);
  for (auto& [ref, begins] : ghosts->steps) std::sort(begins.begin(), begins.end());
  return ghosts;
}

std::vector<std::string> describe_ghost(GhostTracks const& ghosts, GhostTrack const& track,
                                        uint32_t index) {
  model::Interval const recorded = track.track->recorded(index);
  model::Interval const predicted{track.track->begin[index], track.track->end[index]};
  int64_t const moved = length(recorded.begin, predicted.begin);

  std::vector<std::string> lines = {printable_name(track.trace().name(track.track->rows[index]))};
  lines.push_back("predicted: " + ghosts.change);
  lines.push_back(fmt::format("recorded {} → predicted {}",
                              base::format_duration(recorded.length()),
                              base::format_duration(predicted.length())));
  if (moved == 0)
    lines.emplace_back("begins where it was recorded");
  else
    lines.push_back(fmt::format("begins {} {}", base::format_duration(std::abs(moved)),
                                moved < 0 ? "earlier" : "later"));
  return lines;
}

}  // namespace stepscope::viewer
