#include "viewer/event_store/in_memory/in_memory_store.h"

#include <algorithm>
#include <utility>

#include "analyzer/whatif/replay_session.h"
#include "viewer/event_store/in_memory/in_memory_questions.h"

namespace stepscope::viewer {
namespace {

/// What the scene has for as long as it lives: the pointer owns nothing.
template <class T>
std::shared_ptr<T const> borrowed(T const& of) {
  return std::shared_ptr<T const>(std::shared_ptr<void>(), &of);
}

}  // namespace

uint64_t InMemoryStore::event_count(Scene const& scene, uint32_t rank, uint32_t track) const {
  return scene.trace(rank).rows_of(model::TrackId{track}).size();
}

Selection InMemoryStore::selection_of(Scene const& /*scene*/, uint32_t rank,
                                      model::Trace const& /*trace*/, uint32_t row) const {
  return {Selection::What::kEvent, rank, row};
}

Selection InMemoryStore::selection_of(
    Scene const& /*scene*/, analyzer::CollectiveStats::Participant const& participant) const {
  return {Selection::What::kEvent, static_cast<uint32_t>(participant.ref.rank_index),
          participant.row};
}

std::optional<Scene::EventAt> InMemoryStore::find(Scene const& scene,
                                                  Selection const& event) const {
  return Scene::EventAt{&scene.trace(event.rank), event.index};
}

std::optional<EventPlace> InMemoryStore::place_of(Scene const& scene,
                                                  Selection const& event) const {
  auto const& columns = scene.trace(event.rank).columns();
  uint32_t const row = event.index;
  if (event.what != Selection::What::kEvent || row >= columns.start.size()) return std::nullopt;
  return EventPlace{row, columns.track[row].value, columns.depth[row], columns.start[row],
                    columns.dur[row]};
}

std::optional<Selection> InMemoryStore::selection_at(Scene const& scene, uint32_t rank,
                                                     EventPlace const& place) const {
  model::Trace const& trace = scene.trace(rank);
  auto const& columns = trace.columns();
  auto const rows = trace.rows_of(model::TrackId{place.track});
  auto const first = std::lower_bound(columns.start.begin() + rows.first,
                                      columns.start.begin() + rows.last, place.start);

  std::optional<Selection> found;
  for (auto row = static_cast<uint32_t>(first - columns.start.begin());
       row < rows.last && columns.start[row] == place.start; ++row) {
    if (columns.dur[row] != place.dur) continue;

    // An event around it may have come since: then the first of them is it.
    bool const is_as_deep =
        place.depth == Selection::kAnyDepth || columns.depth[row] == place.depth;
    if (!found || is_as_deep) found = selection_of(scene, rank, trace, row);
    if (is_as_deep) break;
  }
  return found;
}

GapNames InMemoryStore::gap_names(Scene const& scene, analyzer::IdleGap const& gap) const {
  model::Trace const& trace = scene.trace(static_cast<uint32_t>(gap.ref.rank_index));
  GapNames names;
  if (gap.host_row.valid()) names.host_op = trace.name(gap.host_row.value);
  if (gap.next_op_row.valid()) names.ended_by = trace.name(gap.next_op_row.value);
  return names;
}

std::optional<SameNameFound> InMemoryStore::next_of_name_at_once(Scene const& scene,
                                                                 SameNameKey const& key) const {
  return next_of_name(scene, key, {});
}

RowEvents InMemoryStore::row_events(Scene const& scene, uint32_t index,
                                    TimeWindow /*window*/) const {
  Node const& node = scene.nodes[index];
  return {&scene.trace(node.rank), node.lanes, &node.segments, &node.curve, nullptr};
}

std::vector<DensityColumn> InMemoryStore::density(Scene const& /*scene*/, uint32_t /*node*/,
                                                  TimeWindow /*window*/, float /*width*/) const {
  return {};
}

std::vector<CounterPixel> InMemoryStore::curve(Scene const& /*scene*/, uint32_t /*node*/,
                                               TimeWindow /*window*/, float /*width*/) const {
  return {};
}

RankSteps InMemoryStore::steps(Scene const& scene, uint32_t rank, TimeWindow window) const {
  return analyzed_steps(scene, rank, window);
}

SearchHits InMemoryStore::search(Scene const& scene, Query const& query,
                                 std::stop_token const& stop, SearchFeed* /*feed*/) const {
  return search_in_memory(scene, query, stop);
}

RangeStatistics InMemoryStore::statistics(Scene const& scene, TimeWindow range,
                                          std::stop_token const& stop) const {
  return statistics_in_memory(scene, range, stop);
}

std::vector<int64_t> InMemoryStore::durations(Scene const& scene, HistogramKey const& key,
                                              std::stop_token const& stop) const {
  return durations_in_memory(scene, key, stop);
}

SameNameFound InMemoryStore::next_of_name(Scene const& scene, SameNameKey const& key,
                                          std::stop_token const& stop) const {
  model::Trace const& trace = scene.trace(key.from.rank);
  auto const& columns = trace.columns();
  uint32_t const here = key.from.index;
  if (here >= columns.name.size()) return {};

  auto const rows = trace.rows_of(columns.track[here]);
  for (int64_t row = int64_t{here} + key.direction; row >= rows.first && row < rows.last;
       row += key.direction) {
    auto const index = static_cast<uint32_t>(row);
    if (columns.name[index] == columns.name[here])
      return {selection_of(scene, key.from.rank, trace, index)};

    constexpr uint32_t kRowsBetweenLooks = 1U << 20;  // about a millisecond
    if (index % kRowsBetweenLooks == 0 && stop.stop_requested()) return {};
  }
  return {};
}

void InMemoryStore::find_path(Scene const& scene, PathFeed& feed,
                              std::stop_token const& stop) const {
  PathLine const line = path_in_memory(scene, stop);
  if (!stop.stop_requested()) feed.give(line.pieces, 1);
}

base::Expected<std::shared_ptr<analyzer::ReplaySession const>> InMemoryStore::open_replay(
    Scene const& scene, std::stop_token const& /*stop*/) const {
  return std::shared_ptr<analyzer::ReplaySession const>(
      analyzer::open_replay(scene.run, scene.analysis));
}

TrackRows InMemoryStore::rows_in(Scene const& scene, uint32_t index, TimeWindow range,
                                 uint64_t /*most_events*/, std::stop_token const& /*stop*/) const {
  Node const& node = scene.nodes[index];
  model::Trace const& trace = scene.trace(node.rank);
  int64_t const shift = scene.shift(node.rank);
  auto const rows = trace.rows_of(model::TrackId{node.track});
  TrackRows result{borrowed(trace), rows.first, rows.last, false};

  // What is open when the range begins may have begun long before: the outermost that reaches into
  // it is found by its end.
  if (!node.lanes.empty()) {
    auto const& outermost = node.lanes.front().rows;
    auto const reaches =
        std::partition_point(outermost.begin(), outermost.end(), [&](uint32_t row) {
          return static_cast<double>(add(trace.end(row), shift)) <= range.begin;
        });
    result.first = reaches == outermost.end() ? rows.last : *reaches;
  }

  auto const& starts = trace.columns().start;
  auto const end = std::partition_point(
      starts.begin() + result.first, starts.begin() + rows.last,
      [&](int64_t start) { return static_cast<double>(add(start, shift)) < range.end; });
  result.last = static_cast<uint32_t>(end - starts.begin());
  return result;
}

std::shared_ptr<model::RankTrace const> InMemoryStore::process(Scene const& scene,
                                                               uint32_t rank) const {
  return borrowed(scene.run.ranks[rank]);
}

std::vector<CounterPixel> InMemoryStore::counter_pixels(Scene const& scene, uint32_t node,
                                                        TimeWindow window, size_t count) const {
  return counter_pixels_in_memory(scene.nodes[node].curve, window, count, scene.length);
}

std::vector<StripPiece> InMemoryStore::device_strip(Scene const& scene, uint32_t node,
                                                    TimeWindow window, float width) const {
  return device_strip_in_memory(scene.nodes[node].segments, window, width);
}

}  // namespace stepscope::viewer
