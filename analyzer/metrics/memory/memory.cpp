#include "analyzer/metrics/memory/memory.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "analyzer/metrics/memory/memory_calls.h"
#include "analyzer/metrics/memory/memory_gaps.h"
#include "analyzer/metrics/memory/memory_growth.h"
#include "analyzer/metrics/memory/memory_owners.h"
#include "trace/base/hash_number.h"

namespace stepscope::analyzer {
namespace {

using model::MemoryDetail;
using model::MemoryOp;
using Point = MemoryStats::Point;

/// Follows the calls of one device in order of time.
class MemoryAccount {
 public:
  void apply(uint32_t row, int64_t time_ns, MemoryDetail const& detail, bool is_retry) {
    call_ = static_cast<uint32_t>(history_.rows.size());
    history_.rows.push_back(row);
    history_.freed_by.push_back(MemoryHistory::kNoBlock);
    if (detail.pool != 0) gaps_.lose();

    MemoryGaps::Totals const totals{detail.allocated_bytes, detail.reserved_bytes};
    if (detail.op == MemoryOp::kAllocate) {
      add_block(detail, totals);
    } else if (auto const freed = remove_block(detail.address)) {
      gaps_.free({detail.address, *freed}, totals);
    } else {
      gaps_.lose();
    }

    add_point(time_ns, detail);
    if (auto const largest = gaps_.largest()) history_.largest_gaps.push_back(*largest);
    if (gave_back_first(totals, detail.op) || is_retry) history_.retries.push_back(time_ns);
    totals_ = totals;
  }
  MemoryHistory finish(int32_t device) && {
    history_.device = device;
    if (gaps_.is_refuted()) history_.largest_gaps.clear();
    return std::move(history_);
  }

 private:
  struct Block {
    uint64_t bytes;
    size_t purpose;
    uint32_t call;
  };

  void add_block(MemoryDetail const& detail, MemoryGaps::Totals totals) {
    if (remove_block(detail.address)) gaps_.lose();  // its free was lost
    size_t const purpose = std::min(static_cast<size_t>(detail.purpose), known_.size() - 1);
    live_[detail.address] = {detail.bytes, purpose, call_};
    history_.freed_by.back() = MemoryHistory::kNever;
    known_[purpose] += detail.bytes;
    gaps_.allocate({detail.address, detail.bytes}, totals);
  }
  /// Its size.
  std::optional<uint64_t> remove_block(uint64_t address) {
    auto const found = live_.find(address);
    if (found == live_.end()) return std::nullopt;
    Block const block = found->second;
    known_[block.purpose] -= block.bytes;
    history_.freed_by[block.call] = call_;
    live_.erase(found);
    return block.bytes;
  }

  void add_point(int64_t time_ns, MemoryDetail const& detail) {
    // Sources that do not report totals: the sum of what was seen.
    reports_totals_ = reports_totals_ || detail.allocated_bytes > 0;
    uint64_t const seen = std::accumulate(known_.begin(), known_.end(), uint64_t{0});
    Point point{time_ns, reports_totals_ ? detail.allocated_bytes : seen, detail.reserved_bytes,
                known_};
    if (point.allocated_bytes > seen) point.by_purpose[0] += point.allocated_bytes - seen;
    history_.timeline.push_back(point);
  }

  /// An allocation for which cached memory went back to the system: the reserve fell at it, or fell
  /// before by other than what was freed, and grows again.
  bool gave_back_first(MemoryGaps::Totals now, MemoryOp op) {
    if (now.reserved == 0 || totals_.reserved == 0) return false;
    if (now.reserved > totals_.reserved) return std::exchange(gave_back_, false);
    if (now.reserved == totals_.reserved) return false;
    if (op == MemoryOp::kAllocate) return true;
    bool const is_own = totals_.allocated >= now.allocated &&
                        totals_.reserved - now.reserved == totals_.allocated - now.allocated;
    gave_back_ = gave_back_ || !is_own;
    return false;
  }

