#include "viewer/event_store/out_of_core/out_of_core_store.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "trace/base/check.h"
#include "viewer/event_store/out_of_core/out_of_core_run.h"
#include "viewer/event_store/out_of_core/path.h"
#include "viewer/event_store/out_of_core/replay.h"
#include "viewer/event_store/out_of_core/row_marks.h"
#include "viewer/event_store/out_of_core/same_name.h"
#include "viewer/event_store/out_of_core/search.h"
#include "viewer/event_store/out_of_core/statistics.h"

namespace stepscope::viewer {

OutOfCoreStore::OutOfCoreStore(std::unique_ptr<OutOfCoreRun> run) : run_(std::move(run)) {}
OutOfCoreStore::~OutOfCoreStore() = default;

OutOfCoreRun& out_of_core_run(Scene const& scene) {
  auto const* const store = dynamic_cast<OutOfCoreStore const*>(scene.store.get());
  STEPSCOPE_CHECK(store != nullptr);
  return store->run();
}

uint64_t OutOfCoreStore::event_count(Scene const& /*scene*/, uint32_t rank, uint32_t track) const {
  return run_->track(rank, track).events;
}

Selection OutOfCoreStore::selection_of(Scene const& /*scene*/, uint32_t rank,
                                       model::Trace const& trace, uint32_t row) const {
  auto const& columns = trace.columns();
  return {.rank = rank,
          .track = columns.track[row].value,
          .depth = columns.depth[row],
          .start = columns.start[row],
          .dur = columns.dur[row]};
}

Selection OutOfCoreStore::selection_of(
    Scene const& scene, analyzer::CollectiveStats::Participant const& participant) const {
  auto const rank = static_cast<uint32_t>(participant.ref.rank_index);
  return {.rank = rank,
          .track = participant.track.value,
          .depth = Selection::kAnyDepth,
          .start = add(participant.when.begin, add(~scene.run.ranks[rank].offset_ns, 1)),
          .dur = participant.when.length()};
}

std::optional<Scene::EventAt> OutOfCoreStore::find(Scene const& /*scene*/,
                                                   Selection const& event) const {
  return run_->find(event);
}

std::optional<EventPlace> OutOfCoreStore::place_of(Scene const& /*scene*/,
                                                   Selection const& event) const {
  if (event.what != Selection::What::kEvent) return std::nullopt;
  return EventPlace{std::nullopt, event.track, event.depth, event.start, event.dur};
}

std::optional<Selection> OutOfCoreStore::selection_at(Scene const& /*scene*/, uint32_t rank,
                                                      EventPlace const& place) const {
  return Selection{.rank = rank,
                   .track = place.track,
                   .depth = place.depth,
                   .start = place.start,
                   .dur = place.dur};
}

GapNames OutOfCoreStore::gap_names(Scene const& scene, analyzer::IdleGap const& gap) const {
  // The process is not in memory, but its names are.
  model::Trace const& trace = scene.trace(static_cast<uint32_t>(gap.ref.rank_index));
  GapNames names;
  if (gap.host_name.valid() && gap.host_name.value < trace.strings().size())
    names.host_op = trace.text(gap.host_name);
  return names;
}

std::optional<SameNameFound> OutOfCoreStore::next_of_name_at_once(
    Scene const& /*scene*/, SameNameKey const& /*key*/) const {
  // Tiles around the selected event may leave out what lies between.
  return std::nullopt;
}

RowEvents OutOfCoreStore::row_events(Scene const& scene, uint32_t node, TimeWindow window) const {
  return events_of_row(scene, node, window);
}

std::vector<DensityColumn> OutOfCoreStore::density(Scene const& scene, uint32_t node,
                                                   TimeWindow window, float width) const {
  return density_of(scene, node, window, width);
}

std::vector<CounterPixel> OutOfCoreStore::curve(Scene const& scene, uint32_t node,
                                                TimeWindow window, float width) const {
  return curve_pixels(scene, node, window, width);
}

RankSteps OutOfCoreStore::steps(Scene const& scene, uint32_t rank, TimeWindow window) const {
  return scene.has_analysis() ? analyzed_steps(scene, rank, window)
                              : recorded_steps(scene, rank, window);
}

void OutOfCoreStore::begin_frame() const { run_->tiles().begin_frame(); }

void OutOfCoreStore::want(Scene const& scene, std::optional<Selection> const& selection,
                          TimeWindow window, ShownTracks const& shown) const {
  run_->tiles().want(requests_for(scene, selection, window, shown));
}

bool OutOfCoreStore::is_reading() const { return run_->tiles().is_busy(); }

void OutOfCoreStore::finish_reading() const { run_->tiles().finish(); }

std::shared_ptr<import::RunSources const> OutOfCoreStore::files() const {
  return run_->shared_sources();
}

SearchHits OutOfCoreStore::search(Scene const& scene, Query const& query,
                                  std::stop_token const& stop, SearchFeed* feed) const {
  return find_hits_in_files(scene, query, stop, feed);
}

RangeStatistics OutOfCoreStore::statistics(Scene const& scene, TimeWindow range,
                                           std::stop_token const& stop) const {
  return statistics_of_files(scene, range, stop);
}

std::vector<int64_t> OutOfCoreStore::durations(Scene const& scene, HistogramKey const& key,
                                               std::stop_token const& stop) const {
  return durations_in_files(scene, key, stop);
}

SameNameFound OutOfCoreStore::next_of_name(Scene const& scene, SameNameKey const& key,
                                           std::stop_token const& stop) const {
  return find_same_name_in_files(scene, key, stop);
}

void OutOfCoreStore::find_path(Scene const& scene, PathFeed& feed,
                               std::stop_token const& stop) const {
  find_path_in_files(scene, feed, stop);
}

base::Expected<std::shared_ptr<analyzer::ReplaySession const>> OutOfCoreStore::open_replay(
    Scene const& scene, std::stop_token const& stop) const {
  return open_replay_of_files(scene, stop);
}

TrackRows OutOfCoreStore::rows_in(Scene const& scene, uint32_t index, TimeWindow range,
                                  uint64_t most_events, std::stop_token const& stop) const {
  Node const& node = scene.nodes[index];
  auto const length = static_cast<double>(scene.length);
  int64_t const back = add(~scene.shift(node.rank), 1);

  // Names have the same numbers as in the trace without events.
  file::Selection selection;
  selection.window = {
      add(static_cast<int64_t>(std::clamp(std::floor(range.begin), 0.0, length)), back),
      add(static_cast<int64_t>(std::clamp(std::ceil(range.end), 0.0, length)), back)};
  selection.tracks = std::vector{model::TrackId{node.track}};
  selection.columns.tables = 0;

  TrackRows result;
  uint64_t const events =
      run_->starts(node.rank, node.track, selection.window.begin, selection.window.end);
  result.are_too_many = events > most_events;
  if (result.are_too_many || stop.stop_requested()) return result;

  auto read = run_->sources().ranks[node.rank].source.copy(selection);
  if (!read || stop.stop_requested()) return result;
  result.last = read->event_count();
  result.trace = std::make_shared<model::Trace const>(std::move(*read));
  return result;
}

std::shared_ptr<model::RankTrace const> OutOfCoreStore::process(Scene const& /*scene*/,
                                                                uint32_t rank) const {
  if (run_->rank(rank).events > kMostInMemoryEvents) return nullptr;

  import::RankSource const& source = run_->sources().ranks[rank];
  auto trace = source.source.copy();
  if (!trace) return nullptr;
  return std::make_shared<model::RankTrace const>(
      model::RankTrace{std::move(*trace), source.offset_ns, source.file, source.drift});
}

std::vector<CounterPixel> OutOfCoreStore::counter_pixels(Scene const& scene, uint32_t index,
                                                         TimeWindow window, size_t count) const {
  Node const& node = scene.nodes[index];
  auto const trace_time = [&](double view) {
    double const time = view - static_cast<double>(scene.shift(node.rank));
    return static_cast<int64_t>(std::clamp(time, -static_cast<double>(model::kMaxTime),
                                           static_cast<double>(model::kMaxTime)));
  };
  int64_t const begin = trace_time(window.begin);
  auto const bins = run_->track(node.rank, node.track)
                        .pyramid.view(begin, std::max(trace_time(window.end), begin + 1), count);

  std::vector<CounterPixel> pixels(count);
  CounterPixel last;
  for (size_t i = 0; i < count && i < bins.size(); ++i) {
    if (window.begin + window.span() * static_cast<double>(i) / static_cast<double>(count) >
        static_cast<double>(scene.length))
      break;
    // A pixel in which no sample was taken has the value of the one before.
    if (bins[i].starts > 0) last = {bins[i].low, bins[i].high, true};
    pixels[i] = last;
  }
  return pixels;
}

std::vector<StripPiece> OutOfCoreStore::device_strip(Scene const& scene, uint32_t node,
                                                     TimeWindow window, float width) const {
  return strip_pieces(scene, node, window, width);
}

}  // namespace stepscope::viewer
