#include "trace/model/copy_rows.h"

#include <algorithm>

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
  log.unmatched_launches = log.doubled_launches = log.unmatched_ops = log.negative_latencies = log.overlapping_slices = 0;
  return log;
}

}  // namespace stepscope::model
