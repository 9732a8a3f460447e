#include "trace/model/derive/slice.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>

#include "trace/base/check.h"
#include "trace/model/build/row_copy.h"
#include "trace/model/build/trace_builder.h"

namespace stepscope::model {
namespace {

bool touches(Trace const& trace, uint32_t row, Interval window) {
  int64_t const start = trace.start(row);
  // What takes no time lies in the window as an instant does.
  return start < window.end && (trace.end(row) > window.begin || start >= window.begin);
}

/// Which rows of a trace a slice keeps.
class RowChoice {
 public:
  RowChoice(Trace const& trace, SliceWindow const& window)
      : trace_(trace), kept_(trace.event_count()) {
    for (uint32_t row = 0; row < trace.event_count(); ++row)
      kept_[row] =
          touches(row, trace.track(row).kind == TrackKind::kThread ? window.host : window.device) ||
          (explains_by_itself(trace.kind(row)) && touches(row, window.device));

    auto const next =
        window.with_next_ops ? next_ops(trace, window.device).rows : std::vector<uint32_t>();
    if (window.with_next_ops) keep_until_launched(next, window);

    keep_linked();
    for (uint32_t track = 0; track < trace.tracks().size(); ++track)
      if (trace.tracks()[track].kind == TrackKind::kThread)
        keep_enclosing(trace.rows_of(TrackId{track}));

    keep_memory_before(std::min(window.host.begin, window.device.begin));
    // Not before: the step that encloses them is not wanted.
    for (uint32_t const row : late_) kept_[row] = true;
    for (uint32_t const row : next) keep_next(row, window.device);
  }
  [[nodiscard]] bool is_kept(uint32_t row) const { return kept_[row]; }

 private:
  /// Calls that explain an idle device wherever the thread's launches have got to (DEFINITIONS,
  /// "Idle causes").
  static bool explains_by_itself(EventKind kind) {
    return kind == EventKind::kMemory || kind == EventKind::kOverhead;
  }

  [[nodiscard]] bool touches(uint32_t row, Interval window) const {
    return model::touches(trace_, row, window);
  }

  /// What threads did behind their window, until the last op was launched that begins in the
  /// device's window or ends its idle time: that tells what kept the launch.
  void keep_until_launched(std::vector<uint32_t> const& next, SliceWindow const& window) {
    int64_t until = window.host.end;
    auto const extend = [&](uint32_t row) {
      EventId const launch = trace_.columns().link[row];
      if (launch.valid())
        until = std::max(until, std::min(trace_.end(launch.value), window.device.end));
    };
    for (uint32_t row = 0; row < trace_.event_count(); ++row)
      if (kept_[row] && is_device_op(trace_.kind(row))) extend(row);
    for (uint32_t const row : next) extend(row);
    if (until == window.host.end) return;

    Interval const late{window.host.end, until};
    for (uint32_t row = 0; row < trace_.event_count(); ++row) {
      EventKind const kind = trace_.kind(row);
      bool const is_of_thread = trace_.track(row).kind == TrackKind::kThread;
      if (is_of_thread && kind != EventKind::kLaunch && kind != EventKind::kStep &&
          touches(row, late))
        late_.push_back(row);
    }
  }

