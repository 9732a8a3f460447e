#include "trace/model/clock_drift.h"

#include <algorithm>

#include "trace/model/copy_rows.h"
#include "trace/model/trace_builder.h"

namespace stepscope::model {

Trace correct_drift(Trace const& trace, ClockDrift const& drift) {
  TraceBuilder builder;
  builder.info() = trace.info();
  builder.log() = log_before_building(trace);
  for (Device const& device : trace.devices()) builder.add_device(device);
  std::vector<StringId> names(trace.strings().size());
  for (uint32_t id = 0; id < names.size(); ++id) names[id] = builder.intern(trace.strings().text(StringId{id}));
  auto const corrected = [&](int64_t instant) { return std::clamp(drift.corrected(instant), -kMaxTime, kMaxTime); };
  for (Track const& track : trace.tracks()) {
    TrackId const id = builder.add_track(track);
    Trace::Rows const rows = trace.rows_of(id);
    EventBatch batch;
    batch.reserve(rows.size());
    for (uint32_t row = rows.first; row < rows.last; ++row) {
      append_row(trace, row, names[trace.columns().name[row].value], batch);
      batch.start.back() = corrected(trace.start(row));
      batch.dur.back() = corrected(trace.end(row)) - batch.start.back();
    }
    builder.append(id, std::move(batch));
  }
  return std::move(builder).finish();
}

}  // namespace stepscope::model
