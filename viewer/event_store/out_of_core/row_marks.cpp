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

#include "viewer/event_store/out_of_core/out_of_core_store.h"

namespace stepscope::viewer {
namespace {

/// Read beyond the view at each side, as a share of it: moving on finds them there. And how much of
/// that must be left.
constexpr double kReadAhead = 0.5, kMustBeAhead = 0.125;
/// Most events that one process's tile has: a tenth of a second of reading on one core.
constexpr uint64_t kMostTileEvents = 192 * 1024;
/// Around a selected event, for its links: so much time, less where much happens.
constexpr int64_t kAroundSelection = 20'000'000;
constexpr uint64_t kMostAroundSelection = 32 * 1024;

std::vector<DensityColumn> columns_of(Scene const& scene, uint32_t rank,
                                      std::span<uint32_t const> tracks, TimeWindow window,
                                      float width) {
  auto const count = static_cast<size_t>(std::max(width, 0.0F));
  double const pixel = window.span() / static_cast<double>(width);
  return out_of_core_run(scene).columns(
      rank, tracks, window.begin - static_cast<double>(scene.shift(rank)), pixel, count);
}

/// The number of a node's device; the node is a device's or a communicator's.
int32_t device_of(Scene const& scene, Node const& node) {
  return scene.trace(node.rank).tracks()[node.streams.front()].device;
}

std::vector<DensityColumn> columns_of_communicator(Scene const& scene, Node const& node,
                                                   TimeWindow window, float width) {
  std::vector<DensityColumn> columns(static_cast<size_t>(std::max(width, 0.0F)));
  auto const* const all = out_of_core_run(scene).communicators(
      {static_cast<int32_t>(node.rank), device_of(scene, node)});
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

/// Takes tracks as long as memory holds them: those that are seen first, then those with few events
/// first.
void choose_tracks(OutOfCoreRun const& run, std::set<uint32_t> const& seen, uint64_t most_events,
                   TileRequest& request) {
  std::vector<std::tuple<bool, uint64_t, uint32_t>> all;
  OutOfCoreRank const& rank = run.rank(request.rank);
  for (uint32_t t = 0; t < rank.tracks.size(); ++t)
    if (rank.tracks[t]->events > 0)
      all.emplace_back(!seen.contains(t), run.starts(request.rank, t, request.begin, request.end),
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
  OutOfCoreRun const& run = out_of_core_run(scene);
  if (selection.rank >= scene.run.ranks.size() ||
      selection.track >= run.rank(selection.rank).tracks.size())
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
    choose_tracks(run, {selection.track}, kMostAroundSelection, all);

    if (!std::binary_search(all.tracks.begin(), all.tracks.end(), selection.track)) continue;
    bool const is_whole =
        all.tracks.size() ==
        static_cast<size_t>(std::count_if(run.rank(request.rank).tracks.begin(),
                                          run.rank(request.rank).tracks.end(),
                                          [](auto const& track) { return track->events > 0; }));
    if (is_whole || around == 1) return all;
  }
  return request;
}

/// A trace time, within what a trace can have.
int64_t clamped_time(double time) {
  return static_cast<int64_t>(std::clamp(time, -static_cast<double>(model::kMaxTime),
                                         static_cast<double>(model::kMaxTime)));
}

/// The part of a window that the run has, by a process's clock.
model::Interval trace_window(Scene const& scene, uint32_t rank, double begin, double end) {
  auto const length = static_cast<double>(scene.length);
  int64_t const back = add(~scene.shift(rank), 1);
  // An event of no length at the very end is in it too.
  return {add(clamped_time(std::floor(std::clamp(begin, 0.0, length))), back),
          add(clamped_time(std::ceil(std::clamp(end, 0.0, length))) + 1, back)};
}

/// The events of a track's node, of a communicator's, or of all streams of a device's, in the
/// window; null where they are not in memory.
std::shared_ptr<Tile const> tile_of(Scene const& scene, uint32_t index, TimeWindow window) {
  Node const& node = scene.nodes[index];
  model::Interval const when = trace_window(scene, node.rank, window.begin, window.end);
  if (node.kind != NodeKind::kDevice && node.kind != NodeKind::kCommunicator)
    return out_of_core_run(scene).tiles().find(node.rank, node.track, when.begin, when.end);
  if (node.streams.empty()) return nullptr;

  auto tile =
      out_of_core_run(scene).tiles().find(node.rank, node.streams.front(), when.begin, when.end);
  if (!tile) return nullptr;

  int32_t const device = device_of(scene, node);
  bool const has_all = node.kind == NodeKind::kDevice ? tile->devices.contains(device)
                                                      : tile->communicators.contains(device);
  return has_all ? tile : nullptr;
}

/// The lanes of a track or a communicator whose events are in the tile.
std::span<Lane const> lanes_of(Scene const& scene, Tile const& tile, uint32_t index) {
  Node const& node = scene.nodes[index];
  if (node.kind != NodeKind::kCommunicator) return tile.tracks[node.track].lanes;
  for (CommunicatorLanes const& each : tile.communicators.at(device_of(scene, node)))
    if (each.of.id == node.communicator) return each.lanes;
  return {};
}

/// The samples of a counter, where one is there that tells what holds at the left edge; else null.
Curve const* known_curve(Tile const& tile, uint32_t track, double begin) {
  Curve const& curve = tile.tracks[track].curve;
  return !curve.time.empty() && static_cast<double>(curve.time.front()) <= begin ? &curve : nullptr;
}

}  // namespace

RowEvents events_of_row(Scene const& scene, uint32_t index, TimeWindow window) {
  Node const& node = scene.nodes[index];
  RowEvents events;
  if (node.kind == NodeKind::kRank) return events;
  if (node.kind == NodeKind::kMemory) {
    events.curve = &node.curve;  // of the analysis
    return events;
  }

  auto tile = tile_of(scene, index, window);
  if (!tile) return events;
  events.trace = &tile->trace;
  if (node.kind == NodeKind::kDevice) {
    events.segments = &tile->devices.at(device_of(scene, node));
  } else if (node.kind == NodeKind::kCounter) {
    events.curve = known_curve(*tile, node.track, window.begin);
  } else {
    // The analysis keeps one of an event that was recorded twice: a row has room for what it knows.
    auto const lanes = lanes_of(scene, *tile, index);
    events.lanes = lanes.first(std::min<size_t>(lanes.size(), node.lane_count));
  }
  events.owner = std::move(tile);
  return events;
}

std::vector<CounterPixel> curve_pixels(Scene const& scene, uint32_t index, TimeWindow window,
                                       float width) {
  Node const& node = scene.nodes[index];
  auto const count = static_cast<size_t>(std::max(width, 0.0F));
  std::vector<CounterPixel> pixels(count);
  if (count == 0) return pixels;

  double const shift = static_cast<double>(scene.shift(node.rank));
  int64_t const begin = clamped_time(window.begin - shift);
  int64_t const end = std::max(clamped_time(window.end - shift), begin + 1);
  auto const bins =
      out_of_core_run(scene).track(node.rank, node.track).pyramid.view(begin, end, count);

  CounterPixel last;
  for (size_t i = 0; i < count; ++i) {
    double const until =
        window.begin + static_cast<double>(i + 1) / static_cast<double>(width) * window.span();
    if (until > static_cast<double>(scene.length)) break;

    // A pixel in which no sample was taken has the value of the one before.
    if (bins[i].starts > 0 || bins[i].low != 0 || bins[i].high != 0)
      last = {bins[i].low, bins[i].high, true};
    pixels[i] = last;
  }
  return pixels;
}

RankSteps recorded_steps(Scene const& scene, uint32_t rank, TimeWindow window) {
  RankSteps result;
  auto const& all = out_of_core_run(scene).rank(rank).steps;
  if (all.empty()) return result;

  result.mean_ns = std::max<int64_t>(
      (all.back().begin - all.front().begin) / static_cast<int64_t>(all.size()), 1);
  int64_t const shift = scene.shift(rank);
  auto const view = [&](OutOfCoreRank::Step const& each) { return add(each.begin, shift); };
  auto step = std::partition_point(all.begin(), all.end(), [&](auto const& each) {
    return static_cast<double>(view(each)) < window.begin;
  });
  for (; step != all.end() && static_cast<double>(view(*step)) < window.end; ++step)
    result.steps.push_back({view(*step), step->index});
  return result;
}

std::vector<DensityColumn> density_of(Scene const& scene, uint32_t index, TimeWindow window,
                                      float width) {
  Node const& node = scene.nodes[index];
  if (node.kind == NodeKind::kCommunicator)
    return columns_of_communicator(scene, node, window, width);
  return columns_of(scene, node.rank, std::array{node.track}, window, width);
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
    longest =
        out_of_core_run(scene).gap_grid(gaps->ref()).longest(*gaps, begin, pixel, columns.size());

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

std::vector<TileRequest> requests_for(Scene const& scene, std::optional<Selection> const& selection,
                                      TimeWindow window, ShownTracks const& shown) {
  std::vector<TileRequest> requests;
  if (selection && selection->what == Selection::What::kEvent)
    if (auto request = request_around(scene, *selection)) requests.push_back(std::move(*request));

  // The tiles of this view and those of the one before find room together.
  uint64_t const room = kMostTileBytes / kTileBytesAnEvent / 2 / std::max<size_t>(shown.size(), 1);
  double const span = window.span();
  for (auto const& [rank, tracks] : shown) {
    TileRequest request;

    request.rank = rank;
    model::Interval const need = trace_window(scene, rank, window.begin - kMustBeAhead * span,
                                              window.end + kMustBeAhead * span);
    model::Interval const read =
        trace_window(scene, rank, window.begin - kReadAhead * span, window.end + kReadAhead * span);
    if (need.length() <= 1) continue;

    request.need_begin = need.begin;
    request.need_end = need.end;
    request.begin = read.begin;
    request.end = read.end;
    choose_tracks(out_of_core_run(scene), tracks, std::min(room, kMostTileEvents), request);
    if (!request.tracks.empty()) requests.push_back(std::move(request));
  }
  return requests;
}

}  // namespace stepscope::viewer
