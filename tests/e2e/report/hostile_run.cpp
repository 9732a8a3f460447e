#include "tests/e2e/report/hostile_run.h"

#include <string>

#include "trace/model/build/trace_builder.h"

namespace stepscope::support {
namespace {

using model::DetailTable;
using model::Trace;

void copy_event(Trace const& trace, uint32_t row, model::StringId name, model::EventBatch& batch) {
  model::Trace::Columns const& columns = trace.columns();
  auto const add = [&]<class Row>(Row const*) {
    batch.add(columns.kind[row], columns.start[row], columns.dur[row], name,
              columns.correlation[row], trace.detail<Row>(row));
  };

  switch (model::kind_info(columns.kind[row]).table) {
    case DetailTable::kNone:
      batch.add(columns.kind[row], columns.start[row], columns.dur[row], name,
                columns.correlation[row]);
      return;
    case DetailTable::kSteps:
      return add(static_cast<model::StepDetail const*>(nullptr));
    case DetailTable::kKernels:
      return add(static_cast<model::KernelDetail const*>(nullptr));
    case DetailTable::kCopies:
      return add(static_cast<model::CopyDetail const*>(nullptr));
    case DetailTable::kCollectives:
      return add(static_cast<model::CollectiveDetail const*>(nullptr));
    case DetailTable::kStreamWaits:
      return add(static_cast<model::StreamWaitDetail const*>(nullptr));
    case DetailTable::kSyncs:
      return add(static_cast<model::SyncDetail const*>(nullptr));
    case DetailTable::kMemory:
      return add(static_cast<model::MemoryDetail const*>(nullptr));
    case DetailTable::kSamples:
      return add(static_cast<model::SampleDetail const*>(nullptr));
    case DetailTable::kRanges:
      return add(static_cast<model::RangeDetail const*>(nullptr));
  }
}

Trace hostile(Trace const& trace, std::string const& text) {
  model::TraceBuilder builder;
  builder.info() = trace.info();
  builder.info().tool = builder.info().host = builder.info().command = text;
  builder.info().facts = {{text, text}};

  for (model::Device device : trace.devices()) {
    device.name = text;
    builder.add_device(device);
  }

  for (uint32_t t = 0; t < trace.tracks().size(); ++t) {
    model::Track track = trace.tracks()[t];
    track.name = text;
    model::TrackId const id = builder.add_track(track);
    auto const rows = trace.rows_of(model::TrackId{t});
    for (uint32_t row = rows.first; row < rows.last; ++row)
      copy_event(trace, row, builder.intern(text + std::string(trace.name(row))),
                 builder.events(id));
  }
  return std::move(builder).finish();
}

}  // namespace

model::Run with_hostile_texts(model::Run const& run, std::string const& text) {
  model::Run result;
  result.name = text;
  result.clock = run.clock;
  result.clock.method = text;
  result.notes = {text};
  for (model::RankTrace const& rank : run.ranks)
    result.ranks.push_back({hostile(rank.trace, text), rank.offset_ns, text});
  return result;
}

}  // namespace stepscope::support