  /// The op with its launch, that launch's first op, and the waits of its stream since the window.
  void keep_next(uint32_t row, Interval device) {
    for (uint32_t wait = row; wait-- > trace_.rows_of(trace_.columns().track[row]).first &&
                              trace_.start(wait) >= device.end;)
      kept_[wait] = true;
    kept_[row] = true;
    EventId const launch = trace_.columns().link[row];
    if (!launch.valid()) return;
    kept_[launch.value] = true;
    if (EventId const first = trace_.columns().link[launch.value]; first.valid())
      kept_[first.value] = true;
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

  /// Everything of a thread that encloses a kept row. Rows come by start: from the last to the
  /// first, a row encloses one of those behind it when it does not end before the one that ends
  /// first.
  void keep_enclosing(Trace::Rows rows) {
    int64_t first_end = std::numeric_limits<int64_t>::max();
    for (uint32_t row = rows.last; row-- > rows.first;) {
      // An instant lies in what goes on after it.
      if (kept_[row])
        first_end = std::min(first_end, std::max(trace_.end(row), trace_.start(row) + 1));
      kept_[row] = kept_[row] || first_end <= trace_.end(row);
    }
  }

  /// Where each device's memory stood at `begin`: the calls that allocated what was live then, and
  /// the last call before, which has the totals. A call takes effect at its end.
  void keep_memory_before(int64_t begin) {
    struct Memory {
      std::unordered_map<uint64_t, uint32_t> allocated_by;  ///< of live blocks, by address
      uint32_t last_call = 0;
    };

    std::vector<uint32_t> calls;
    for (uint32_t row = 0; row < trace_.event_count(); ++row)
      if (trace_.kind(row) == EventKind::kMemory && trace_.end(row) <= begin) calls.push_back(row);
    std::stable_sort(calls.begin(), calls.end(),
                     [&](uint32_t a, uint32_t b) { return trace_.end(a) < trace_.end(b); });

    std::map<int32_t, Memory> devices;
    for (uint32_t const row : calls) {
      auto const& detail = trace_.detail<MemoryDetail>(row);
      if (detail.op == MemoryOp::kUnknown) continue;
      Memory& memory = devices[detail.device];
      memory.last_call = row;
      memory.allocated_by.erase(detail.address);
      if (detail.op == MemoryOp::kAllocate) memory.allocated_by.emplace(detail.address, row);
    }

    for (auto const& [id, memory] : devices) {
      kept_[memory.last_call] = true;
      for (auto const& [address, row] : memory.allocated_by) kept_[row] = true;
    }
  }

  Trace const& trace_;
  std::vector<bool> kept_;
  std::vector<uint32_t> late_;  ///< of threads, behind their window
};

/// Texts of one trace as ids of the builder of another, each interned when it is first used.
class StringMap {
 public:
  StringMap(Trace const& from, TraceBuilder& to)
      : from_(from), to_(to), ids_(from.strings().size()) {}
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

/// In the time of its own thread's steps; of a thread without steps, in that of any.
bool is_launched_within(Trace const& trace, uint32_t launch,
                        std::vector<ThreadSteps> const& steps) {
  auto const contains = [&](Interval when) {
    return when.begin <= trace.start(launch) && trace.start(launch) < when.end;
  };

  Interval all = steps.front().when;
  for (ThreadSteps const& of_thread : steps) {
    if (of_thread.thread == trace.columns().track[launch]) return contains(of_thread.when);
    all = {std::min(all.begin, of_thread.when.begin), std::max(all.end, of_thread.when.end)};
  }

  return contains(all);
}

/// The rows of each stream with an op that touches the window.
std::vector<Trace::Rows> streams_at_work(Trace const& trace, Interval window) {
  std::vector<Trace::Rows> result;

  for (uint32_t track = 0; track < trace.tracks().size(); ++track) {
    if (trace.tracks()[track].kind != TrackKind::kStream) continue;
    Trace::Rows const rows = trace.rows_of(TrackId{track});

    for (uint32_t row = rows.first; row < rows.last && trace.start(row) < window.end; ++row) {
      if (!is_device_op(trace.kind(row)) || !touches(trace, row, window)) continue;
      result.push_back(rows);
      break;
    }
  }

  return result;
}

/// When each device's communication that touches the window is over: at least the window's end.
/// Keyed by device.
std::map<int32_t, int64_t> ends_of_communication(Trace const& trace, Interval window,
                                                 std::vector<Trace::Rows> const& streams) {
  std::map<int32_t, int64_t> result;
  for (Trace::Rows const rows : streams) {
    int64_t& until = result.try_emplace(trace.track(rows.first).device, window.end).first->second;
    for (uint32_t row = rows.first; row < rows.last && trace.start(row) < window.end; ++row)
      if (kind_info(trace.kind(row)).op_class == OpClass::kComm && touches(trace, row, window))
        until = std::max(until, trace.end(row));
  }
  return result;
}

}  // namespace

NextOps next_ops(Trace const& trace, Interval window) {
  NextOps result;
  int64_t const last_begin = last_begin_of_next(window);
  auto const working = streams_at_work(trace, window);
  auto const communicates_until = ends_of_communication(trace, window, working);

  for (Trace::Rows const rows : working) {
    int64_t const until = communicates_until.at(trace.track(rows.first).device);
    bool is_there = false;
    for (uint32_t row = rows.first; row < rows.last && trace.start(row) <= last_begin && !is_there;
         ++row) {
      if (!is_device_op(trace.kind(row)) || trace.start(row) < window.end) continue;
      result.rows.push_back(row);
      is_there = trace.start(row) >= until;
    }
    result.are_all_there = result.are_all_there && is_there;
  }
  return result;
}

int64_t last_begin_of_next(Interval window) {
  constexpr int64_t kWindows = 4;
  int64_t const begin = std::clamp(window.begin, -kMaxTime, kMaxTime),
                end = std::clamp(window.end, begin, kMaxTime);
  return end - begin < (kMaxTime - end) / kWindows ? end + kWindows * (end - begin) : kMaxTime;
}

Trace slice(Trace const& trace, SliceWindow const& window, WholeSteps const& whole) {
  RowChoice const choice(trace, window);

  TraceBuilder builder;
  builder.info() = trace.info();
  WholeSteps& of_part = builder.info().whole_steps;
  if (of_part.count == 0) of_part = whole;
  // A part of a part was made for what it was made for last. One of all its time is made for the
  // same as before.
  if (whole.chosen_first <= whole.chosen_last) {
    of_part.chosen_first = whole.chosen_first;
    of_part.chosen_last = whole.chosen_last;
  }
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

  struct DeviceWork {
    std::optional<int64_t> end_before;  ///< when it became idle, if it was when the steps began
    bool busy_at_begin = false;
    std::optional<Interval> in_steps;
  };

  std::map<int32_t, DeviceWork> devices;
  for (uint32_t row = 0; row < trace.event_count(); ++row) {
    if (!is_device_op(trace.kind(row))) continue;
    DeviceWork& device = devices[trace.track(row).device];
    Interval const when{trace.start(row), trace.end(row)};

    if (when.end <= host.begin)
      device.end_before = std::max(device.end_before.value_or(when.end), when.end);
    device.busy_at_begin =
        device.busy_at_begin || (when.begin < host.begin && host.begin < when.end);

    EventId const launch = trace.columns().link[row];
    if (!launch.valid() || !is_launched_within(trace, launch.value, steps)) continue;
    Interval const known = device.in_steps.value_or(when);
    device.in_steps = {std::min(known.begin, when.begin), std::max(known.end, when.end)};
  }

  std::optional<Interval> work;
  for (auto const& [id, device] : devices) {
    if (!device.in_steps) continue;
    // One ns earlier, so that the op that ended there is in it.
    bool const was_idle = !device.busy_at_begin && device.end_before;
    int64_t const begin =
        std::min(was_idle ? *device.end_before - 1 : host.begin, device.in_steps->begin);
    work = work ? Interval{std::min(work->begin, begin), std::max(work->end, device.in_steps->end)}
                : Interval{begin, device.in_steps->end};
  }

  if (!work) return {host, host, true};
  return {{std::min(host.begin, work->begin), host.end}, *work, true};
}

}  // namespace stepscope::model
