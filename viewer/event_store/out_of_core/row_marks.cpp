#include "viewer/event_store/out_of_core/row_marks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>

namespace stepscope::viewer {
namespace {

/// Read beyond the view at each side, as a share of it: moving on finds them there. And how much of
/// that must be left.
constexpr double kReadAhead = 0.5, kMustBeAhead = 0.125;
/// Of one process at once: a tenth of a second of reading on one core.
constexpr uint64_t kMostTileEvents = 192 * 1024;
/// Around a selected event, for its links: so much time, less where much happens.
constexpr int64_t kAroundSelection = 20'000'000;
constexpr uint64_t kMostAroundSelection = 32 * 1024;

int64_t clamped(double time) {
  return static_cast<int64_t>(std::clamp(time, -static_cast<double>(model::kMaxTime),
                                         static_cast<double>(model::kMaxTime)));
}

/// The part of a window that the run has, by a process's clock.
model::Interval trace_window(Scene const& scene, uint32_t rank, double begin, double end) {
  auto const length = static_cast<double>(scene.length);
  int64_t const back = add(~scene.shift(rank), 1);
  // An event of no length at the very end is in it too.
  return {add(clamped(std::floor(std::clamp(begin, 0.0, length))), back),
          add(clamped(std::ceil(std::clamp(end, 0.0, length))) + 1, back)};
}

std::vector<DensityColumn> columns_of(Scene const& scene, uint32_t rank,
                                      std::span<uint32_t const> tracks, TimeWindow window,
                                      float width) {
  auto const count = static_cast<size_t>(std::max(width, 0.0F));
  double const pixel = window.span() / static_cast<double>(width);
  return scene.far->columns(rank, tracks, window.begin - static_cast<double>(scene.shift(rank)),
                            pixel, count);
}

/// Of a device or of a communicator.
int32_t device_of(Scene const& scene, Node const& node) {
  return scene.trace(node.rank).tracks()[node.streams.front()].device;
}

std::vector<DensityColumn> columns_of_communicator(Scene const& scene, Node const& node,
                                                   TimeWindow window, float width) {
  std::vector<DensityColumn> columns(static_cast<size_t>(std::max(width, 0.0F)));
  auto const* const all =
      scene.far->communicators({static_cast<int32_t>(node.rank), device_of(scene, node)});
  if (all == nullptr) return columns;
  auto const of = std::find_if(all->begin(), all->end(), [&](OutOfCoreCommunicator const& each) {
    return each.of.id == node.communicator;
  });
  if (of == all->end()) return columns;
  model::TrackSummary const* const summary = &of->summary;
  of->grid.add_columns(std::span(&summary, 1),
                       window.begin - static_cast<double>(scene.shift(node.rank)),
                       window.span() / static_cast<double>(width), columns);
  return columns;
}

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

/// What a pixel of a device is: `column` has all its streams. What is hidden behind what is known
/// to the analysis alone: here communication and copies are taken as hidden as little as possible.
StripPiece piece_of(DensityColumn const& column) {
  float const compute = std::min(column.busy[static_cast<size_t>(model::OpClass::kCompute)], 1.0F);
  float const comm = std::min(column.busy[static_cast<size_t>(model::OpClass::kComm)], 1 - compute);
  float const copy =
      std::min(column.busy[static_cast<size_t>(model::OpClass::kCopy)], 1 - compute - comm);
  float const idle = 1 - compute - comm - copy;
  StripPiece piece;
  float most = compute;
  auto const take = [&](float share, Paint paint, bool is_idle) {
    if (share <= most) return;
    most = share;
    piece.paint = paint;
    piece.idle = is_idle;
  };
  take(comm, Paint::kCommunication, false);
  take(copy, Paint::kCopy, false);
  take(idle, Paint::kUnexplained, true);
  return piece;
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
    if (node.kind != NodeKind::kRank || row.open) continue;
    for (uint32_t i = row.node + 1; i < node.subtree_end; ++i)
      of_rank.insert(scene.nodes[i].streams.begin(), scene.nodes[i].streams.end());
  }
  return shown;
}

/// Takes tracks as long as memory holds them: those that are seen first, then those with few events
/// first.
void choose_tracks(OutOfCoreRun const& far, std::set<uint32_t> const& seen, uint64_t most_events,
                   TileRequest& request) {
  std::vector<std::tuple<bool, uint64_t, uint32_t>> all;
  OutOfCoreRank const& rank = far.rank(request.rank);
  for (uint32_t t = 0; t < rank.tracks.size(); ++t)
    if (rank.tracks[t]->events > 0)
      all.emplace_back(!seen.contains(t), far.starts(request.rank, t, request.begin, request.end),
                       t);
  std::sort(all.begin(), all.end());
  for (auto const& [is_unseen, events, track] : all) {
    if (request.events + events > most_events) continue;
    request.events += events;
    request.tracks.push_back(track);
  }
  std::sort(request.tracks.begin(), request.tracks.end());
}

/// What surrounds a selected event, unless it was read.
std::optional<TileRequest> request_around(Scene const& scene, Selection const& selection) {
  OutOfCoreRun const& far = *scene.far;
  if (selection.rank >= scene.run.ranks.size() ||
      selection.track >= far.rank(selection.rank).tracks.size())
    return std::nullopt;
  TileRequest request;
  request.rank = selection.rank;
  request.need_begin = selection.start;
  request.need_end = selection.start + 1;
  request.tracks = {selection.track};
  for (int64_t around = kAroundSelection; around > 0; around /= 2) {
    request.begin = selection.start - around;
    request.end = selection.start + around;
    TileRequest all = request;
    all.tracks.clear();
    choose_tracks(far, {selection.track}, kMostAroundSelection, all);
    if (!std::binary_search(all.tracks.begin(), all.tracks.end(), selection.track)) continue;
    bool const is_whole =
        all.tracks.size() ==
        static_cast<size_t>(std::count_if(far.rank(request.rank).tracks.begin(),
                                          far.rank(request.rank).tracks.end(),
                                          [](auto const& track) { return track->events > 0; }));
    if (is_whole || around == 1) return all;
  }
  return request;
}

}  // namespace

