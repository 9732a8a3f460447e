// The NCCL source without a session and without injection: events through the adapters of a
// version, rows out of the store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tracer/nccl/adapters.h"
#include "tracer/nccl/nccl_source.h"

namespace stepscope::tracer::nccl {

struct CallRow {
  std::string name;
  int64_t thread = 0;
  int64_t start = 0, dur = 0;
  model::CollectiveDetail detail;
};

class NcclPipeline {
 public:
  explicit NcclPipeline(std::optional<StepRange> steps = {})
      : window(steps),
        source(window, TickSource::kMonotonicClock, communicators, kProcess, kBufferBytes),
        clock(sample()) {}

  /// The context that init() of NCCL's plugins would have returned.
  void* context(Communicator communicator) {
    return to_pointer(uint64_t{communicators.add(std::move(communicator))} + 1);
  }
  template <class Event>
  void* start(Recorder& recorder, void* context, Event const& event) {
    return to_pointer(start_event(recorder, context, event));
  }
  void drain() {
    source.snapshot();
    clock.add(sample());
    source.drain(store, clock);
  }
  /// All rows of calls, track by track in the order of their starts.
  std::vector<CallRow> finish() {
    drain();
    drain();
    source.finish(store, clock.latest_ns());

    std::vector<CallRow> result;
    for (uint32_t t = 0; t < store.tracks().size(); ++t) {
      model::EventBatch const taken = store.rows(model::TrackId{t}).take().copy();
      model::EventBatch const events = model::sorted_copy(taken);
      auto const& details = std::get<model::DetailColumn<model::CollectiveDetail>>(events.details);
      for (size_t i = 0; i < events.size(); ++i)
        result.push_back({std::string(store.text(events.name[i])), store.tracks()[t].id,
                          events.start[i], events.dur[i], details[i]});
    }
    return result;
  }

  static constexpr int64_t kProcess = 4711;
  static constexpr size_t kBufferBytes = 256 << 20;
  CaptureWindow window;
  Communicators communicators;
  NcclSource source;
  TraceStore store;
  ClockFit clock;

 private:
  static ClockSample sample() { return sample_clocks(TickSource::kMonotonicClock); }
};

}  // namespace stepscope::tracer::nccl
