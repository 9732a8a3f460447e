#include "trace/model/derive/clock_drift.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "trace/model/build/row_copy.h"
#include "trace/model/build/trace_builder.h"

namespace stepscope::model {

bool has_origin(TraceInfo const& info) {
  return info.origin_epoch_ns > 0 && info.origin_epoch_ns < 2 * kMaxTime;
}

bool has_boot_clock(TraceInfo const& info) {
  return std::any_of(info.facts.begin(), info.facts.end(), [](auto const& fact) {
    return fact.first == kClockFact && fact.second == kBootClock;
  });
}

std::vector<uint32_t> clocks_of(std::span<TraceInfo const* const> processes) {
  std::map<std::pair<std::string, bool>, uint32_t> by_host;  // by host and whether since boot
  std::vector<uint32_t> clocks;
  uint32_t next = 0;

  for (TraceInfo const* const info : processes) {
    bool const since_boot = !has_origin(*info) && has_boot_clock(*info);
    bool const is_shared = !info->host.empty() && (has_origin(*info) || since_boot);
    uint32_t const clock =
        is_shared ? by_host.try_emplace({info->host, since_boot}, next).first->second : next;
    clocks.push_back(clock);
    next += clock == next ? 1 : 0;
  }

  return clocks;
}

Trace correct_drift(Trace const& trace, ClockDrift const& drift) {
  TraceBuilder builder;
  builder.info() = trace.info();
  builder.log() = log_before_building(trace);
  for (Device const& device : trace.devices()) builder.add_device(device);

  std::vector<StringId> names(trace.strings().size());
  for (uint32_t id = 0; id < names.size(); ++id)
    names[id] = builder.intern(trace.strings().text(StringId{id}));

  auto const corrected = [&](int64_t instant) {
    return std::clamp(drift.corrected(instant), -kMaxTime, kMaxTime);
  };

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
