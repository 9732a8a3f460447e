#include "viewer/scene/shown_rows.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

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
    rows.tops.push_back(rows.tops.back() + row_height(scene, state, track.node));
  return rows;
}

/// The rows of one tree as they were shown last.
struct KeptRows {
  uint64_t tree = 0;
  std::set<uint32_t> closed;
  TrackChoice choice;
  std::vector<uint32_t> ghosts;
  std::shared_ptr<ShownRows const> rows;
};

/// One for each thread that lays out frames; it forgets the tree that was asked for longest ago.
class RowsKeeper {
 public:
  std::shared_ptr<ShownRows const> rows(Scene const& scene, ViewState const& state) {
    auto const known = std::find_if(kept_.begin(), kept_.end(),
                                    [&](KeptRows const& each) { return each.tree == scene.tree; });
    if (known == kept_.end()) {
      kept_.insert(kept_.begin(), KeptRows{scene.tree, {}, {}, {}, nullptr});
      if (kept_.size() > kMostTrees) kept_.pop_back();
    } else {
      std::rotate(kept_.begin(), known, known + 1);
    }

    KeptRows& kept = kept_.front();
    bool const is_same = kept.closed == state.closed && kept.choice == state.tracks &&
                         kept.ghosts == state.panels.what_if.nodes;
    if (kept.rows && is_same) return kept.rows;

    kept.rows = std::make_shared<ShownRows const>(make_shown_rows(scene, state));
    kept.closed = state.closed;
    kept.choice = state.tracks;
    kept.ghosts = state.panels.what_if.nodes;
    ++made_;
    return kept.rows;
  }

  [[nodiscard]] uint64_t made() const { return made_; }

 private:
  /// Two runs that are compared are drawn in turn, and a run that is read again replaces one.
  static constexpr size_t kMostTrees = 3;

  std::vector<KeptRows> kept_;  ///< the last one that was asked for first
  uint64_t made_ = 0;
};

RowsKeeper& rows_keeper() {
  thread_local RowsKeeper keeper;
  return keeper;
}

}  // namespace

std::shared_ptr<ShownRows const> shown_rows(Scene const& scene, ViewState const& state) {
  if (scene.tree == 0) return std::make_shared<ShownRows const>(make_shown_rows(scene, state));
  return rows_keeper().rows(scene, state);
}

uint64_t shown_rows_made() { return rows_keeper().made(); }

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

bool has_ghost(ViewState const& state, uint32_t node) {
  std::vector<uint32_t> const& nodes = state.panels.what_if.nodes;
  return std::binary_search(nodes.begin(), nodes.end(), node);
}

float row_height(Scene const& scene, ViewState const& state, uint32_t node) {
  return node_height(scene.nodes[node]) + (has_ghost(state, node) ? kGhostHeight : 0.0F);
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
    height += row_height(scene, state, node);
  return std::min(height, std::floor(rows_height * kMostPinned));
}

}  // namespace stepscope::viewer
