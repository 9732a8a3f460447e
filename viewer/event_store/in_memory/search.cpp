#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "viewer/event_store/in_memory/in_memory_questions.h"

namespace stepscope::viewer {
namespace {

/// Adds the matching events of one trace. False: told to stop.
bool add_hits(Scene const& scene, uint32_t rank, Query const& query, std::stop_token const& stop,
              SearchHits& into) {
  constexpr uint32_t kRowsBetweenLooks = 1U << 20;  // about a millisecond
  model::Trace const& trace = scene.trace(rank);
  std::vector<char> matches(trace.strings().size());
  for (uint32_t id = 0; id < matches.size(); ++id)
    matches[id] = query.matches_name(trace.text(model::StringId{id})) ? 1 : 0;
  std::array<bool, model::kKindCount> kinds{};
  for (int kind = 0; kind < model::kKindCount; ++kind)
    kinds[static_cast<size_t>(kind)] = query.matches_kind(static_cast<model::EventKind>(kind));

  auto const& columns = trace.columns();
  for (uint32_t row = 0; row < columns.name.size(); ++row) {
    if (row % kRowsBetweenLooks == 0 && stop.stop_requested()) return false;
    if (matches[columns.name[row].value] == 0 || !kinds[static_cast<size_t>(columns.kind[row])])
      continue;
    if (!query.matches_duration(columns.dur[row])) continue;
    ++into.total;
    if (into.hits.size() < kMaxSearchHits)
      into.hits.push_back({Selection::What::kEvent, rank, row});
  }
  return true;
}

/// Sorts by run time; hits of one instant keep their order. Looks up each begin once.
void sort_by_begin(model::Run const& run, std::vector<Selection>& hits) {
  std::vector<std::pair<int64_t, uint32_t>> order;  // begin, place among the hits
  order.reserve(hits.size());
  for (Selection const& hit : hits) {
    model::RankTrace const& rank = run.ranks[hit.rank];
    order.emplace_back(rank.trace.start(hit.index) + rank.offset_ns,
                       static_cast<uint32_t>(order.size()));
  }
  if (std::is_sorted(order.begin(), order.end())) return;

  std::sort(order.begin(), order.end());
  std::vector<Selection> sorted;
  sorted.reserve(hits.size());
  for (auto const& [begin, place] : order) sorted.push_back(hits[place]);
  hits = std::move(sorted);
}

}  // namespace

SearchHits search_in_memory(Scene const& scene, Query const& query, std::stop_token const& stop) {
  SearchHits found;
  for (uint32_t rank = 0; rank < scene.run.ranks.size(); ++rank) {
    if (query.rank && scene.trace(rank).info().rank != *query.rank) continue;
    if (!add_hits(scene, rank, query, stop, found)) return {};
  }

  sort_by_begin(scene.run, found.hits);
  return found;
}

}  // namespace stepscope::viewer
