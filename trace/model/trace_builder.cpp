#include "trace/model/trace_builder.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "trace/base/check.h"
#include "trace/base/huge_pages.h"
#include "trace/model/collective_merge.h"
#include "trace/model/event_view.h"

namespace stepscope::model {
namespace {

void check_consistent(EventBatch const& batch) {
  size_t const n = batch.size();
  STEPSCOPE_CHECK(batch.dur.size() == n && batch.name.size() == n && batch.kind.size() == n && batch.correlation.size() == n);
  auto const expected = count_details(batch.kind);
  size_t index = 0;
  std::apply([&](auto const&... table) { (STEPSCOPE_CHECK(table.size() == expected[index++]), ...); }, batch.details);
}

template <class T>
void append_all(std::vector<T> const& from, std::vector<T>& to) {
  to.insert(to.end(), from.begin(), from.end());
}

void append_details(DetailTables const& from, DetailTables& to) {
  std::apply([&](auto const&... table) { (append_all(table, std::get<std::remove_cvref_t<decltype(table)>>(to)), ...); }, from);
}

void extend(EventBatch& batch, EventBatch const& more) {
  append_all(more.start, batch.start);
  append_all(more.dur, batch.dur);
  append_all(more.name, batch.name);
  append_all(more.kind, batch.kind);
  append_all(more.correlation, batch.correlation);
  append_details(more.details, batch.details);
}

/// Correlation id → row. Ids are mostly given out one after the other: then a plain array finds a row in a nanosecond.
class CorrelationMap {
 public:
  /// Of rows with the lowest and highest id, `count` of them.
  CorrelationMap(uint64_t lowest, uint64_t highest, size_t count) : lowest_(lowest) {
    constexpr uint64_t kMaxSparsity = 8;
    if (count > 0 && highest - lowest < kMaxSparsity * count) dense_.assign(highest - lowest + 1, EventId{});
  }
  /// The first row of an id stays.
  void insert(uint64_t correlation, uint32_t row) {
    if (dense_.empty()) {
      sparse_.emplace(correlation, row);
    } else if (EventId& place = dense_[correlation - lowest_]; !place.valid()) {
      place = EventId{row};
    }
  }
  [[nodiscard]] EventId find(uint64_t correlation) const {
    if (dense_.empty()) {
      auto const found = sparse_.find(correlation);
      return found == sparse_.end() ? EventId{} : EventId{found->second};
    }
    uint64_t const place = correlation - lowest_;  // wraps for lower ones: far too large then
    return place < dense_.size() ? dense_[place] : EventId{};
  }

