#include "trace/model/derive/run_skeleton.h"

#include <algorithm>
#include <utility>

#include "trace/base/check.h"
#include "trace/model/derive/skeleton_builder.h"
#include "trace/model/event_batch.h"

namespace stepscope::model {

void SkeletonBuilder::complete(Trace& skeleton, WholeOfSkeleton const& facts) {
  skeleton.log_ = facts.log;
  skeleton.time_range_ = facts.time_range;
  skeleton.whole_event_count_ = facts.whole_event_count;
}

void SkeletonBuilder::replace_head(Trace& trace, TraceHead const& head) {
  STEPSCOPE_CHECK(head.tracks.size() == trace.tracks_.size());
  trace.info_ = head.info;
  trace.log_ = head.log;
  trace.tracks_ = head.tracks;
  trace.devices_ = head.devices;
}

Trace SkeletonBuilder::make(Trace whole, std::span<uint32_t const> rows) {
  whole.whole_event_count_ = whole.whole_event_count();
  if (rows.size() == whole.event_count()) return whole;

  Trace::Columns const columns = std::move(whole.columns_);
  DetailTables const details = std::move(whole.details_);
  whole.columns_ = {};
  whole.details_ = {};
  reserve(rows.size(), whole.columns_);

  std::vector<uint32_t> const track_begin = std::move(whole.track_begin_);
  whole.track_begin_ = {0};

  size_t next = 0;
  for (size_t track = 0; track + 1 < track_begin.size(); ++track) {
    for (; next < rows.size() && rows[next] < track_begin[track + 1]; ++next)
      copy_row(columns, details, rows[next], rows, whole);
    whole.track_begin_.push_back(static_cast<uint32_t>(next));
  }

  return whole;
}

/// No more memory than they need: there is a skeleton of every process.
void SkeletonBuilder::reserve(size_t rows, Trace::Columns& columns) {
  columns.start.reserve(rows);
  columns.dur.reserve(rows);
  columns.name.reserve(rows);
  columns.kind.reserve(rows);
  columns.correlation.reserve(rows);
  columns.detail.reserve(rows);
  columns.link.reserve(rows);
  columns.depth.reserve(rows);
  columns.track.reserve(rows);
}

void SkeletonBuilder::copy_row(Trace::Columns const& from, DetailTables const& details,
                               uint32_t row, std::span<uint32_t const> rows, Trace& trace) {
  Trace::Columns& to = trace.columns_;

  to.start.push_back(from.start[row]);
  to.dur.push_back(from.dur[row]);
  to.name.push_back(from.name[row]);
  to.kind.push_back(from.kind[row]);
  to.correlation.push_back(from.correlation[row]);

  to.detail.push_back(
      copy_detail(details, kind_info(from.kind[row]).table, from.detail[row], trace.details_));
  to.link.push_back(moved(from.link[row], rows));
  to.depth.push_back(from.depth[row]);
  to.track.push_back(from.track[row]);
}

EventId SkeletonBuilder::moved(EventId link, std::span<uint32_t const> rows) {
  if (!link.valid()) return link;
  auto const place = std::lower_bound(rows.begin(), rows.end(), link.value);
  return place != rows.end() && *place == link.value
             ? EventId{static_cast<uint32_t>(place - rows.begin())}
             : EventId{};
}

TraceHead head_of(Trace const& trace) {
  return {trace.info(),
          trace.log(),
          {trace.tracks().begin(), trace.tracks().end()},
          {trace.devices().begin(), trace.devices().end()}};
}

void replace_head(Trace& trace, TraceHead const& head) {
  SkeletonBuilder::replace_head(trace, head);
}

WholeOfSkeleton whole_of_skeleton(Trace const& whole) {
  return {whole.log(), whole.time_range(), whole.whole_event_count()};
}

void complete_skeleton(Trace& skeleton, WholeOfSkeleton const& facts) {
  SkeletonBuilder::complete(skeleton, facts);
}

Trace skeleton_of(Trace whole, std::span<uint32_t const> rows) {
  return SkeletonBuilder::make(std::move(whole), rows);
}

}  // namespace stepscope::model
