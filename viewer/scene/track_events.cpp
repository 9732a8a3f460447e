#include "viewer/scene/track_events.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "trace/model/intervals.h"

namespace stepscope::viewer {

void append(Lane& lane, model::Trace::Columns const& columns, uint32_t row, int64_t& busy) {
  if (lane.rows.size() % kBusyBlock == 0) lane.busy_before.push_back(busy);
  lane.rows.push_back(row);
  lane.begins.add(columns.start[row]);
  busy = add(busy, columns.dur[row]);
}

std::vector<Lane> make_lanes(model::Trace const& trace, uint32_t track, uint64_t& hidden) {
  auto const rows = trace.rows_of(model::TrackId{track});
  auto const& columns = trace.columns();
  std::vector<uint32_t> counts;

  for (uint32_t row = rows.first; row < rows.last; ++row) {
    uint32_t const depth = columns.depth[row];
    if (depth >= kMaxLanes) {
      ++hidden;
      continue;
    }
    if (depth >= counts.size()) counts.resize(depth + 1);
    ++counts[depth];
  }

  std::vector<Lane> lanes(counts.size());
  for (size_t i = 0; i < lanes.size(); ++i) lanes[i].rows.reserve(counts[i]);
  std::vector<int64_t> busy(lanes.size());

  for (uint32_t row = rows.first; row < rows.last; ++row) {
    uint32_t const depth = columns.depth[row];
    if (depth >= kMaxLanes) continue;
    append(lanes[depth], columns, row, busy[depth]);
  }
  return lanes;
}

void finish_curve(Curve& curve) {
  if (curve.value.empty()) return;

  auto const [low, high] = std::minmax_element(curve.value.begin(), curve.value.end());
  curve.lowest = std::min(0.0, *low);
  curve.highest = std::max(0.0, *high);
  curve.range = {*low, *high};

  for (size_t i = 0; i < curve.value.size(); i += kBusyBlock) {
    auto const first = curve.value.begin() + static_cast<std::ptrdiff_t>(i);
    auto const last = curve.value.begin() +
                      static_cast<std::ptrdiff_t>(std::min(i + kBusyBlock, curve.value.size()));
    curve.block_max.push_back(*std::max_element(first, last));
  }
}

uint32_t highest_place(Curve const& curve, uint32_t first, uint32_t last) {
  uint32_t best = first;
  // A whole block is searched only if it has a higher value.
  for (uint32_t i = first; i < last;) {
    bool const is_block = i % kBusyBlock == 0 && i + kBusyBlock <= last;
    if (is_block && curve.block_max[i / kBusyBlock] <= curve.value[best]) {
      i += kBusyBlock;
      continue;
    }

    for (uint32_t const end = is_block ? i + kBusyBlock : i + 1; i < end; ++i)
      if (curve.value[i] > curve.value[best]) best = i;
  }
  return best;
}

Curve sample_curve(model::Trace const& trace, uint32_t track, int64_t shift) {
  Curve curve;
  auto const rows = trace.rows_of(model::TrackId{track});
  for (uint32_t row = rows.first; row < rows.last; ++row) {
    if (trace.kind(row) != model::EventKind::kSample) continue;
    curve.time.push_back(add(trace.start(row), shift));
    curve.value.push_back(trace.detail<model::SampleDetail>(row).value);
  }
  finish_curve(curve);
  return curve;
}

void BusyTimeBuilder::add(model::OpClass op, model::Interval when) {
  switch (op) {
    case model::OpClass::kNone:
      return;
    case model::OpClass::kCompute:
      return compute_.push_back(when);
    case model::OpClass::kComm:
      return communication_.push_back(when);
    default:
      return copy_.push_back(when);
  }
}

BusyTime BusyTimeBuilder::finish() && {
  BusyTime busy;
  busy.compute = model::unite(std::move(compute_));
  busy.exposed_comm = model::subtract(model::unite(std::move(communication_)), busy.compute);
  busy.exposed_copy = model::subtract(model::subtract(model::unite(std::move(copy_)), busy.compute),
                                      busy.exposed_comm);
  return busy;
}

std::vector<Segment> device_segments(model::Trace const& trace, std::span<uint32_t const> tracks,
                                     int64_t shift, int64_t origin, GapsOfDevice gaps,
                                     analyzer::Interval window) {
  BusyTimeBuilder ops;
  for (uint32_t const track : tracks) {
    auto const rows = trace.rows_of(model::TrackId{track});
    for (uint32_t row = rows.first; row < rows.last; ++row)
      ops.add(model::kind_info(trace.kind(row)).op_class,
              {add(trace.start(row), shift), add(trace.end(row), shift)});
  }
  BusyTime const busy = std::move(ops).finish();

  std::vector<Segment> segments;
  auto const take = [&](model::IntervalSet const& set, Paint paint) {
    for (auto const& piece : set) segments.push_back({piece.begin, piece.end, paint, {}});
  };
  take(busy.compute, Paint::kCompute);
  take(busy.exposed_comm, Paint::kCommunication);
  take(busy.exposed_copy, Paint::kCopy);

  size_t const count = gaps.gaps == nullptr ? 0 : gaps.gaps->size();
  int64_t const back = add(~origin, 1);
  for (size_t i = count > 0 ? gaps.gaps->exponential_search(window.begin) : 0; i < count; ++i) {
    model::Interval const when = gaps.gaps->when(i);
    if (when.begin >= window.end) break;
    segments.push_back({add(when.begin, back), add(when.end, back), paint_of(gaps.gaps->cause(i)),
                        static_cast<uint32_t>(gaps.first + i)});
  }

  std::sort(segments.begin(), segments.end(),
            [](Segment const& a, Segment const& b) { return a.begin < b.begin; });
  return segments;
}

Segments::Segments(std::vector<Segment> sorted) : all_(std::move(sorted)) {
  for (uint32_t i = 0; i < size(); ++i) {
    begins_.add(all_[i].begin);
    if (i % kBlock == 0) of_block_.push_back({length(all_[i]), i});
    if (length(all_[i]) > of_block_.back().length) of_block_.back() = {length(all_[i]), i};
  }
}

uint32_t Segments::longest(uint32_t first, uint32_t last) const {
  uint32_t const first_block = (first + kBlock - 1) / kBlock;
  uint32_t const last_block = last / kBlock;
  Longest best{std::numeric_limits<int64_t>::min(), first};

  auto const look_at = [&](uint32_t from, uint32_t until) {
    for (uint32_t i = from; i < until; ++i)
      if (length(all_[i]) > best.length) best = {length(all_[i]), i};
  };
  if (last_block <= first_block) {
    look_at(first, last);
    return best.index;
  }

  for (uint32_t block = first_block; block < last_block; ++block)
    if (of_block_[block].length > best.length) best = of_block_[block];
  if (last_block - first_block > kManyBlocks) return best.index;

  look_at(first, first_block * kBlock);
  look_at(last_block * kBlock, last);
  return best.index;
}

}  // namespace stepscope::viewer
