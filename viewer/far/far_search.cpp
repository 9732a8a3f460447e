#include "viewer/far/far_search.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include "viewer/far/block_scan.h"
#include "viewer/far/far_run.h"

namespace stepscope::viewer {
namespace {

/// Blocks that are looked at between two looks at what was found: some ms on every core.
constexpr size_t kBlocksAtOnce = 64;

struct SearchJob {
  uint32_t rank = 0;
  file::IndexEntry block;
};

/// The texts of a process that match; the last one stands for names that are not known.
std::vector<char> matching_texts(import::TraceSource const& source, Query const& query) {
  auto const texts = source.file()->texts();
  std::vector<char> matches(texts.size() + 1);
  for (size_t id = 0; id < texts.size(); ++id) matches[id] = query.matches_name(texts[id]) ? 1 : 0;
  matches.back() = query.matches_name("") ? 1 : 0;
  return matches;
}

uint64_t matching_kinds(Query const& query) {
  uint64_t kinds = 0;
  for (int kind = 0; kind < model::kKindCount; ++kind)
    if (query.matches_kind(static_cast<model::EventKind>(kind))) kinds |= uint64_t{1} << kind;
  return kinds;
}

void sort_by_time(Scene const& scene, std::vector<Selection>& hits) {
  std::stable_sort(hits.begin(), hits.end(),
                   [&](Selection const& a, Selection const& b) { return scene.when(a).begin < scene.when(b).begin; });
}

}  // namespace

SearchHits find_far_hits(Scene const& scene, Query const& query, std::stop_token const& stop, SearchFeed* feed) {
  FarRun const& far = *scene.far;
  size_t const ranks = far.sources().ranks.size();
  std::vector<std::vector<char>> matches(ranks);
  ScanWindow const window{.kinds = matching_kinds(query)};
  auto const is_wanted = [&](size_t rank) {
    return !query.rank || scene.trace(static_cast<uint32_t>(rank)).info().rank == *query.rank;
  };
  tbb::parallel_for(size_t{0}, ranks, [&](size_t rank) {
    if (is_wanted(rank) && !stop.stop_requested()) matches[rank] = matching_texts(far.sources().ranks[rank].source, query);
  });
  std::vector<SearchJob> jobs;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    if (std::find(matches[rank].begin(), matches[rank].end(), 1) == matches[rank].end()) continue;
    import::TraceSource const& source = far.sources().ranks[rank].source;
    for (uint32_t track = 0; track < source.tracks().size(); ++track)
      for (file::IndexEntry& block : blocks_of(source, track, window)) jobs.push_back({rank, block});
  }
  SearchHits found;
  std::atomic<uint64_t> total = 0;
  tbb::enumerable_thread_specific<ScanBuffers> buffers;
  for (size_t first = 0; first < jobs.size(); first += kBlocksAtOnce) {
    size_t const count = std::min(kBlocksAtOnce, jobs.size() - first);
    std::vector<std::vector<Selection>> of_job(count);
    size_t const room = kMaxSearchHits - found.hits.size();
    tbb::parallel_for(size_t{0}, count, [&](size_t i) {
      if (stop.stop_requested()) return;
      SearchJob const& job = jobs[first + i];
      auto const& wanted = matches[job.rank];
      uint64_t hits = 0;
      scan_block(far.sources().ranks[job.rank].source, job.block, window, buffers.local(), [&](ScannedEvent const& event) {
        if (wanted[std::min<size_t>(event.name, wanted.size() - 1)] == 0 || !query.matches_duration(event.dur)) return;
        ++hits;
        if (of_job[i].size() < room)
          of_job[i].push_back(
              {Selection::What::kEvent, job.rank, Selection::kAnyDepth, job.block.header.track, event.start, event.dur});
      });
      total += hits;
    });
    if (stop.stop_requested()) return {};
    for (auto const& hits : of_job)
      found.hits.insert(
          found.hits.end(), hits.begin(),
          hits.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(hits.size(), kMaxSearchHits - found.hits.size())));
    found.total = total;
    if (feed == nullptr || !feed->is_taken()) continue;
    SearchHits so_far = found;
    sort_by_time(scene, so_far.hits);
    feed->give(std::move(so_far));
  }
  found.total = total;
  sort_by_time(scene, found.hits);
  return found;
}

}  // namespace stepscope::viewer
