#include "trace/model/build/row_copy.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "trace/model/build/trace_builder.h"

namespace stepscope::model {

void append_row(Trace const& trace, uint32_t row, StringId name, EventBatch& batch) {
  Trace::Columns const& columns = trace.columns();
  batch.start.push_back(columns.start[row]);
  batch.dur.push_back(columns.dur[row]);
  batch.name.push_back(name);
  batch.kind.push_back(columns.kind[row]);
  batch.correlation.push_back(columns.correlation[row]);
  DetailTable const table = kind_info(columns.kind[row]).table;
  auto const copy = [&]<class Row>(DetailColumn<Row>& rows) {
    if (DetailTableOf<Row>::value == table) rows.push_back(trace.detail<Row>(row));
  };
  std::apply([&](auto&... rows) { (copy(rows), ...); }, batch.details);
}

ImportLog log_before_building(Trace const& trace) {
  ImportLog log = trace.log();
  for (Track const& track : trace.tracks()) log.dropped -= std::min(log.dropped, track.dropped);
  log.unmatched_launches = log.doubled_launches = log.unmatched_ops = log.negative_latencies =
      log.overlapping_slices = 0;
  return log;
}

Trace window_of(Trace const& trace, Interval window) {
  TraceBuilder builder;
  builder.info() = trace.info();
  builder.log() = log_before_building(trace);
  for (Device const& device : trace.devices()) builder.add_device(device);
  std::vector<StringId> names(trace.strings().size());
  for (uint32_t id = 0; id < names.size(); ++id)
    names[id] = builder.intern(trace.text(StringId{id}));

  auto const is_inside = [&](uint32_t row) {
    int64_t const start = trace.start(row);
    return start < window.end && (start >= window.begin || trace.end(row) > window.begin);
  };
  for (Track const& track : trace.tracks()) {
    TrackId const id = builder.add_track(track);
    Trace::Rows const rows = trace.rows_of(id);
    EventBatch batch;
    for (uint32_t row = rows.first; row < rows.last; ++row)
      if (is_inside(row)) append_row(trace, row, names[trace.columns().name[row].value], batch);
    builder.append(id, std::move(batch));
  }
  return std::move(builder).finish();
}

}  // namespace stepscope::model