 private:
  uint64_t lowest_;
  std::vector<EventId> dense_;
  std::unordered_map<uint64_t, uint32_t> sparse_;
};

}  // namespace

TrackId TraceBuilder::add_track(Track track) {
  trace_.tracks_.push_back(std::move(track));
  batches_.emplace_back();
  return TrackId{static_cast<uint32_t>(trace_.tracks_.size() - 1)};
}

void TraceBuilder::update_track(TrackId id, Track track) {
  STEPSCOPE_CHECK(id.value < trace_.tracks_.size());
  trace_.tracks_[id.value] = std::move(track);
}

void TraceBuilder::add_device(Device device) {
  auto& devices = trace_.devices_;
  auto const place =
      std::lower_bound(devices.begin(), devices.end(), device.id, [](Device const& d, int32_t id) { return d.id < id; });
  if (place != devices.end() && place->id == device.id) {
    *place = std::move(device);
  } else {
    devices.insert(place, std::move(device));
  }
}

EventBatch& TraceBuilder::events(TrackId track) {
  auto& batches = batches_[track.value];
  if (batches.empty()) batches.emplace_back();
  return batches.back();
}

void TraceBuilder::append(TrackId track, EventBatch batch) {
  STEPSCOPE_CHECK(track.value < batches_.size());
  check_consistent(batch);
  if (!batch.empty()) batches_[track.value].push_back(std::move(batch));
}

Trace TraceBuilder::finish() && {
  for (Track const& track : trace_.tracks_) trace_.log_.dropped += track.dropped;
  merge_collective_calls(trace_.tracks_, batches_);
  note_unexplained_kernels();
  build_columns();
  nest();
  link_launches();
  if (uint64_t const moved = trace_.log_.impossible_times; moved > 0)
    trace_.log_.notes.push_back(fmt::format("{} events claim times beyond 73 years and were moved: the trace is damaged", moved));
  return std::move(trace_);
}

void TraceBuilder::note_unexplained_kernels() {
  uint64_t const count = count_unexplained_kernels(trace_.strings_, trace_.tracks_, batches_);
  if (count == 0) return;
  std::string_view const what = "kernels of NCCL are shown as computation: the calls that they run are not known";
  // The log may be that of a file which says it already, of other kernels when it is a part.
  std::erase_if(trace_.log_.notes, [&](std::string const& note) { return note.ends_with(what); });
  trace_.log_.notes.push_back(fmt::format("{} {}", count, what));
}

void TraceBuilder::repair_times(EventBatch& batch) {
  for (size_t i = 0; i < batch.size(); ++i) {
    if (batch.dur[i] < 0) {
      batch.dur[i] = 0;
      ++trace_.log_.negative_durations;
    }
    int64_t const start = std::clamp(batch.start[i], -kMaxTime, kMaxTime);
    int64_t const dur = std::min(batch.dur[i], kMaxTime - start);
    if (start == batch.start[i] && dur == batch.dur[i]) continue;
    batch.start[i] = start;
    batch.dur[i] = dur;
    ++trace_.log_.impossible_times;
  }
}

/// Afterwards every batch is sorted and none begins before the one before it ends.
void TraceBuilder::put_in_order(std::vector<EventBatch>& batches) {
  for (EventBatch& batch : batches) repair_times(batch);  // before sorting: the order is that of the times that are kept
  bool sorted = true;
  for (size_t i = 0; i < batches.size(); ++i) {
    sorted = sorted && batches[i].is_sorted();
    if (i == 0 || batches[i].empty() || batches[i - 1].empty()) continue;
    auto const last = std::pair(batches[i - 1].start.back(), -batches[i - 1].dur.back());
    sorted = sorted && last <= std::pair(batches[i].start.front(), -batches[i].dur.front());
  }
  if (sorted) return;
  EventBatch all = std::move(batches[0]);
  for (size_t i = 1; i < batches.size(); ++i) extend(all, std::exchange(batches[i], {}));
  batches.resize(1);
  batches[0] = sorted_copy(all);
}

/// Appends the rows of a sorted batch to the trace's columns.
void TraceBuilder::append_rows(uint32_t track, EventBatch const& batch) {
  auto& columns = trace_.columns_;
  append_all(batch.start, columns.start);
  append_all(batch.dur, columns.dur);
  append_all(batch.name, columns.name);
  append_all(batch.kind, columns.kind);
  append_all(batch.correlation, columns.correlation);
  columns.track.insert(columns.track.end(), batch.size(), TrackId{track});
  std::array<uint32_t, kDetailTableCount> next{};
  size_t table_number = 0;
  std::apply([&](auto const&... table) { ((next[table_number++] = static_cast<uint32_t>(table.size())), ...); }, trace_.details_);
  for (EventKind const kind : batch.kind) {
    auto const table = static_cast<int>(kind_info(kind).table);
    columns.detail.push_back(table < 0 ? 0 : next[static_cast<size_t>(table)]++);
  }
  append_details(batch.details, trace_.details_);
}

/// For all batches; returns how many rows they have.
size_t TraceBuilder::reserve_columns() {
  size_t total = 0;
  std::array<size_t, kDetailTableCount> details{};
  for (auto const& batches : batches_) {
    for (EventBatch const& batch : batches) {
      total += batch.size();
      size_t number = 0;
      std::apply([&](auto const&... table) { ((details[number++] += table.size()), ...); }, batch.details);
    }
  }
  STEPSCOPE_CHECK(total < std::numeric_limits<uint32_t>::max());
  auto& columns = trace_.columns_;
  [total](auto&... column) { (base::reserve_long(column, total), ...); }(columns.start, columns.dur, columns.name, columns.kind,
                                                                         columns.correlation, columns.detail, columns.track,
                                                                         columns.link, columns.depth);
  size_t number = 0;
  std::apply([&](auto&... table) { (base::reserve_long(table, details[number++]), ...); }, trace_.details_);
  return total;
}

void TraceBuilder::build_columns() {
  auto& columns = trace_.columns_;
  size_t const total = reserve_columns();
  trace_.track_begin_.assign(1, 0);
  for (uint32_t track = 0; track < batches_.size(); ++track) {
    put_in_order(batches_[track]);
    for (EventBatch& batch : batches_[track]) append_rows(track, std::exchange(batch, {}));
    trace_.track_begin_.push_back(static_cast<uint32_t>(columns.start.size()));
  }
  int64_t first = std::numeric_limits<int64_t>::max();
  int64_t last = std::numeric_limits<int64_t>::min();
  for (size_t row = 0; row < total; ++row) {
    first = std::min(first, columns.start[row]);
    last = std::max(last, columns.start[row] + columns.dur[row]);
  }
  if (total > 0) trace_.time_range_ = {first, last};
}

void TraceBuilder::nest() {
  auto& columns = trace_.columns_;
  columns.depth.assign(columns.start.size(), 0);
  std::vector<int64_t> open_ends;
  for (size_t t = 0; t < trace_.tracks_.size(); ++t) {
    open_ends.clear();
    int64_t stream_end = std::numeric_limits<int64_t>::min();
    for (uint32_t row = trace_.track_begin_[t]; row < trace_.track_begin_[t + 1]; ++row) {
      int64_t const start = columns.start[row];
      while (!open_ends.empty() && open_ends.back() <= start) open_ends.pop_back();
      columns.depth[row] = static_cast<uint16_t>(std::min<size_t>(open_ends.size(), UINT16_MAX));
      open_ends.push_back(start + columns.dur[row]);
      // What has no duration overlaps nothing.
      if (!is_device_op(columns.kind[row]) || columns.dur[row] == 0) continue;
      if (start < stream_end) ++trace_.log_.overlapping_slices;
      stream_end = std::max(stream_end, start + columns.dur[row]);
    }
  }
}

void TraceBuilder::link_launches() {
  auto& columns = trace_.columns_;
  auto const count = static_cast<uint32_t>(columns.start.size());
  columns.link.assign(count, EventId{});
  auto const is_launch = [&](uint32_t row) { return columns.kind[row] == EventKind::kLaunch && columns.correlation[row] != 0; };
  uint64_t lowest = UINT64_MAX;
  uint64_t highest = 0;
  size_t launch_count = 0;
  for (uint32_t row = 0; row < count; ++row) {
    if (!is_launch(row)) continue;
    lowest = std::min(lowest, columns.correlation[row]);
    highest = std::max(highest, columns.correlation[row]);
    ++launch_count;
  }
  CorrelationMap launches(lowest, highest, launch_count);
  for (uint32_t row = 0; row < count; ++row)
    if (is_launch(row)) launches.insert(columns.correlation[row], row);
  for (uint32_t row = 0; row < count; ++row) {
    if (!is_device_op(columns.kind[row]) || columns.correlation[row] == 0) continue;
    EventId const found = launches.find(columns.correlation[row]);
    if (!found.valid()) {
      ++trace_.log_.unmatched_ops;
      continue;
    }
    uint32_t const launch = found.value;
    columns.link[row] = EventId{launch};
    EventId& first_op = columns.link[launch];
    if (!first_op.valid() || columns.start[row] < columns.start[first_op.value]) first_op = EventId{row};
    if (columns.start[row] < columns.start[launch]) ++trace_.log_.negative_latencies;
  }
  for (uint32_t row = 0; row < count; ++row) {
    if (!is_launch(row) || columns.link[row].valid()) continue;
    // Of several launches with one id the first owns the device ops; the others do not count as lost.
    if (launches.find(columns.correlation[row]).value == row) ++trace_.log_.unmatched_launches;
  }
}

}  // namespace stepscope::model
