#include "viewer/timeline/out_of_core_rows.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "viewer/event_store/out_of_core/row_marks.h"

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
std::map<uint32_t, std::set<uint32_t>> shown_tracks_of(Scene const& scene, Layout const& layout) {
  std::map<uint32_t, std::set<uint32_t>> shown;
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

void add_out_of_core_lanes(Scene const& scene, uint32_t index, Layout const& layout, float row_top,
                           bool faded, std::vector<Item>& items) {
  Node const& node = scene.nodes[index];
  std::vector<DensityColumn> const columns =
      density_of(scene, index, layout.window, layout.viewport.width);
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

void add_out_of_core_curve(Scene const& scene, uint32_t index, Layout const& layout, float y0,
                           float y1, std::vector<CurvePoint>& points) {
  Node const& node = scene.nodes[index];
  if (node.curve.highest <= node.curve.lowest || layout.viewport.width < 1) return;
  float const scale = layout.viewport.scale;
  auto const y = [&](double value) {
    double const share = (value - node.curve.lowest) / (node.curve.highest - node.curve.lowest);
    return y1 - 2 * scale - static_cast<float>(share) * (y1 - y0 - 6 * scale);
  };

  auto const count = static_cast<size_t>(layout.viewport.width);
  double const shift = static_cast<double>(scene.shift(node.rank));
  auto const& pyramid = scene.far->track(node.rank, node.track).pyramid;
  int64_t const begin = clamped_time(layout.window.begin - shift);
  auto const bins =
      pyramid.view(begin, std::max(clamped_time(layout.window.end - shift), begin + 1), count);

  std::optional<model::ViewBin> last;
  for (size_t i = 0; i < count; ++i) {
    if (layout.time_at(static_cast<float>(i + 1)) > static_cast<double>(scene.length)) break;
    // A pixel in which no sample was taken has the value of the one before.
    if (bins[i].starts > 0 || bins[i].low != 0 || bins[i].high != 0) last = bins[i];
    if (last) points.push_back({static_cast<float>(i), y(last->low), y(last->high)});
  }
}

void add_out_of_core_strip(Scene const& scene, uint32_t index, Layout const& layout, float y0,
                           float y1, std::vector<Item>& items) {
  Item item;
  item.kind = ItemKind::kSegment;
  item.node = index;
  item.y0 = y0;
  item.y1 = y1;

  for (StripPiece const& piece : strip_pieces(scene, index, layout.window, layout.viewport.width)) {
    item.x0 = piece.x0;
    item.x1 = piece.x1;
    item.paint = piece.paint;
    item.idle = piece.idle;
    item.index = piece.gap;
    // A gap of several pixels is one piece of time; what is busy is many.
    item.count = piece.gap != StripPiece::kNoGap && piece.x1 - piece.x0 > 1 ? 1 : 2;
    items.push_back(item);
  }
}

std::pair<std::vector<OutOfCoreStep>, int64_t> steps_of_files(Scene const& scene, uint32_t rank,
                                                              Layout const& layout) {
  std::vector<OutOfCoreStep> steps;
  auto const& all = scene.far->rank(rank).steps;
  if (all.empty()) return {steps, 1};

  int64_t const shift = scene.shift(rank);
  auto const view = [&](OutOfCoreRank::Step const& step) {
    return static_cast<double>(add(step.begin, shift));
  };

  auto step = std::partition_point(all.begin(), all.end(),
                                   [&](auto const& s) { return view(s) < layout.window.begin; });
  for (; step != all.end() && view(*step) < layout.window.end; ++step)
    steps.push_back({layout.x_of(view(*step)), step->index});

  return {steps, std::max<int64_t>(
                     (all.back().begin - all.front().begin) / static_cast<int64_t>(all.size()), 1)};
}

std::vector<TileRequest> wanted_tiles(Scene const& scene, ViewState const& state,
                                      Layout const& layout) {
  return requests_for(scene, state.selection, layout.window, shown_tracks_of(scene, layout));
}

}  // namespace stepscope::viewer
