#include "viewer/event_store/out_of_core/search.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include "viewer/event_store/out_of_core/block_scan.h"
#include "viewer/event_store/out_of_core/out_of_core_run.h"
#include "viewer/event_store/out_of_core/out_of_core_store.h"

namespace stepscope::viewer {
namespace {

/// Blocks that are looked at between two looks at what was found: some ms on every core. The first
/// ones are few.
constexpr size_t kFirstBlocks = 64, kMostBlocks = 1024;

struct SearchJob {
  uint32_t rank = 0;
  file::IndexEntry block;
};
struct JobHits {
  std::vector<Selection> hits;
  uint64_t total = 0;
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
  std::stable_sort(hits.begin(), hits.end(), [&](Selection const& a, Selection const& b) {
    return scene.when(a).begin < scene.when(b).begin;
  });
}

/// Whether any event of the block may be as long as the query wants, by the track's summary.
bool may_be_long_enough(OutOfCoreRun const& run, SearchJob const& job, Query const& query) {
  if (query.least_ns <= 0) return true;

  model::ClockDrift const& drift = run.sources().ranks[job.rank].source.drift();
  // A corrected clock makes what is long a little longer, and rounds.
  constexpr int64_t kRoundingNs = 16;
  int64_t const begin = drift.corrected(job.block.header.min_start) - kRoundingNs;
  int64_t const end = drift.corrected(job.block.header.max_end) + kRoundingNs;
  if (begin > end) return true;

  int64_t const longest =
      run.track(job.rank, job.block.header.track).pyramid.view(begin, end, 1).front().longest_ns;
  return static_cast<double>(longest) * (1 + 2 * model::ClockDrift::kMostRate) + kRoundingNs >=
         static_cast<double>(query.least_ns);
}

class OutOfCoreSearch {
 public:
  OutOfCoreSearch(Scene const& scene, Query const& query, std::stop_token const& stop)
      : scene_(scene),
        run_(out_of_core_run(scene)),
        query_(query),
        stop_(stop),
        window_{.kinds = matching_kinds(query)} {
    is_any_duration_ = query.least_ns <= 0 && query.most_ns == std::numeric_limits<int64_t>::max();
  }

  SearchHits find(SearchFeed* feed) {
    find_jobs();

    size_t count = kFirstBlocks;
    for (size_t first = 0; first < jobs_.size();
         first += count, count = std::min(2 * count, kMostBlocks)) {
      count = std::min(count, jobs_.size() - first);
      look_at(std::span(jobs_).subspan(first, count));
      if (stop_.stop_requested()) return {};

      if (feed == nullptr || !feed->is_taken()) continue;
      SearchHits so_far = found_;
      sort_by_time(scene_, so_far.hits);
      feed->give(std::move(so_far));
    }

    if (stop_.stop_requested()) return {};
    sort_by_time(scene_, found_.hits);
    return std::move(found_);
  }

 private:
  void find_jobs() {
    size_t const ranks = run_.sources().ranks.size();
    matches_.resize(ranks);

    tbb::parallel_for(size_t{0}, ranks, [&](size_t rank) {
      bool const is_wanted =
          !query_.rank || scene_.trace(static_cast<uint32_t>(rank)).info().rank == *query_.rank;
      if (is_wanted && !stop_.stop_requested())
        matches_[rank] = matching_texts(run_.sources().ranks[rank].source, query_);
    });

    for (uint32_t rank = 0; rank < ranks; ++rank) {
      if (std::find(matches_[rank].begin(), matches_[rank].end(), 1) == matches_[rank].end())
        continue;

      import::TraceSource const& source = run_.sources().ranks[rank].source;
      for (uint32_t track = 0; track < source.tracks().size(); ++track)
        for (file::IndexEntry& block : blocks_of(source, track, window_))
          if (SearchJob job{rank, block}; may_be_long_enough(run_, job, query_))
            jobs_.push_back(job);
    }
  }

  void look_at(std::span<SearchJob const> jobs) {
    std::vector<JobHits> of_job(jobs.size());
    size_t const room = kMaxSearchHits - found_.hits.size();

    tbb::parallel_for(size_t{0}, jobs.size(), [&](size_t i) {
      if (!stop_.stop_requested()) look_into(jobs[i], room, of_job[i]);
    });

    for (JobHits const& of : of_job) {
      auto const kept = static_cast<std::ptrdiff_t>(
          std::min<size_t>(of.hits.size(), kMaxSearchHits - found_.hits.size()));
      found_.hits.insert(found_.hits.end(), of.hits.begin(), of.hits.begin() + kept);
      found_.total += of.total;
    }
  }

  /// Keeps no more than there is room for.
  void look_into(SearchJob const& job, size_t room, JobHits& found) {
    auto const visit = [&](ScannedEvent const& event) {
      if (!query_.matches_duration(event.dur)) return;
      ++found.total;
      if (found.hits.size() < room)
        found.hits.push_back({.rank = job.rank,
                              .track = job.block.header.track,
                              .depth = Selection::kAnyDepth,
                              .start = event.start,
                              .dur = event.dur});
    };

    WantedNames const wanted{matches_[job.rank], room == 0 && is_any_duration_};
    scan_named(run_.sources().ranks[job.rank].source, job.block, window_, wanted, buffers_.local(),
               visit, [&](size_t count) { found.total += count; });
  }

  Scene const& scene_;
  OutOfCoreRun const& run_;
  Query const& query_;
  std::stop_token const& stop_;
  ScanWindow window_;
  bool is_any_duration_ = true;
  std::vector<std::vector<char>> matches_;  ///< by rank: matching_texts()
  std::vector<SearchJob> jobs_;
  tbb::enumerable_thread_specific<ScanBuffers> buffers_;
  SearchHits found_;
};

}  // namespace

SearchHits find_hits_in_files(Scene const& scene, Query const& query, std::stop_token const& stop,
                              SearchFeed* feed) {
  return OutOfCoreSearch(scene, query, stop).find(feed);
}

}  // namespace stepscope::viewer
