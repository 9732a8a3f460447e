// Recorders → rings → decoder → store for the tests of decoding, without a writer thread and
// without injection.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tracer/api/device_events.h"
#include "tracer/core/trace_store.h"
#include "tracer/nvtx/nvtx_source.h"

namespace stepscope::tracer {

struct Row {
  std::string name;
  model::EventKind kind{};
  std::string track;
  int64_t start = 0, dur = 0;
  uint64_t correlation = 0;
};

class Pipeline {
 public:
  explicit Pipeline(WindowOptions options = {}, size_t buffer_bytes = 8 << 20)
      : window(std::move(options)),
        source(window, TickSource::kMonotonicClock, registry, buffer_bytes),
        clock(sample()) {}

  void drain() {
    source.snapshot();
    clock.add(sample());
    source.drain(store, clock);
  }
  void finish() {
    drain();
    drain();
    source.finish(store, clock.latest_ns());
  }
  /// After finish(): the events of a track in the order in which a file would get them.
  [[nodiscard]] model::EventBatch const& events(uint32_t track) {
    auto const [place, is_new] = taken_.try_emplace(track);
    if (is_new) place->second = store.rows(model::TrackId{track}).take().copy();
    return place->second;
  }
  /// After finish(): all rows, track by track in the order of their starts.
  [[nodiscard]] std::vector<Row> rows() {
    std::vector<Row> result;
    for (uint32_t t = 0; t < store.tracks().size(); ++t) {
      model::EventBatch const& events = this->events(t);
      for (size_t i = 0; i < events.size(); ++i) {
        result.push_back({std::string(store.text(events.name[i])), events.kind[i],
                          store.tracks()[t].name, events.start[i], events.dur[i],
                          events.correlation[i]});
      }
    }

    return result;
  }
  [[nodiscard]] std::vector<std::string> names() {
    std::vector<std::string> result;
    for (Row const& row : rows()) result.push_back(row.name);
    return result;
  }
  template <class Detail>
  [[nodiscard]] model::DetailColumn<Detail> details(uint32_t track) {
    return std::get<model::DetailColumn<Detail>>(events(track).details);
  }

  CaptureWindow window;
  Registry registry;
  NvtxSource source;
  TraceStore store;
  ClockFit clock;

 private:
  std::map<uint32_t, model::EventBatch> taken_;

  static ClockSample sample() { return sample_clocks(TickSource::kMonotonicClock); }
};

inline EventArgs named(std::string_view text, uint16_t domain = kDefaultDomain) {
  EventArgs args;
  args.text = text;
  args.domain = domain;
  return args;
}

inline EventArgs step_args(int64_t index) {
  EventArgs args = named("step", kAnnotationDomain);
  args.category = 1;
  args.value_type = ValueType::kInt64;
  args.value = static_cast<uint64_t>(index);
  return args;
}

/// A payload of the device domain; the struct must outlive it.
template <class Payload>
PayloadView payload(api::DeviceSchema schema, Payload const& value) {
  return {static_cast<uint64_t>(schema), reinterpret_cast<std::byte const*>(&value), sizeof value,
          sizeof value};
}

inline EventArgs device_args(std::string_view text, PayloadView const& view) {
  EventArgs args = named(text, kDeviceDomain);
  args.payloads = {&view, 1};
  return args;
}

/// The schemas as tracer/api/device_events.h describes them.
void register_device_schemas(Registry& registry);

}  // namespace stepscope::tracer
