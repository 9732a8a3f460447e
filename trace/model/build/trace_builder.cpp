#include "trace/model/build/trace_builder.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_invoke.h>
#include <tbb/task_group.h>

#include "trace/base/check.h"
#include "trace/base/format.h"
#include "trace/base/huge_pages.h"
#include "trace/model/build/collective_merge.h"
#include "trace/model/build/order_batches.h"
#include "trace/model/build/stream_overlaps.h"
#include "trace/model/build/timestamp_outliers.h"
#include "trace/model/event_view.h"
#include "trace/model/kind_scan.h"

namespace stepscope::model {
namespace {

/// Indexed by kind: whether it is a kind of device ops. Readers have refused bytes that are no
/// kind.
constexpr std::array<bool, kKindCount> kIsOp = [] {
  std::array<bool, kKindCount> is_op{};
  for (size_t kind = 0; kind < is_op.size(); ++kind)
    is_op[kind] = kKindTable[kind].op_class != OpClass::kNone;
  return is_op;
}();

/// Indexed by any byte: the number of its kind's detail table, −1 for a kind without one.
constexpr int8_t kNoKind = INT8_MIN;
constexpr std::array<int8_t, 256> kTableOf = [] {
  std::array<int8_t, 256> table{};
  table.fill(kNoKind);
  for (size_t kind = 0; kind < kKindCount; ++kind)
    table[kind] = static_cast<int8_t>(kKindTable[kind].table);
  return table;
}();

bool has_ops(Trace::Columns const& columns, Trace::Rows rows) {
  bool any = false;
  for_each_op_of(columns, rows, [&](uint32_t /*row*/) { any = true; });
  return any;
}

void check_consistent(EventBatch const& batch) {
  size_t const n = batch.size();
  STEPSCOPE_CHECK(batch.dur.size() == n && batch.name.size() == n && batch.kind.size() == n &&
                  batch.correlation.size() == n);
  auto const expected = count_details(batch.kind);
  size_t index = 0;
  std::apply(
      [&](auto const&... table) { (STEPSCOPE_CHECK(table.size() == expected[index++]), ...); },
      batch.details);
}

struct Repairs {
  uint64_t negative_durations = 0, impossible_times = 0;
};

Repairs repair_times(EventBatch& batch) {
  Repairs repairs;
  for (size_t i = 0; i < batch.size(); ++i) {
    if (batch.dur[i] < 0) {
      batch.dur[i] = 0;
      ++repairs.negative_durations;
    }

    int64_t const start = std::clamp(batch.start[i], -kMaxTime, kMaxTime);
    int64_t const dur = std::min(batch.dur[i], kMaxTime - start);
    if (start == batch.start[i] && dur == batch.dur[i]) continue;
    batch.start[i] = start;
    batch.dur[i] = dur;

    ++repairs.impossible_times;
  }
  return repairs;
}

/// Moves what `part` finds in the batches to the end of a column, which has room for `count` more.
template <class T, class Part>
void concatenate(std::vector<std::vector<EventBatch>>& tracks, Part&& part, base::Column<T>& column,
                 size_t count) {
  base::reserve_long(column, count);
  for (auto& batches : tracks) {
    for (EventBatch& batch : batches) {
      auto const from = std::exchange(part(batch), {});
      column.insert(column.end(), from.begin(), from.end());
    }
  }
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
  auto const place = std::lower_bound(devices.begin(), devices.end(), device.id,
                                      [](Device const& d, int32_t id) { return d.id < id; });
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

uint64_t TraceBuilder::leave_out_timestamp_outliers() {
  return model::leave_out_timestamp_outliers(batches_);
}

void TraceBuilder::count_dropped() {
  for (Track const& track : trace_.tracks_) trace_.log_.dropped += track.dropped;
}

RowSpans TraceBuilder::make_rows(std::span<uint32_t const> rows_of_tracks) {
  STEPSCOPE_CHECK(rows_of_tracks.size() == trace_.tracks_.size() && trace_.columns_.start.empty());

  uint64_t total = 0;
  for (uint32_t const rows : rows_of_tracks) {
    total += rows;
    STEPSCOPE_CHECK(total < std::numeric_limits<uint32_t>::max());
    trace_.track_begin_.push_back(static_cast<uint32_t>(total));
  }

  auto& columns = trace_.columns_;
  auto const make = [&](auto&... column) {
    (base::reserve_long(column, total), ...);
    (column.resize(total), ...);
  };
  make(columns.start, columns.dur, columns.name, columns.kind, columns.correlation);

  return {columns.start, columns.dur, columns.name, columns.kind, columns.correlation};
}

DetailTables& TraceBuilder::make_details(std::array<size_t, kDetailTableCount> const& counts,
                                         uint32_t wanted) {
  own_details_ = wanted;
  uint32_t number = 0;

  auto const make = [&]<class Row>(DetailColumn<Row>& table) {
    size_t const rows = counts[number];
    if ((wanted >> number++ & 1U) == 0) return table.resize(std::min<size_t>(rows, 1), Row{});
    base::reserve_long(table, rows);
    table.resize(rows);
  };

  std::apply([&](auto&... table) { (make(table), ...); }, trace_.details_);
  return trace_.details_;
}

Trace TraceBuilder::finish_rows() && {
  count_dropped();
  note_unexplained_kernels(false);

  uint64_t const overlaps = trace_.log_.overlapping_slices;
  tbb::parallel_invoke([&] { number_details(); }, [&] { add_tracks(); }, [&] { nest(); },
                       [&] { link_launches(); });
  if (trace_.log_.overlapping_slices > overlaps)
    trace_.log_.overlapping_slices = overlaps + count_faulty_overlaps(trace_);

  return std::move(trace_);
}

Trace TraceBuilder::finish() && {
  count_dropped();
  bool const has_calls = merge_collective_calls(trace_.tracks_, batches_);
  repair_and_order();
  build_columns();
  note_unexplained_kernels(has_calls);

  uint64_t const overlaps = trace_.log_.overlapping_slices;
  tbb::parallel_invoke([&] { nest(); }, [&] { link_launches(); });
  if (calls_launch_ && trace_.log_.unmatched_ops > 0) link_calls();
  if (trace_.log_.overlapping_slices > overlaps)
    trace_.log_.overlapping_slices = overlaps + count_faulty_overlaps(trace_);

  if (uint64_t const moved = trace_.log_.impossible_times; moved > 0)
    trace_.log_.notes.push_back(base::count_sentence(
        moved, "events claim times beyond 73 years and were moved: the trace is damaged"));
  return std::move(trace_);
}

void TraceBuilder::note_unexplained_kernels(bool has_calls) {
  auto const [computing, communicating] = count_unexplained_kernels(
      trace_.strings_, trace_.tracks_, trace_.columns_,
      std::get<DetailColumn<CollectiveDetail>>(trace_.details_), trace_.track_begin_, has_calls);

  auto const note = [&](uint64_t count, std::string_view what) {
    if (count == 0) return;
    // The log may be that of a file which says it already, of other kernels when it is a part.
    std::erase_if(trace_.log_.notes, [&](std::string const& old) { return old.ends_with(what); });
    trace_.log_.notes.push_back(base::count_sentence(count, what));
  };
  note(computing,
       "kernels of NCCL are shown as computation: the calls that they run are not known");
  note(communicating,
       "kernels of NCCL have no size and no partners: the calls that they run are not known");
}

void TraceBuilder::repair_and_order() {
  std::vector<EventBatch*> all;
  for (auto& batches : batches_)
    for (EventBatch& batch : batches) all.push_back(&batch);

  std::vector<Repairs> repairs(all.size());
  // Before sorting: the order is that of the times that are kept.
  tbb::parallel_for(size_t{0}, all.size(), [&](size_t i) { repairs[i] = repair_times(*all[i]); });

  for (Repairs const& of_batch : repairs) {
    trace_.log_.negative_durations += of_batch.negative_durations;
    trace_.log_.impossible_times += of_batch.impossible_times;
  }

  order_batches(batches_);
}

/// One column, or one table of details, at a time on each core; batches lose theirs as soon as it
/// is copied.
void TraceBuilder::build_columns() {
  auto& columns = trace_.columns_;

  size_t total = 0;
  std::array<size_t, kDetailTableCount> details{};
  for (uint32_t track = 0; track < batches_.size(); ++track) {
    for (EventBatch const& batch : batches_[track]) {
      total += batch.size();
      size_t number = 0;
      std::apply([&](auto const&... table) { ((details[number++] += table.size()), ...); },
                 batch.details);
    }
    STEPSCOPE_CHECK(total < std::numeric_limits<uint32_t>::max());
    trace_.track_begin_.push_back(static_cast<uint32_t>(total));
  }

  tbb::task_group tasks;
  auto const add = [&](auto&& part, auto& column, size_t count) {
    tasks.run([&, part, count] { concatenate(batches_, part, column, count); });
  };
  add(
      [](EventBatch & batch) -> auto& { return batch.start; }, columns.start, total);
  add(
      [](EventBatch & batch) -> auto& { return batch.dur; }, columns.dur, total);
  add(
      [](EventBatch & batch) -> auto& { return batch.correlation; }, columns.correlation, total);
  add(
      [](EventBatch & batch) -> auto& { return batch.name; }, columns.name, total);
  tasks.run([&] {
    concatenate(
        batches_, [](EventBatch & batch) -> auto& { return batch.kind; }, columns.kind, total);
    number_details();
  });
  tasks.run([&] { add_tracks(); });

  auto const add_table = [&]<size_t Table>(std::integral_constant<size_t, Table> /*of*/) {
    auto& table = std::get<Table>(trace_.details_);
    if ((own_details_ >> Table & 1U) == 0)
      return table.resize(std::min<size_t>(details[Table], 1), {});
    add(
        [](EventBatch & batch) -> auto& { return std::get<Table>(batch.details); }, table,
        details[Table]);
  };
  [&]<size_t... Table>(std::index_sequence<Table...>) {
    (add_table(std::integral_constant<size_t, Table>()), ...);
  }
  (std::make_index_sequence<kDetailTableCount>());

  tasks.wait();
}

/// Which track each row is of.
void TraceBuilder::add_tracks() {
  auto& column = trace_.columns_.track;
  auto const& begin = trace_.track_begin_;
  base::reserve_long(column, begin.back());
  for (uint32_t track = 0; track + 1 < begin.size(); ++track)
    base::append_copies(column, begin[track + 1] - begin[track], TrackId{track});
}

/// The n-th row of a kind with a table owns its n-th row.
void TraceBuilder::number_details() {
  auto& columns = trace_.columns_;
  size_t const count = columns.kind.size();
  base::reserve_long(columns.detail, count);
  base::append_copies(columns.detail, count, uint32_t{0});

  std::array<uint32_t, kDetailTableCount> next{};
  EventKind const* const kind = columns.kind.data();
  uint32_t* const detail = columns.detail.data();

  // Threads are mostly of rows without a table, streams of rows with the same.
  for (size_t first = 0, last = 0; first < count; first = last) {
    int8_t const table = kTableOf[static_cast<uint8_t>(kind[first])];
    STEPSCOPE_CHECK(table != kNoKind);
    while (last < count && kTableOf[static_cast<uint8_t>(kind[last])] == table) ++last;

    if (table < 0 || (own_details_ >> table & 1U) == 0) continue;
    uint32_t const row =
        std::exchange(next[static_cast<size_t>(table)],
                      next[static_cast<size_t>(table)] + static_cast<uint32_t>(last - first));
    std::iota(detail + first, detail + last, row);
  }
}

void TraceBuilder::nest() {
  base::reserve_long(trace_.columns_.depth, trace_.columns_.start.size());
  trace_.columns_.depth.assign(trace_.columns_.start.size(), 0);

  std::vector<Nesting> of_track(trace_.tracks_.size());
  tbb::parallel_for(size_t{0}, of_track.size(),
                    [&](size_t track) { of_track[track] = nest(track); });

  Nesting all;
  for (Nesting const& nesting : of_track) {
    all.first = std::min(all.first, nesting.first);
    all.last = std::max(all.last, nesting.last);
    trace_.log_.overlapping_slices += nesting.overlapping;
  }

  if (all.first <= all.last) trace_.time_range_ = {all.first, all.last};
}

TraceBuilder::Nesting TraceBuilder::nest(size_t track) {
  auto const& columns = trace_.columns_;
  uint32_t const first = trace_.track_begin_[track], last = trace_.track_begin_[track + 1];
  Nesting nesting;

  if (first == last) return nesting;
  if (has_depth_) number_depths(first, last);
  nesting.first = columns.start[first];
  int64_t const *const start = columns.start.data(), *const dur = columns.dur.data();

  EventKind const* const kind = columns.kind.data();
  for (uint32_t row = first; row < last; ++row)
    nesting.last = std::max(nesting.last, start[row] + dur[row]);
  if (trace_.tracks_[track].kind == TrackKind::kThread && !has_ops(columns, {first, last}))
    return nesting;

  int64_t stream_end = std::numeric_limits<int64_t>::min();
  for (uint32_t row = first; row < last; ++row) {
    int64_t const end = start[row] + dur[row];
    // What has no duration overlaps nothing. Without a branch a row.
    unsigned const counts =
        unsigned{kIsOp[static_cast<size_t>(kind[row])]} & unsigned{end != start[row]};
    nesting.overlapping += counts & unsigned{start[row] < stream_end};
    stream_end = counts != 0 ? std::max(stream_end, end) : stream_end;
  }

  return nesting;
}

/// Sets the depth of the rows of one track.
void TraceBuilder::number_depths(uint32_t first, uint32_t last) {
  auto& columns = trace_.columns_;
  std::vector<int64_t> open_ends;
  for (uint32_t row = first; row < last; ++row) {
    int64_t const start = columns.start[row];
    while (!open_ends.empty() && open_ends.back() <= start) open_ends.pop_back();
    columns.depth[row] = static_cast<uint16_t>(std::min<size_t>(open_ends.size(), UINT16_MAX));
    open_ends.push_back(start + columns.dur[row]);
  }
}

}  // namespace stepscope::model