std::shared_ptr<Tile const> tile_of(Scene const& scene, uint32_t index, TimeWindow window) {
  Node const& node = scene.nodes[index];
  model::Interval const when = trace_window(scene, node.rank, window.begin, window.end);
  if (node.kind != NodeKind::kDevice && node.kind != NodeKind::kCommunicator)
    return scene.far->tiles().find(node.rank, node.track, when.begin, when.end);
  if (node.streams.empty()) return nullptr;
  auto tile = scene.far->tiles().find(node.rank, node.streams.front(), when.begin, when.end);
  if (!tile) return nullptr;
  int32_t const device = device_of(scene, node);
  bool const has_all = node.kind == NodeKind::kDevice ? tile->devices.contains(device)
                                                      : tile->communicators.contains(device);
  return has_all ? tile : nullptr;
}

std::span<Lane const> lanes_of(Scene const& scene, Tile const& tile, uint32_t index) {
  Node const& node = scene.nodes[index];
  if (node.kind != NodeKind::kCommunicator) return tile.tracks[node.track].lanes;
  for (CommunicatorLanes const& each : tile.communicators.at(device_of(scene, node)))
    if (each.of.id == node.communicator) return each.lanes;
  return {};
}

Segments const& segments_of(Scene const& scene, Tile const& tile, uint32_t index) {
  Node const& node = scene.nodes[index];
  return tile.devices.at(device_of(scene, node));
}

Curve const* known_curve(Tile const* tile, uint32_t track, double begin) {
  if (tile == nullptr) return nullptr;
  Curve const& curve = tile->tracks[track].curve;
  return !curve.time.empty() && static_cast<double>(curve.time.front()) <= begin ? &curve : nullptr;
}

void add_out_of_core_lanes(Scene const& scene, uint32_t index, Layout const& layout, float row_top,
                           bool faded, std::vector<Item>& items) {
  Node const& node = scene.nodes[index];
  std::vector<DensityColumn> const columns =
      node.kind == NodeKind::kCommunicator
          ? columns_of_communicator(scene, node, layout.window, layout.viewport.width)
          : columns_of(scene, node.rank, std::array{node.track}, layout.window,
                       layout.viewport.width);
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
      // Of the lanes above the first no more is known than that they are less busy.
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
  int64_t const begin = clamped(layout.window.begin - shift);
  auto const bins =
      pyramid.view(begin, std::max(clamped(layout.window.end - shift), begin + 1), count);
  std::optional<model::ViewBin> last;
  for (size_t i = 0; i < count; ++i) {
    if (layout.time_at(static_cast<float>(i + 1)) > static_cast<double>(scene.length)) break;
    // A pixel in which no sample was taken has the value of the one before.
    if (bins[i].starts > 0 || bins[i].low != 0 || bins[i].high != 0) last = bins[i];
    if (last) points.push_back({static_cast<float>(i), y(last->low), y(last->high)});
  }
}

