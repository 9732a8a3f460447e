#include "trace/stream/trace_steps.h"

#include "trace/stream/step_meter.h"

namespace stepscope::stream {

std::vector<StepRecord> records_of(model::Trace const& trace) {
  StepMeter meter;
  for (uint32_t track = 0; track < trace.tracks().size(); ++track)
    meter.add(model::TrackId{track}, trace.tracks()[track], trace.events_of(model::TrackId{track}));
  meter.set_dropped(trace.log().dropped);
  return meter.take_rest();
}

}  // namespace stepscope::stream
