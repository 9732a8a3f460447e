#include "viewer/event_store/out_of_core/same_name.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include "viewer/event_store/out_of_core/block_scan.h"
#include "viewer/event_store/out_of_core/out_of_core_run.h"
#include "viewer/event_store/out_of_core/out_of_core_store.h"

namespace stepscope::viewer {
namespace {

/// The first look is at few blocks, because the next event is near, most of the time; each further
/// one at twice as many.
constexpr size_t kMostBlocksAtOnce = 64;

/// Where a row stands on its track.
struct RowPlace {
  int64_t start = 0, dur = 0;
  friend bool operator<(RowPlace const& a, RowPlace const& b) {
    return a.start != b.start ? a.start < b.start : a.dur > b.dur;
  }
  friend bool operator==(RowPlace const&, RowPlace const&) = default;
};

/// A block with the times between which its events start, by the corrected clock.
struct TimedBlock {
  file::IndexEntry entry;
  int64_t first = 0, last = 0;
};

std::vector<TimedBlock> blocks_of_track(import::TraceSource const& source, uint32_t track) {
  // A corrected time is rounded: no event may fall out of its block for it.
  constexpr int64_t kSlackNs = 8;
  std::vector<TimedBlock> blocks;
  for (file::IndexEntry const& entry : blocks_of(source, track, {})) {
    int64_t const first = std::clamp(entry.header.min_start, -model::kMaxTime, model::kMaxTime);
    int64_t const last = std::clamp(entry.header.max_end, -model::kMaxTime, model::kMaxTime);
    blocks.push_back({entry, source.drift().corrected(first) - kSlackNs,
                      source.drift().corrected(last) + kSlackNs});
  }
  return blocks;
}

/// Looks for one key.
class SameNameSearch {
 public:
  SameNameSearch(Scene const& scene, SameNameKey const& key, std::stop_token const& stop)
      : source_(out_of_core_run(scene).sources().ranks[key.from.rank].source),
        key_(key),
        here_{key.from.start, key.from.dur},
        stop_(stop),
        blocks_(blocks_of_track(source_, key.from.track)) {}

  SameNameFound find() {
    if (!find_name()) return {};

    bool const forward = key_.direction > 0;
    std::erase_if(blocks_, [&](TimedBlock const& b) {
      return forward ? b.last < here_.start : b.first > here_.start;
    });
    std::sort(blocks_.begin(), blocks_.end(), [&](TimedBlock const& a, TimedBlock const& b) {
      return forward ? a.first < b.first : a.last > b.last;
    });

    size_t count = 1;
    for (size_t first = 0; first < blocks_.size() && !stop_.stop_requested();) {
      // The blocks that follow begin behind what was found.
      if (best_ &&
          (forward ? blocks_[first].first > best_->start : blocks_[first].last < best_->start))
        break;
      look_at(first, std::min(count, blocks_.size() - first));
      first += count;
      count = std::min(2 * count, kMostBlocksAtOnce);
    }

    if (stop_.stop_requested() || !best_) return {};
    return {Selection{.rank = key_.from.rank,
                      .track = key_.from.track,
                      .depth = Selection::kAnyDepth,
                      .start = best_->start,
                      .dur = best_->dur}};
  }

 private:
  /// The ids of the selected event's name. False: it is not there.
  bool find_name() {
    if (key_.name) return want(*key_.name);

    std::optional<uint32_t> name;
    ScanBuffers buffers;
    for (TimedBlock const& block : blocks_) {
      if (name || stop_.stop_requested()) break;
      if (block.first > here_.start || block.last < here_.start) continue;
      scan_block(source_, block.entry, {}, buffers, [&](ScannedEvent const& event) {
        if (RowPlace{event.start, event.dur} == here_) name = event.name;
      });
    }

    if (!name) return false;
    auto const texts = source_.file()->texts();
    return want(*name < texts.size() ? texts[*name] : std::string_view());
  }

  bool want(std::string_view name) {
    auto const texts = source_.file()->texts();
    wanted_.assign(texts.size() + 1, 0);
    for (size_t id = 0; id < texts.size(); ++id) wanted_[id] = texts[id] == name ? 1 : 0;
    // The last one stands for names that are not known.
    wanted_.back() = name.empty() ? 1 : 0;
    return true;
  }

  void look_at(size_t first, size_t count) {
    std::vector<std::optional<RowPlace>> of_block(count);

    tbb::parallel_for(size_t{0}, count, [&](size_t i) {
      if (stop_.stop_requested()) return;
      scan_named(
          source_, blocks_[first + i].entry, {}, {.by_id = wanted_}, buffers_.local(),
          [&](ScannedEvent const& event) {
            keep({event.start, event.dur}, of_block[i]);
          },
          [](size_t) {});
    });

    for (auto const& found : of_block)
      if (found) keep(*found, best_);
  }

  /// The one that is nearer to the selected one, on the right side of it.
  void keep(RowPlace place, std::optional<RowPlace>& best) const {
    if (key_.direction > 0) {
      if (here_ < place && (!best || place < *best)) best = place;
    } else if (place < here_ && (!best || *best < place)) {
      best = place;
    }
  }

  import::TraceSource const& source_;
  SameNameKey key_;
  RowPlace here_;
  std::stop_token const& stop_;
  std::vector<TimedBlock> blocks_;
  std::vector<char> wanted_;  ///< by id of a text
  std::optional<RowPlace> best_;
  tbb::enumerable_thread_specific<ScanBuffers> buffers_;
};

}  // namespace

SameNameFound find_same_name_in_files(Scene const& scene, SameNameKey const& key,
                                      std::stop_token const& stop) {
  auto const& ranks = out_of_core_run(scene).sources().ranks;
  if (key.from.what != Selection::What::kEvent || key.from.rank >= ranks.size()) return {};
  if (key.from.track >= ranks[key.from.rank].source.tracks().size()) return {};
  return SameNameSearch(scene, key, stop).find();
}

}  // namespace stepscope::viewer