std::vector<StripPiece> strip_pieces(Scene const& scene, uint32_t index, TimeWindow window,
                                     float width) {
  Node const& node = scene.nodes[index];
  std::vector<StripPiece> pieces;
  if (width < 1) return pieces;
  std::vector<DensityColumn> const columns =
      columns_of(scene, node.rank, node.streams, window, width);
  double const pixel = window.span() / static_cast<double>(width);
  auto const begin = window.begin + static_cast<double>(scene.origin);
  analyzer::DeviceGaps const* gaps =
      node.device ? scene.analysis.gaps.of(scene.analysis.devices[*node.device].ref) : nullptr;
  size_t const first = gaps == nullptr ? 0 : scene.analysis.gaps.first_of(gaps->ref());
  std::vector<GapGrid::Longest> longest;
  if (gaps != nullptr)
    longest = scene.far->gap_grid(gaps->ref()).longest(*gaps, begin, pixel, columns.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    StripPiece piece = piece_of(columns[i]);
    bool const has_gap = i < longest.size() && longest[i].gap != GapGrid::kNone;
    if (!columns[i].known && !has_gap) continue;
    // One that is not as long cannot take half of the pixel, and is not looked at.
    constexpr double kAlmostHalf = 0.499;
    if (has_gap && !columns[i].known) piece.idle = true;
    if (has_gap && static_cast<double>(longest[i].length) >= kAlmostHalf * pixel) {
      analyzer::Interval const when = gaps->when(longest[i].gap);
      double const from =
          std::max((static_cast<double>(when.begin) - begin) / pixel, static_cast<double>(i));
      double const until =
          std::min((static_cast<double>(when.end) - begin) / pixel, static_cast<double>(i + 1));
      if (until - from >= 0.5) piece.idle = true;
    }
    if (piece.idle && has_gap) {
      piece.paint = paint_of(gaps->cause(longest[i].gap));
      piece.gap = static_cast<uint32_t>(first + longest[i].gap);
    }
    piece.x0 = static_cast<float>(i);
    piece.x1 = piece.x0 + 1;
    StripPiece* const last = pieces.empty() ? nullptr : &pieces.back();
    if (last != nullptr && last->x1 == piece.x0 && last->paint == piece.paint &&
        last->idle == piece.idle && last->gap == piece.gap) {
      last->x1 = piece.x1;
    } else {
      pieces.push_back(piece);
    }
  }
  return pieces;
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
  std::vector<TileRequest> requests;
  if (state.selection && state.selection->what == Selection::What::kEvent)
    if (auto request = request_around(scene, *state.selection))
      requests.push_back(std::move(*request));
  auto const shown = shown_tracks_of(scene, layout);
  // Those of this view and those of the one before find room together.
  uint64_t const room = kMostTileBytes / kTileBytesAnEvent / 2 / std::max<size_t>(shown.size(), 1);
  double const span = layout.window.span();
  for (auto const& [rank, tracks] : shown) {
    TileRequest request;
    request.rank = rank;
    model::Interval const need =
        trace_window(scene, rank, layout.window.begin - kMustBeAhead * span,
                     layout.window.end + kMustBeAhead * span);
    model::Interval const read = trace_window(scene, rank, layout.window.begin - kReadAhead * span,
                                              layout.window.end + kReadAhead * span);
    if (need.length() <= 1) continue;
    request.need_begin = need.begin;
    request.need_end = need.end;
    request.begin = read.begin;
    request.end = read.end;
    choose_tracks(*scene.far, tracks, std::min(room, kMostTileEvents), request);
    if (!request.tracks.empty()) requests.push_back(std::move(request));
  }
  return requests;
}

}  // namespace stepscope::viewer