  MemoryHistory history_;
  uint32_t call_ = 0;
  std::unordered_map<uint64_t, Block, base::HashNumber> live_;
  std::array<uint64_t, 7> known_{};
  bool reports_totals_ = false;
  MemoryGaps gaps_;
  MemoryGaps::Totals totals_{0, 0};
  bool gave_back_ = false;
};

/// Fills the state at the window's begin and the calls that took effect in it. Returns the index of
/// the first point's call.
size_t take_timeline(MemoryHistory& history, std::optional<Interval> window,
                     std::vector<Point>& timeline) {
  if (!window) {
    timeline = std::move(history.timeline);
    return 0;
  }
  auto const& all = history.timeline;
  auto const after_begin = std::partition_point(
      all.begin(), all.end(), [&](Point const& point) { return point.time_ns <= window->begin; });
  auto const after_end = std::partition_point(
      after_begin, all.end(), [&](Point const& point) { return point.time_ns < window->end; });

  auto const first = after_begin == all.begin() ? after_begin : std::prev(after_begin);
  timeline.assign(first, after_end);
  if (first != after_begin) timeline.front().time_ns = window->begin;
  return static_cast<size_t>(first - all.begin());
}

/// Reserved bytes that are not allocated, and the stranded ones among them: all outside the largest
/// gap.
struct Free {
  uint64_t bytes = 0, stranded_bytes = 0;
  [[nodiscard]] double fragmentation() const {
    return static_cast<double>(stranded_bytes) / static_cast<double>(bytes);
  }
};

/// The free bytes after the call; none where gaps are unknown or nothing is free.
std::optional<Free> free_after(MemoryHistory const& history, size_t call, Point const& point) {
  if (call >= history.largest_gaps.size() || point.reserved_bytes <= point.allocated_bytes)
    return std::nullopt;
  uint64_t const bytes = point.reserved_bytes - point.allocated_bytes;
  return Free{bytes, bytes - std::min(bytes, history.largest_gaps[call])};
}

void add_fragmentation(MemoryStats& facts, std::vector<Point> const& timeline,
                       MemoryHistory const& history, size_t first_call,
                       std::vector<Interval> const& steps) {
  auto const highest = std::max_element(
      timeline.begin(), timeline.end(),
      [](auto const& a, auto const& b) { return a.reserved_bytes < b.reserved_bytes; });
  if (highest == timeline.end()) return;
  auto const call = [&](size_t i) { return first_call + i; };
  auto const place = static_cast<size_t>(highest - timeline.begin());
  if (auto const free = free_after(history, call(place), *highest))
    facts.fragmentation = free->fragmentation();

  for (size_t i = 0; i < timeline.size() && call(i) < history.largest_gaps.size(); ++i) {
    bool const is_measured = steps.empty() || (steps.front().begin <= timeline[i].time_ns &&
                                               timeline[i].time_ns < steps.back().end);
    auto const free = is_measured ? free_after(history, call(i), timeline[i]) : std::nullopt;
    if (!free || (facts.stranded_bytes && free->stranded_bytes <= *facts.stranded_bytes)) continue;
    facts.stranded_bytes = free->stranded_bytes;
    facts.worst_fragmentation = free->fragmentation();
  }
}

void add_peaks(MemoryStats& facts, std::vector<Point> const& timeline, MemoryHistory const& history,
               size_t first_call, model::Trace const& trace) {
  std::optional<size_t> peak;
  for (size_t i = 0; i < timeline.size(); ++i) {
    Point const& point = timeline[i];
    if (!peak || point.allocated_bytes > timeline[*peak].allocated_bytes) peak = i;
    // Sources that do not report what is reserved report 0.
    if (point.reserved_bytes > facts.peak_reserved_bytes.value_or(0))
      facts.peak_reserved_bytes = point.reserved_bytes;
  }

  if (!peak) return;
  facts.peak_allocated_bytes = timeline[*peak].allocated_bytes;
  facts.by_purpose_at_peak = timeline[*peak].by_purpose;

  std::vector<LiveBlock> live;
  size_t const last = first_call + *peak;
  for (size_t call = 0; call <= last; ++call) {
    uint32_t const freed_by = history.freed_by[call];
    if (freed_by == MemoryHistory::kNoBlock || freed_by <= last) continue;
    uint32_t const row = history.rows[call];
    live.push_back({row, trace.detail<MemoryDetail>(row).bytes});
  }
  facts.peak_owners = owners_of(trace, std::move(live), *facts.peak_allocated_bytes);
}

/// The instants (by time) that lie in the windows (disjoint, by time); without windows all of them.
std::vector<int64_t> within_steps(std::vector<int64_t> const& instants,
                                  std::vector<Interval> const& steps) {
  if (steps.empty()) return instants;
  std::vector<int64_t> within;
  size_t step = 0;
  for (int64_t const instant : instants) {
    while (step < steps.size() && steps[step].end <= instant) ++step;
    if (step < steps.size() && steps[step].begin <= instant) within.push_back(instant);
  }
  return within;
}

void add_retries(MemoryStats& facts, MemoryHistory const& history, std::optional<Interval> window,
                 std::vector<Interval> const& steps) {
  if (!facts.peak_reserved_bytes) return;
  std::vector<int64_t> retries = within_steps(history.retries, steps);
  if (window)
    std::erase_if(retries, [&](int64_t at) { return at < window->begin || at >= window->end; });
  facts.retries = retries.size();
  if (retries.size() > kMaxEvidence) retries.resize(kMaxEvidence);
  facts.retries_at = std::move(retries);
}

void add_growth(MemoryStats& facts, std::vector<Point> const& timeline,
                std::vector<Interval> const& steps) {
  StepBytes const floors = memory_floors(timeline, steps),
                  reserved = reserved_at_ends(timeline, steps);
  facts.floor_growth_bytes_per_step = floor_growth(floors);
  facts.reserved_growth_bytes_per_step = floor_growth(reserved);

  if (facts.peak_reserved_bytes) {
    std::vector<MemoryStats::Growth> growth = growth_despite_room(timeline, steps);
    uint64_t bytes = 0;
    for (auto const& grown : growth) bytes += grown.bytes;
    facts.fragmented_growth_bytes = bytes;
    std::stable_sort(growth.begin(), growth.end(),
                     [](auto const& a, auto const& b) { return a.bytes > b.bytes; });
    if (growth.size() > kMaxEvidence) growth.resize(kMaxEvidence);
    facts.fragmented_growth = std::move(growth);
  }

  if (!facts.capacity_bytes || steps.empty()) return;
  std::optional<uint64_t> const footprint = highest_footprint(timeline, steps).back();
  if (!footprint || *footprint > *facts.capacity_bytes) return;
  auto const room = static_cast<double>(*facts.capacity_bytes - *footprint);
  std::optional<int64_t> step_ns;
  if (steps.size() > 1)
    step_ns = (steps.back().begin - steps.front().begin) / static_cast<int64_t>(steps.size() - 1);
  facts.floor_forecast = forecast_of(floors, room, step_ns);
  facts.reserved_forecast = forecast_of(reserved, room, step_ns);
}

}  // namespace

ProcessMemory memory_of_process(model::RankTrace const& rank) {
  model::Trace const& trace = rank.trace;
  MemoryCalls calls = find_memory_calls(rank);
  std::map<int32_t, MemoryAccount> accounts;
  for (uint32_t const row : calls.rows) {
    auto const& detail = trace.detail<MemoryDetail>(row);
    bool const is_retry = std::binary_search(calls.retries.begin(), calls.retries.end(), row);
    accounts[detail.device].apply(row, trace.end(row) + rank.offset_ns, detail, is_retry);
  }

  ProcessMemory result;
  for (auto& [device, account] : accounts)
    result.devices.push_back(std::move(account).finish(device));
  result.pinning = std::move(calls.pinning);
  return result;
}

MemoryStats memory_facts(DeviceOps const& device, ProcessMemory& memory,
                         std::optional<Interval> window, std::vector<Interval> const& steps) {
  MemoryStats facts;
  if (device.capacity_bytes > 0) facts.capacity_bytes = device.capacity_bytes;
  if (!memory.pinning.empty() && !steps.empty())
    facts.pinning_calls_per_step = static_cast<double>(within_steps(memory.pinning, steps).size()) /
                                   static_cast<double>(steps.size());

  auto const history =
      std::find_if(memory.devices.begin(), memory.devices.end(),
                   [&](MemoryHistory const& of) { return of.device == device.ref.device; });
  if (history == memory.devices.end()) return facts;

  std::vector<Point> timeline;
  size_t const first_call = take_timeline(*history, window, timeline);
  add_peaks(facts, timeline, *history, first_call, device.trace());
  add_fragmentation(facts, timeline, *history, first_call, steps);
  add_retries(facts, *history, window, steps);
  add_growth(facts, timeline, steps);

  facts.timeline = MemoryTimeline(timeline);
  if (facts.capacity_bytes && facts.peak_allocated_bytes)
    facts.batch_factor = batch_factor(facts.by_purpose_at_peak, *facts.capacity_bytes);
  return facts;
}

}  // namespace stepscope::analyzer
