// The rows of the tree with their heights. They are made again only when the shown part of the tree
// changes, so that a frame costs what its screen holds and not what the run has.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "viewer/scene/track_choice.h"

namespace stepscope::viewer {

/// Heights at scale 1, in pixels.
inline constexpr float kRankHeight = 24, kDeviceHeight = 30, kLaneHeight = 19, kTrackPad = 3,
                       kCurveHeight = 40, kGhostHeight = kLaneHeight;
/// Pinned rows take at most this share of the height.
inline constexpr float kMostPinned = 0.6F;

/// Immutable.
struct ShownRows {
  std::vector<ShownTrack> tracks;  ///< that scroll, from top to bottom
  std::vector<float> tops;       ///< of each, in pixels at scale 1, and of what lies below the last
  std::vector<uint32_t> pinned;  ///< nodes, in their order
  uint32_t hidden = 0;           ///< count_hidden()

  [[nodiscard]] float height() const { return tops.back(); }
};

/// Never null. O(groups that are closed, tracks that are hidden, pinned, moved or with a
/// ghost) where they are as in this thread's last call for the scene. Else O(nodes).
std::shared_ptr<ShownRows const> shown_rows(Scene const& scene, ViewState const& state);
/// How often this thread made rows anew, for tests.
uint64_t shown_rows_made();
/// Height of a node's row without a ghost track, in pixels at scale 1.
float node_height(Node const& node);
/// Whether predicted events are drawn under the node's own.
bool has_ghost(ViewState const& state, uint32_t node);
/// Height of a node's row with all that is drawn in it, in pixels at scale 1.
float row_height(Scene const& scene, ViewState const& state, uint32_t node);

/// Top and bottom of a node among the rows, in pixels at scale 1, before scrolling. A hidden node
/// has those of its nearest shown parent.
std::pair<float, float> node_extent(Scene const& scene, ViewState const& state, uint32_t node);
/// Height of all rows that scroll, at scale 1.
float content_height(Scene const& scene, ViewState const& state);
/// Height of the pinned rows at scale 1 where all rows together have `rows_height`: the pinned ones
/// leave room for the others.
float pinned_height(Scene const& scene, ViewState const& state, float rows_height);

}  // namespace stepscope::viewer
