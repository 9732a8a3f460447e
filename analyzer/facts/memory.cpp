#include "analyzer/facts/memory.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

namespace stepscope::analyzer {
namespace {

using model::EventKind;
using model::MemoryDetail;
using model::MemoryOp;

/// Sources that do not report what is reserved report 0.
MemoryFacts facts_of(std::vector<MemoryFacts::Point> timeline) {
  MemoryFacts facts;
  for (MemoryFacts::Point const& point : timeline) {
    if (!facts.peak_allocated_bytes || point.allocated_bytes > *facts.peak_allocated_bytes) {
      facts.peak_allocated_bytes = point.allocated_bytes;
      facts.by_purpose_at_peak = point.by_purpose;
    }
    if (point.reserved_bytes > facts.peak_reserved_bytes.value_or(0)) facts.peak_reserved_bytes = point.reserved_bytes;
  }
  facts.timeline = std::move(timeline);
  return facts;
}

/// Follows the calls of one device in order of time.
class MemoryAccount {
 public:
  void apply(int64_t time_ns, MemoryDetail const& detail) {
    auto const purpose = static_cast<size_t>(detail.purpose);
    if (detail.op == MemoryOp::kAllocate) {
      add_block(detail, std::min(purpose, known_.size() - 1));
    } else if (detail.op == MemoryOp::kFree) {
      remove_block(detail.address);
    }
    // Sources that do not report totals: the sum of what was seen.
    reports_totals_ = reports_totals_ || detail.allocated_bytes > 0;
    uint64_t const seen = std::accumulate(known_.begin(), known_.end(), uint64_t{0});
    MemoryFacts::Point point{time_ns, reports_totals_ ? detail.allocated_bytes : seen, detail.reserved_bytes, known_};
    if (point.allocated_bytes > seen) point.by_purpose[0] += point.allocated_bytes - seen;
    timeline_.push_back(point);
  }
  MemoryFacts finish() && { return facts_of(std::move(timeline_)); }

 private:
  struct Block {
    uint64_t bytes;
    size_t purpose;
  };
  void add_block(MemoryDetail const& detail, size_t purpose) {
    remove_block(detail.address);  // its free was lost
    live_[detail.address] = {detail.bytes, purpose};
    known_[purpose] += detail.bytes;
  }
  void remove_block(uint64_t address) {
    auto const found = live_.find(address);
    if (found == live_.end()) return;
    known_[found->second.purpose] -= found->second.bytes;
    live_.erase(found);
  }

  std::unordered_map<uint64_t, Block> live_;
  std::array<uint64_t, 7> known_{};
  bool reports_totals_ = false;
  std::vector<MemoryFacts::Point> timeline_;
};

}  // namespace

std::vector<std::pair<int32_t, MemoryFacts>> memory_of_process(model::RankTrace const& rank) {
  model::Trace const& trace = rank.trace;
  std::vector<uint32_t> rows;
  for (uint32_t row = 0; row < trace.event_count(); ++row)
    if (trace.kind(row) == EventKind::kMemory) rows.push_back(row);
  std::stable_sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) { return trace.end(a) < trace.end(b); });
  std::map<int32_t, MemoryAccount> accounts;
  for (uint32_t const row : rows) {
    auto const& detail = trace.detail<MemoryDetail>(row);
    if (detail.op != MemoryOp::kUnknown) accounts[detail.device].apply(trace.end(row) + rank.offset_ns, detail);
  }
  std::vector<std::pair<int32_t, MemoryFacts>> result;
  for (auto& [device, account] : accounts) result.emplace_back(device, std::move(account).finish());
  return result;
}

MemoryFacts memory_within(MemoryFacts const& memory, Interval window) {
  auto const& timeline = memory.timeline;
  auto const after_begin = std::partition_point(timeline.begin(), timeline.end(),
                                                [&](MemoryFacts::Point const& point) { return point.time_ns <= window.begin; });
  auto const after_end = std::partition_point(after_begin, timeline.end(),
                                              [&](MemoryFacts::Point const& point) { return point.time_ns < window.end; });
  std::vector<MemoryFacts::Point> within;
  if (after_begin != timeline.begin()) {
    within.push_back(*std::prev(after_begin));
    within.back().time_ns = window.begin;
  }
  within.insert(within.end(), after_begin, after_end);
  return facts_of(std::move(within));
}

std::vector<std::optional<uint64_t>> memory_floors(std::vector<MemoryFacts::Point> const& timeline,
                                                   std::vector<Interval> const& windows) {
  std::vector<std::optional<uint64_t>> floors;
  size_t point = 0;  // first point that takes effect after the begin of the window
  for (Interval const& window : windows) {
    while (point < timeline.size() && timeline[point].time_ns <= window.begin) ++point;
    std::optional<uint64_t> floor;
    if (point > 0) floor = timeline[point - 1].allocated_bytes;
    for (; point < timeline.size() && timeline[point].time_ns < window.end; ++point)
      floor = std::min(floor.value_or(timeline[point].allocated_bytes), timeline[point].allocated_bytes);
    floors.push_back(floor);
  }
  return floors;
}

std::optional<double> floor_growth(std::vector<std::optional<uint64_t>> const& floors) {
  std::vector<std::pair<double, double>> points;
  for (size_t i = 0; i < floors.size(); ++i)
    if (floors[i]) points.emplace_back(static_cast<double>(i), static_cast<double>(*floors[i]));
  if (points.size() < kFewestFloors) return std::nullopt;
  double mean_x = 0, mean_y = 0;
  for (auto const& [x, y] : points) {
    mean_x += x / static_cast<double>(points.size());
    mean_y += y / static_cast<double>(points.size());
  }
  double xx = 0, xy = 0;
  for (auto const& [x, y] : points) {
    xx += (x - mean_x) * (x - mean_x);
    xy += (x - mean_x) * (y - mean_y);
  }
  return xy / xx;
}

}  // namespace stepscope::analyzer
