#include "trace/model/trace_builder.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "trace/base/check.h"

namespace stepscope::model {
namespace {

void check_consistent(EventBatch const& batch) {
  size_t const n = batch.size();
  STEPSCOPE_CHECK(batch.dur.size() == n && batch.name.size() == n && batch.kind.size() == n && batch.correlation.size() == n);
  std::array<size_t, kDetailTableCount> expected{};
  for (EventKind const kind : batch.kind) {
    auto const table = static_cast<int>(kind_info(kind).table);
    if (table >= 0) ++expected[static_cast<size_t>(table)];
  }
  size_t index = 0;
  std::apply([&](auto const&... table) { (STEPSCOPE_CHECK(table.size() == expected[index++]), ...); }, batch.details);
}

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

void TraceBuilder::append(TrackId track, EventBatch batch) {
  STEPSCOPE_CHECK(track.value < batches_.size());
  check_consistent(batch);
  EventBatch& to = batches_[track.value];
  if (to.empty()) {
    to = std::move(batch);
    return;
  }
  auto const extend = [](auto& target, auto const& source) { target.insert(target.end(), source.begin(), source.end()); };
  extend(to.start, batch.start);
  extend(to.dur, batch.dur);
  extend(to.name, batch.name);
  extend(to.kind, batch.kind);
  extend(to.correlation, batch.correlation);
  std::apply([&](auto const&... source) { (extend(std::get<std::remove_cvref_t<decltype(source)>>(to.details), source), ...); },
             batch.details);
}

Trace TraceBuilder::finish() && {
  for (Track const& track : trace_.tracks_) trace_.log_.dropped += track.dropped;
  sort_tracks();
  nest();
  link_launches();
  if (uint64_t const moved = trace_.log_.impossible_times; moved > 0)
    trace_.log_.notes.push_back(fmt::format("{} events claim times beyond 73 years and were moved: the trace is damaged", moved));
  return std::move(trace_);
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

void TraceBuilder::sort_tracks() {
  auto& columns = trace_.columns_;
  size_t total = 0;
  for (EventBatch const& batch : batches_) total += batch.size();
  STEPSCOPE_CHECK(total < std::numeric_limits<uint32_t>::max());
  columns.start.reserve(total);
  columns.dur.reserve(total);
  columns.name.reserve(total);
  columns.kind.reserve(total);
  columns.correlation.reserve(total);
  columns.detail.reserve(total);
  columns.track.reserve(total);
  trace_.track_begin_.assign(1, 0);
  int64_t first = std::numeric_limits<int64_t>::max();
  int64_t last = std::numeric_limits<int64_t>::min();
  for (size_t t = 0; t < batches_.size(); ++t) {
    EventBatch& batch = batches_[t];
    repair_times(batch);  // before sorting: the order is that of the times that are kept
    std::vector<uint32_t> const details = batch.detail_rows();
    for (uint32_t const row : batch.sorted_order()) {
      int64_t const start = batch.start[row];
      int64_t const dur = batch.dur[row];
      columns.start.push_back(start);
      columns.dur.push_back(dur);
      columns.name.push_back(batch.name[row]);
      columns.kind.push_back(batch.kind[row]);
      columns.correlation.push_back(batch.correlation[row]);
      columns.track.push_back(TrackId{static_cast<uint32_t>(t)});
      columns.detail.push_back(copy_detail(batch.details, kind_info(batch.kind[row]).table, details[row], trace_.details_));
      first = std::min(first, start);
      last = std::max(last, start + dur);
    }
    trace_.track_begin_.push_back(static_cast<uint32_t>(columns.start.size()));
    batch = EventBatch{};
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
      if (!is_device_op(columns.kind[row])) continue;
      if (start < stream_end) ++trace_.log_.overlapping_slices;
      stream_end = std::max(stream_end, start + columns.dur[row]);
    }
  }
}

void TraceBuilder::link_launches() {
  auto& columns = trace_.columns_;
  auto const count = static_cast<uint32_t>(columns.start.size());
  columns.link.assign(count, EventId{});
  std::unordered_map<uint64_t, uint32_t> launches;
  for (uint32_t row = 0; row < count; ++row)
    if (columns.kind[row] == EventKind::kLaunch && columns.correlation[row] != 0) launches.emplace(columns.correlation[row], row);
  for (uint32_t row = 0; row < count; ++row) {
    if (!is_device_op(columns.kind[row]) || columns.correlation[row] == 0) continue;
    auto const found = launches.find(columns.correlation[row]);
    if (found == launches.end()) {
      ++trace_.log_.unmatched_ops;
      continue;
    }
    uint32_t const launch = found->second;
    columns.link[row] = EventId{launch};
    EventId& first_op = columns.link[launch];
    if (!first_op.valid() || columns.start[row] < columns.start[first_op.value]) first_op = EventId{row};
    if (columns.start[row] < columns.start[launch]) ++trace_.log_.negative_latencies;
  }
  for (auto const& [correlation, row] : launches)
    if (!columns.link[row].valid()) ++trace_.log_.unmatched_launches;
}

}  // namespace stepscope::model
