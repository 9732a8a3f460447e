#include "viewer/timeline/unread_rows.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "viewer/event_store/event_store.h"

namespace stepscope::viewer {
namespace {

/// The class that takes most of a pixel, and how much all take together.
std::pair<model::OpClass, float> busiest(DensityColumn const& column) {
  size_t best = 0;
  float sum = 0;
  for (size_t c = 0; c < column.busy.size(); ++c) {
    sum += column.busy[c];
    if (column.busy[c] > column.busy[best]) best = c;
  }
  return {static_cast<model::OpClass>(best), std::min(sum, 1.0F)};
}

Paint paint_of_class(model::OpClass op) {
  switch (op) {
    case model::OpClass::kCompute:
      return Paint::kCompute;
    case model::OpClass::kComm:
      return Paint::kCommunication;
    case model::OpClass::kCopy:
      return Paint::kCopy;
    case model::OpClass::kNone:
      break;
  }
  return Paint::kRange;
}

/// Tracks of a process that rows of the frame show.
ShownTracks shown_tracks_of(Scene const& scene, Layout const& layout) {
  ShownTracks shown;
  for (Row const& row : layout.rows) {
    Node const& node = scene.nodes[row.node];
    auto& of_rank = shown[node.rank];
    if (node.kind == NodeKind::kStream || node.kind == NodeKind::kThread ||
        node.kind == NodeKind::kCounter)
      of_rank.insert(node.track);
    if (node.kind == NodeKind::kDevice || node.kind == NodeKind::kCommunicator)
      of_rank.insert(node.streams.begin(), node.streams.end());

    // A closed rank shows the strips of its devices.
    if (node.kind != NodeKind::kRank || row.open) continue;
    for (uint32_t i = row.node + 1; i < node.subtree_end; ++i)
      of_rank.insert(scene.nodes[i].streams.begin(), scene.nodes[i].streams.end());
  }
  return shown;
}

}  // namespace

void add_density_lanes(Scene const& scene, uint32_t index, Layout const& layout, float row_top,
                       bool faded, std::vector<Item>& items) {
  Node const& node = scene.nodes[index];
  if (node.lane_count == 0) return;
  std::vector<DensityColumn> const columns =
      scene.store->density(scene, index, layout.window, layout.viewport.width);
  for (uint32_t lane = 0; lane < node.lane_count; ++lane) {
    Item item;
    item.kind = ItemKind::kDensity;
    item.node = index;
    item.faded = faded;
    item.y0 = row_top + std::round((kTrackPad / 2 + static_cast<float>(lane) * kLaneHeight) *
                                   layout.viewport.scale);
    item.y1 = item.y0 + std::round((kLaneHeight - 1) * layout.viewport.scale);
    if (item.y1 <= 0 || item.y0 >= layout.viewport.height) continue;

    for (size_t i = 0; i < columns.size(); ++i) {
      auto const [op, share] = busiest(columns[i]);
      if (columns[i].depth <= lane || (share <= 0 && columns[i].starts <= 0)) continue;
      item.x0 = static_cast<float>(i);
      item.x1 = item.x0 + 1;
      item.paint = paint_of_class(op);
      item.count = static_cast<uint32_t>(std::lround(std::clamp(columns[i].starts, 0.0F, 1e9F)));
      // Lanes above the first are only known to be less busy.
      item.fill = share * (1 - static_cast<float>(lane) / static_cast<float>(columns[i].depth));
      items.push_back(item);
    }
  }
}

void add_unread_curve(Scene const& scene, uint32_t index, Layout const& layout, float y0, float y1,
                      std::vector<CurvePoint>& points) {
  Node const& node = scene.nodes[index];
  if (node.curve.highest <= node.curve.lowest || layout.viewport.width < 1) return;

  float const scale = layout.viewport.scale;
  auto const y = [&](double value) {
    double const share = (value - node.curve.lowest) / (node.curve.highest - node.curve.lowest);
    return y1 - 2 * scale - static_cast<float>(share) * (y1 - y0 - 6 * scale);
  };
  auto const pixels = scene.store->curve(scene, index, layout.window, layout.viewport.width);
  for (size_t i = 0; i < pixels.size(); ++i)
    if (pixels[i].is_known)
      points.push_back({static_cast<float>(i), y(pixels[i].low), y(pixels[i].high)});
}

void add_strip(Scene const& scene, uint32_t index, Layout const& layout, float y0, float y1,
               std::vector<Item>& items) {
  Item item;
  item.kind = ItemKind::kSegment;
  item.node = index;
  item.y0 = y0;
  item.y1 = y1;

  auto const pieces = scene.store->device_strip(scene, index, layout.window, layout.viewport.width);
  for (StripPiece const& piece : pieces) {
    item.x0 = piece.x0;
    item.x1 = piece.x1;
    item.paint = piece.paint;
    item.idle = piece.idle;
    item.gap = piece.gap;
    // A gap of several pixels is one piece of time; what is busy is many.
    item.count = piece.gap != StripPiece::kNoGap && piece.x1 - piece.x0 > 1 ? 1 : 2;
    items.push_back(item);
  }
}

void want_events(Scene const& scene, ViewState const& state, Layout const& layout) {
  scene.store->want(scene, state.selection, layout.window, shown_tracks_of(scene, layout));
}

}  // namespace stepscope::viewer
