#include "viewer/event_store/out_of_core/out_of_core_run.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <utility>

#include <tbb/parallel_for.h>

#include "trace/base/check.h"

namespace stepscope::viewer {
namespace {

/// Moves bins to the corrected clock, in place.
void correct_times(model::TrackSummary& summary, model::ClockDrift const& drift) {
  if (drift.is_none()) return;
  for (int64_t& begin : summary.begin) begin = drift.corrected(begin);
  summary.end = drift.corrected(summary.end);
  // A bin that became a few ns shorter cannot be busier than it is long.
  for (size_t bin = 0; bin < summary.size(); ++bin)
    for (auto& busy : summary.busy)
      busy[bin] = std::min(busy[bin], summary.bin_end(bin) - summary.begin[bin]);
}

void take_summary(model::TrackSummary summary, OutOfCoreTrack& track) {
  uint16_t deepest = 0;
  for (size_t bin = 0; bin < summary.size(); ++bin) {
    deepest = std::max(deepest, summary.depth[bin]);
    track.lowest = std::min(track.lowest, summary.low[bin]);
    track.highest = std::max(track.highest, summary.high[bin]);
  }
  track.lanes = std::min<uint32_t>(deepest, kMaxLanes);
  track.pyramid = model::TrackPyramid(std::move(summary));
}

std::vector<OutOfCoreRank::Step> steps_of(import::TraceSource const& source) {
  std::vector<OutOfCoreRank::Step> result;
  auto const steps = source.steps();
  if (!steps) return result;

  std::map<uint32_t, size_t> counts;
  for (file::StepSpan const& step : *steps) ++counts[step.track.value];

  auto const most =
      std::max_element(counts.begin(), counts.end(),
                       [](auto const& a, auto const& b) { return a.second < b.second; });

  for (file::StepSpan const& step : *steps)
    if (step.track.value == most->first) result.push_back({step.start, step.index});
  return result;
}

/// Whether a track has the events that its summary counts in the bins that lie within the tile.
/// `is_damaged`: something of the tile could not be read. Where no bin lies within, a damaged tile
/// is taken to lack the events of a track that has none.
bool is_complete(Tile const& tile, uint32_t track, model::TrackSummary const& summary,
                 bool is_damaged) {
  auto const first = static_cast<size_t>(
      std::lower_bound(summary.begin.begin(), summary.begin.end(), tile.request.begin) -
      summary.begin.begin());
  uint64_t expected = 0;
  size_t last = first;
  for (; last < summary.size() && summary.bin_end(last) <= tile.request.end; ++last)
    expected += summary.starts[last];

  auto const rows = tile.trace.rows_of(model::TrackId{track});
  if (last == first) return !is_damaged || rows.size() > 0;

  auto const& start = tile.trace.columns().start;
  auto const begin = start.begin() + rows.first;
  auto const end = start.begin() + rows.last;
  auto const count = std::lower_bound(begin, end, summary.bin_end(last - 1)) -
                     std::lower_bound(begin, end, summary.begin[first]);

  // A corrected clock may move an event over the border of a bin.
  constexpr uint64_t kAtBorders = 2;
  return static_cast<uint64_t>(count) + kAtBorders >= expected;
}

/// The devices of the process by their numbers.
std::vector<OutOfCoreDevice> devices_with_streams(std::span<model::Track const> tracks,
                                                  OutOfCoreRank const& rank) {
  std::map<int32_t, std::vector<uint32_t>> streams;
  for (uint32_t t = 0; t < tracks.size(); ++t)
    if (tracks[t].kind != model::TrackKind::kThread && tracks[t].device >= 0 &&
        rank.tracks[t]->events > 0)
      streams[tracks[t].device].push_back(t);

  std::vector<OutOfCoreDevice> devices;
  for (auto& [number, of_device] : streams) {
    OutOfCoreDevice& device = devices.emplace_back();
    device.device = number;
    for (uint32_t const t : of_device)
      if ((rank.tracks[t]->kinds & file::kind_bit(model::EventKind::kCollective)) != 0)
        device.collectives.push_back(t);
    // The kinds are what the file says of itself: where they deny what was found in it all are
    // looked at.
    if (device.collectives.empty()) device.collectives = of_device;
    device.streams = std::move(of_device);
  }
  return devices;
}

/// Adds what only all streams of a device together show, where the tile has them all. `shift`: from
/// trace time to view time.
void add_device(OutOfCoreDevice const& device, import::RankSource const& rank, int64_t shift,
                TileContext const& facts, Tile& tile) {
  auto const has_all = [&](std::vector<uint32_t> const& tracks) {
    return std::all_of(tracks.begin(), tracks.end(), [&](uint32_t t) { return tile.has(t); });
  };
  analyzer::DeviceRef const ref{static_cast<int32_t>(tile.request.rank), device.device};

  if (facts.communicators && has_all(device.collectives)) {
    auto const known = facts.communicators->find(ref);
    if (known != facts.communicators->end() && !streams_tell_apart(known->second)) {
      auto lanes = communicator_lanes(tile.trace, device.collectives);
      for (CommunicatorLanes const& each : lanes)
        for (Lane const& lane : each.lanes) tile.bytes += lane.rows.size() * sizeof(uint32_t);
      tile.communicators.emplace(device.device, std::move(lanes));
    }
  }

  if (!has_all(device.streams)) return;

  GapsOfDevice of;
  if (facts.gaps != nullptr) of.gaps = facts.gaps->of(ref);
  if (of.gaps != nullptr) of.first = facts.gaps->first_of(ref);

  Segments segments(device_segments(
      tile.trace, device.streams, shift, facts.origin, of,
      {add(tile.request.begin, rank.offset_ns), add(tile.request.end, rank.offset_ns)}));
  tile.bytes += segments.size() * sizeof(Segment);
  tile.devices.emplace(device.device, std::move(segments));
}

}  // namespace

DensityGrid const& OutOfCoreTrack::grid() const {
  std::call_once(grid_made_, [this] {
    model::TrackSummary const* const summary = &pyramid.summary();
    grid_ = DensityGrid(std::span(&summary, 1));
  });
  return grid_;
}

DensityGrid const& OutOfCoreDevice::grid(
    std::span<model::TrackSummary const* const> summaries) const {
  std::call_once(*grid_made_, [&] { grid_ = DensityGrid(summaries); });
  return grid_;
}

OutOfCoreDevice const& OutOfCoreRun::device(analyzer::DeviceRef ref) const {
  auto const& devices = ranks_[static_cast<size_t>(ref.rank_index)].devices;
  auto const found = std::find_if(devices.begin(), devices.end(), [&](OutOfCoreDevice const& each) {
    return each.device == ref.device;
  });
  STEPSCOPE_CHECK(found != devices.end());
  return *found;
}

std::vector<OutOfCoreCommunicator> const* OutOfCoreRun::communicators(
    analyzer::DeviceRef ref) const {
  if (!communicators_) return nullptr;
  auto const found = communicators_->find(ref);
  return found == communicators_->end() ? nullptr : &found->second;
}

bool OutOfCoreRun::has_kind(uint32_t rank, model::EventKind kind) const {
  auto const& tracks = ranks_[rank].tracks;
  return std::any_of(tracks.begin(), tracks.end(),
                     [&](auto const& track) { return (track->kinds & file::kind_bit(kind)) != 0; });
}

uint64_t OutOfCoreRun::starts(uint32_t rank, uint32_t of, int64_t begin, int64_t end) const {
  return begin >= end ? 0 : track(rank, of).pyramid.starts(begin, end);
}

std::vector<DensityColumn> OutOfCoreRun::columns(uint32_t rank, std::span<uint32_t const> tracks,
                                                 double begin, double pixel, size_t count) const {
  std::vector<DensityColumn> columns(count);
  std::vector<model::TrackSummary const*> summaries;
  for (uint32_t const of : tracks) summaries.push_back(&track(rank, of).pyramid.summary());

  auto const& devices = ranks_[rank].devices;
  auto const device = std::find_if(
      devices.begin(), devices.end(),
      [&](OutOfCoreDevice const& each) { return std::ranges::equal(each.streams, tracks); });

  if (tracks.size() > 1 && device != devices.end()) {
    device->grid(summaries).add_columns(summaries, begin, pixel, columns);
    return columns;
  }

  for (size_t i = 0; i < tracks.size(); ++i)
    track(rank, tracks[i])
        .grid()
        .add_columns(std::span(summaries).subspan(i, 1), begin, pixel, columns);
  return columns;
}

void OutOfCoreRun::read_tiles(int64_t origin, analyzer::IdleGaps const* gaps, size_t most_bytes) {
  if (tiles_) tiles_->retire();
  last_tiles_ = std::move(tiles_);
  tiles_ = std::make_unique<TileStore>(
      [this, facts = TileContext{origin, gaps, communicators_}](TileRequest const& request) {
        return read_tile(*this, request, facts);
      },
      most_bytes);
}

std::optional<Scene::EventAt> OutOfCoreRun::find(Selection const& selection) const {
  std::optional<Scene::EventAt> found;
  tiles_->each_of(selection.rank, [&](Tile const& tile) {
    if (found || !tile.has(selection.track)) return;

    auto const& columns = tile.trace.columns();
    auto const rows = tile.trace.rows_of(model::TrackId{selection.track});
    auto const first = std::lower_bound(columns.start.begin() + rows.first,
                                        columns.start.begin() + rows.last, selection.start);

    for (auto row = static_cast<uint32_t>(first - columns.start.begin());
         row < rows.last && columns.start[row] == selection.start; ++row) {
      bool const as_deep =
          selection.depth == Selection::kAnyDepth || selection.depth == columns.depth[row];
      if (!as_deep || columns.dur[row] != selection.dur) continue;
      found = Scene::EventAt{&tile.trace, row};
      return;
    }
  });
  return found;
}

base::Expected<std::unique_ptr<OutOfCoreRun>> make_out_of_core_run(OutOfCoreRun::Sources sources) {
  std::vector<OutOfCoreRank> ranks(sources->ranks.size());
  struct Place {
    uint32_t rank, track;
  };
  std::vector<Place> places;
  for (uint32_t r = 0; r < ranks.size(); ++r) {
    import::TraceSource const& source = sources->ranks[r].source;
    auto const counts = source.event_counts();
    auto const kinds = source.kinds();
    for (uint32_t t = 0; t < counts.size(); ++t) {
      auto track = std::make_unique<OutOfCoreTrack>();
      track->events = counts[t];
      track->kinds = kinds[t];
      ranks[r].events += counts[t];
      ranks[r].tracks.push_back(std::move(track));
      if (counts[t] > 0) places.push_back({r, t});
    }
    ranks[r].devices = devices_with_streams(source.tracks(), ranks[r]);
  }

  std::vector<std::string> errors(places.size());
  tbb::parallel_for(size_t{0}, places.size(), [&](size_t i) {
    import::TraceSource const& source = sources->ranks[places[i].rank].source;
    auto summary = source.file()->summary(model::TrackId{places[i].track});
    if (!summary) {
      errors[i] = summary.error().message;
      return;
    }
    correct_times(*summary, source.drift());
    take_summary(std::move(*summary), *ranks[places[i].rank].tracks[places[i].track]);
  });

  for (std::string const& error : errors)
    if (!error.empty()) return base::fail("{}", error);

  tbb::parallel_for(size_t{0}, ranks.size(),
                    [&](size_t r) { ranks[r].steps = steps_of(sources->ranks[r].source); });
  return std::make_unique<OutOfCoreRun>(std::move(sources), std::move(ranks));
}

base::Expected<model::Run> run_without_events(import::RunSources const& sources) {
  file::Selection nothing;
  nothing.tracks.emplace();

  std::vector<std::optional<base::Expected<model::Trace>>> traces(sources.ranks.size());
  tbb::parallel_for(size_t{0}, traces.size(),
                    [&](size_t i) { traces[i].emplace(sources.ranks[i].source.copy(nothing)); });

  model::Run run{sources.name, {}, sources.clock, sources.notes};
  for (size_t i = 0; i < traces.size(); ++i) {
    import::RankSource const& rank = sources.ranks[i];
    if (!*traces[i]) return base::fail_with(*traces[i]);
    run.ranks.push_back({std::move(**traces[i]), rank.offset_ns, rank.file, rank.drift});
  }
  return run;
}

std::shared_ptr<Tile const> read_tile(OutOfCoreRun const& run, TileRequest const& request,
                                      TileContext const& facts) {
  import::RankSource const& rank = run.sources().ranks[request.rank];
  file::Selection selection;
  selection.window = {request.begin, request.end};
  selection.tracks.emplace();
  for (uint32_t const track : request.tracks) selection.tracks->push_back(model::TrackId{track});
  auto trace = rank.source.copy(selection);
  if (!trace) return nullptr;

  auto tile = std::make_shared<Tile>();
  tile->request = request;
  tile->trace = std::move(*trace);
  tile->tracks.resize(tile->trace.tracks().size());

  int64_t const shift = add(rank.offset_ns, add(~facts.origin, 1));
  bool const is_damaged = tile->trace.log().lost_blocks > rank.source.log().lost_blocks;

  for (uint32_t const t : request.tracks) {
    if (t >= tile->tracks.size()) continue;
    Tile::TrackEvents& into = tile->tracks[t];
    into.is_whole = is_complete(*tile, t, run.track(request.rank, t).pyramid.summary(), is_damaged);
    if (!into.is_whole) continue;
    uint64_t hidden = 0;
    into.lanes = make_lanes(tile->trace, t, hidden);
    into.curve = sample_curve(tile->trace, t, shift);
    tile->bytes += into.curve.time.size() * 2 * sizeof(int64_t);
  }

  for (OutOfCoreDevice const& of_device : run.rank(request.rank).devices)
    add_device(of_device, rank, shift, facts, *tile);
  tile->bytes += sizeof(Tile) + size_t{tile->trace.event_count()} * kTileBytesAnEvent +
                 tile->trace.strings().size() * 64;
  return tile;
}

}  // namespace stepscope::viewer
