#include "viewer/scene/shown_rows.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace stepscope::viewer {
namespace {

ShownRows make_shown_rows(Scene const& scene, ViewState const& state) {
  ShownRows rows;
  rows.tracks = shown_tracks(scene, state);
  rows.pinned = pinned_tracks(scene, state.tracks);
  rows.hidden = count_hidden(scene, state.tracks);
  rows.tops.reserve(rows.tracks.size() + 1);
  rows.tops.push_back(0);
  for (ShownTrack const& track : rows.tracks)
    rows.tops.push_back(rows.tops.back() + node_height(scene.nodes[track.node]));
  return rows;
}

}  // namespace

std::shared_ptr<ShownRows const> ShownRowsCache::rows(Scene const& scene, ViewState const& state) {
  if (rows_ && closed_ == state.closed && choice_ == state.tracks) return rows_;
  rows_ = std::make_shared<ShownRows const>(make_shown_rows(scene, state));
  closed_ = state.closed;
  choice_ = state.tracks;
  ++made_;
  return rows_;
}

std::shared_ptr<ShownRows const> shown_rows(Scene const& scene, ViewState const& state) {
  if (!scene.rows_cache) return std::make_shared<ShownRows const>(make_shown_rows(scene, state));
  return scene.rows_cache->rows(scene, state);
}

float node_height(Node const& node) {
  switch (node.kind) {
    case NodeKind::kRank:
      return kRankHeight;
    case NodeKind::kDevice:
      return kDeviceHeight;
    case NodeKind::kCounter:
    case NodeKind::kMemory:
      return kCurveHeight + kTrackPad;
    case NodeKind::kStream:
    case NodeKind::kThread:
    case NodeKind::kCommunicator:
      break;
  }
  return static_cast<float>(std::max(node.lane_count, 1U)) * kLaneHeight + kTrackPad;
}

std::pair<float, float> node_extent(Scene const& scene, ViewState const& state, uint32_t node) {
  std::pair<float, float> result{0, 0};
  auto const rows = shown_rows(scene, state);
  for (size_t i = 0; i < rows->tracks.size(); ++i) {
    uint32_t const shown = rows->tracks[i].node;
    if (shown <= node && scene.nodes[shown].subtree_end > node)
      result = {rows->tops[i], rows->tops[i + 1]};
  }
  return result;
}

float content_height(Scene const& scene, ViewState const& state) {
  return shown_rows(scene, state)->height();
}

float pinned_height(Scene const& scene, ViewState const& state, float rows_height) {
  float height = 0;
  for (uint32_t const node : shown_rows(scene, state)->pinned)
    height += node_height(scene.nodes[node]);
  return std::min(height, std::floor(rows_height * kMostPinned));
}

}  // namespace stepscope::viewer
