#include "trace/model/slice.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "trace/base/check.h"
#include "trace/model/copy_rows.h"
#include "trace/model/trace_builder.h"

namespace stepscope::model {
namespace {

/// Which rows of a trace a slice keeps.
class RowChoice {
 public:
  RowChoice(Trace const& trace, SliceWindow const& window) : trace_(trace), kept_(trace.event_count()) {
    for (uint32_t row = 0; row < trace.event_count(); ++row)
      kept_[row] = touches(row, trace.track(row).kind == TrackKind::kThread ? window.host : window.device) ||
                   (explains_by_itself(trace.kind(row)) && touches(row, window.device));
    keep_linked();
    for (uint32_t track = 0; track < trace.tracks().size(); ++track) keep_enclosing(trace.rows_of(TrackId{track}));
  }
  [[nodiscard]] bool is_kept(uint32_t row) const { return kept_[row]; }

 private:
  /// Calls that explain an idle device wherever the thread's launches have got to (DEFINITIONS, "Idle causes").
  static bool explains_by_itself(EventKind kind) { return kind == EventKind::kMemory || kind == EventKind::kOverhead; }

  [[nodiscard]] bool touches(uint32_t row, Interval window) const {
    int64_t const start = trace_.start(row);
    // What takes no time lies in the window as an instant does.
    return start < window.end && (trace_.end(row) > window.begin || start >= window.begin);
  }

  /// Launches of kept ops, ops of launches that were kept for themselves.
  void keep_linked() {
    std::vector<bool> const in_window = kept_;
    for (uint32_t row = 0; row < trace_.event_count(); ++row) {
      if (!is_device_op(trace_.kind(row))) continue;
      EventId const launch = trace_.columns().link[row];
      if (!launch.valid()) continue;
      if (in_window[row]) kept_[launch.value] = true;
      if (in_window[launch.value]) kept_[row] = true;
    }
  }

  /// On threads: everything that encloses a kept row.
  void keep_enclosing(Trace::Rows rows) {
    std::vector<uint32_t> open;
    for (uint32_t row = rows.first; row < rows.last; ++row) {
      if (trace_.track(row).kind != TrackKind::kThread) return;
      while (!open.empty() && trace_.end(open.back()) <= trace_.start(row)) open.pop_back();
      if (kept_[row])
        for (uint32_t const outer : open)
          if (trace_.end(outer) > trace_.start(row) && trace_.end(outer) >= trace_.end(row)) kept_[outer] = true;
      open.push_back(row);
    }
  }

  Trace const& trace_;
  std::vector<bool> kept_;
};

/// Texts of one trace as ids of the builder of another, each interned when it is first used.
class StringMap {
 public:
  StringMap(Trace const& from, TraceBuilder& to) : from_(from), to_(to), ids_(from.strings().size()) {}
  StringId operator()(StringId old) {
    StringId& known = ids_[old.value];
    if (!known.valid()) known = to_.intern(from_.text(old));
    return known;
  }

 private:
  Trace const& from_;
  TraceBuilder& to_;
  std::vector<StringId> ids_;
};

/// Where an op was launched, as seen from the steps that are wanted.
enum class Launched : uint8_t { kBefore, kWithin, kAfter };

Launched place_of_launch(Trace const& trace, uint32_t launch, std::vector<ThreadSteps> const& steps) {
  Interval when = steps.front().when;
  bool has_own = false;
  for (ThreadSteps const& of_thread : steps) {
    if (of_thread.thread == trace.columns().track[launch]) {
      when = of_thread.when;
      has_own = true;
    } else if (!has_own) {
      when = {std::min(when.begin, of_thread.when.begin), std::max(when.end, of_thread.when.end)};
    }
  }
  int64_t const instant = trace.start(launch);
  return instant < when.begin ? Launched::kBefore : instant < when.end ? Launched::kWithin : Launched::kAfter;
}

}  // namespace

Trace slice(Trace const& trace, SliceWindow const& window) {
  RowChoice const choice(trace, window);
  TraceBuilder builder;
  builder.info() = trace.info();
  builder.log() = log_before_building(trace);
  for (Device const& device : trace.devices()) builder.add_device(device);
  StringMap names(trace, builder);
  for (Track const& track : trace.tracks()) {
    TrackId const id = builder.add_track(track);
    Trace::Rows const rows = trace.rows_of(id);
    EventBatch batch;
    for (uint32_t row = rows.first; row < rows.last; ++row)
      if (choice.is_kept(row)) append_row(trace, row, names(trace.columns().name[row]), batch);
    builder.append(id, std::move(batch));
  }
  return std::move(builder).finish();
}

SliceWindow window_of_steps(Trace const& trace, std::vector<ThreadSteps> const& steps) {
  STEPSCOPE_CHECK(!steps.empty());
  Interval host = steps.front().when;
  for (ThreadSteps const& of_thread : steps)
    host = {std::min(host.begin, of_thread.when.begin), std::max(host.end, of_thread.when.end)};
  constexpr int64_t kNever = std::numeric_limits<int64_t>::min();
  struct DeviceWork {
    int64_t end_before = kNever;
    std::optional<Interval> in_steps;
  };
  std::map<int32_t, DeviceWork> devices;
  for (uint32_t row = 0; row < trace.event_count(); ++row) {
    EventId const launch = trace.columns().link[row];
    if (!is_device_op(trace.kind(row)) || !launch.valid()) continue;
    DeviceWork& device = devices[trace.track(row).device];
    Launched const launched = place_of_launch(trace, launch.value, steps);
    if (launched == Launched::kBefore) device.end_before = std::max(device.end_before, trace.end(row));
    if (launched != Launched::kWithin) continue;
    if (!device.in_steps) device.in_steps = Interval{trace.start(row), trace.end(row)};
    device.in_steps->begin = std::min(device.in_steps->begin, trace.start(row));
    device.in_steps->end = std::max(device.in_steps->end, trace.end(row));
  }
  std::optional<Interval> work;
  for (auto const& [id, device] : devices) {
    if (!device.in_steps) continue;
    // One ns earlier, so that the op that ended there is in it. Before any work, the host's begin is the step's.
    int64_t const before = device.end_before == kNever ? host.begin : device.end_before - 1;
    Interval const needed{std::min(before, device.in_steps->begin), device.in_steps->end};
    work = work ? Interval{std::min(work->begin, needed.begin), std::max(work->end, needed.end)} : needed;
  }
  if (!work) return {host, host};
  return {{std::min(host.begin, work->begin), host.end}, *work};
}

}  // namespace stepscope::model
