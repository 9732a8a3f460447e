#include "trace/import/open/slice_source.h"

#include <algorithm>
#include <functional>
#include <map>

namespace stepscope::import {
namespace {

using base::Expected;
using model::EventKind;
using model::Interval;
using model::SliceWindow;
using model::Trace;

/// Time that is read around an instant: long enough for a few launches.
constexpr int64_t kLeastMarginNs = 10'000'000;

bool touches(Trace const& trace, uint32_t row, Interval window) {
  return trace.start(row) < window.end &&
         (trace.end(row) > window.begin || trace.start(row) >= window.begin);
}

/// Whether each device that works in the window is seen to work before it, and each op in it has
/// its launch, if the trace has one.
bool is_complete_before(Trace const& trace, SliceWindow const& window) {
  std::map<int32_t, bool> works_before, works_within;
  for (uint32_t track = 0; track < trace.tracks().size(); ++track) {
    auto const rows = trace.rows_of(model::TrackId{track});
    bool launch_seen = false;
    for (uint32_t row = rows.first; row < rows.last; ++row) {
      if (!model::is_device_op(trace.kind(row))) continue;
      launch_seen = launch_seen || trace.columns().link[row].valid();

      int32_t const device = trace.tracks()[track].device;
      if (trace.start(row) < window.device.begin) works_before[device] = true;
      if (!touches(trace, row, window.device)) continue;
      works_within[device] = true;
      if (trace.columns().correlation[row] != 0 && !launch_seen) return false;
    }
  }

  return std::all_of(works_within.begin(), works_within.end(),
                     [&](auto const& device) { return works_before[device.first]; });
}

/// Whether each launch in the window has its ops: all launches are linked, or every stream that
/// works in the window goes on with ops of later launches.
bool is_complete_after(Trace const& trace, SliceWindow const& window) {
  bool all_linked = true;
  bool all_go_on = true;
  for (uint32_t track = 0; track < trace.tracks().size(); ++track) {
    auto const rows = trace.rows_of(model::TrackId{track});
    bool works = false;
    bool goes_on = false;
    for (uint32_t row = rows.first; row < rows.last; ++row) {
      model::EventId const link = trace.columns().link[row];
      if (trace.kind(row) == EventKind::kLaunch && trace.columns().correlation[row] != 0 &&
          touches(trace, row, window.host))
        all_linked = all_linked && link.valid();

      if (!model::is_device_op(trace.kind(row))) continue;
      works = works || touches(trace, row, window.device);
      goes_on = goes_on || (link.valid() && trace.start(link.value) >= window.host.end);
    }
    all_go_on = all_go_on && (!works || goes_on);
  }
  return all_linked || all_go_on;
}

/// Whether the next ops on each stream after the window are there, or are not wanted.
bool has_next_ops(Trace const& trace, SliceWindow const& window, int64_t read_until) {
  if (!window.with_next_ops || read_until > model::last_begin_of_next(window.device)) return true;
  return model::next_ops(trace, window.device).are_all_there;
}

/// Whether a trace that was read until `read_until` has all that the window needs after it.
bool has_end(Trace const& trace, SliceWindow const& window, int64_t read_until) {
  return window.device.end < read_until && is_complete_after(trace, window) &&
         has_next_ops(trace, window, read_until);
}

/// The margin of the next try. One damaged time can make a run of a second 73 years long, so the
/// margin grows faster after some tries.
int64_t wider(int64_t margin, int tries, int64_t most) {
  constexpr int kTriesOfDouble = 8;
  int64_t const factor = tries <= kTriesOfDouble ? 2 : 64;
  return margin > most / factor ? most : margin * factor;
}

/// Reads around `wanted`, wider and wider, until the slice equals the slice of the whole trace.
Expected<Trace> slice_around(TraceSource const& source, Interval wanted,
                             model::WholeSteps const& whole,
                             std::function<SliceWindow(Trace const&)> const& window_of) {
  Interval range = source.time_range();
  ++range.end;  // so that an instant at the end lies inside
  Interval const inside{std::clamp(wanted.begin, range.begin, range.end),
                        std::clamp(wanted.end, range.begin, range.end)};

  int64_t const most = range.length();
  int64_t margin = std::max(inside.length(), kLeastMarginNs);
  for (int tries = 1;; ++tries, margin = wider(margin, tries, most)) {
    bool const from_begin = margin >= inside.begin - range.begin;
    bool const to_end = margin >= range.end - inside.end;
    Interval const around{from_begin ? range.begin : inside.begin - margin,
                          to_end ? range.end : inside.end + margin};
    auto const trace = source.read(
        {.window = {around.begin, around.end}, .before = file::kind_bit(EventKind::kMemory)});
    if (!trace) return base::fail_with(trace);

    SliceWindow const window = window_of(**trace);
    bool const has_begin = from_begin || is_complete_before(**trace, window);
    if (has_begin && (to_end || has_end(**trace, window, around.end)))
      return model::slice(**trace, window, whole);
  }
}

}  // namespace

Expected<Trace> slice_of_steps(TraceSource const& source,
                               std::vector<model::ThreadSteps> const& steps,
                               model::WholeSteps const& whole) {
  Interval time = steps.front().when;
  for (model::ThreadSteps const& of_thread : steps)
    time = {std::min(time.begin, of_thread.when.begin), std::max(time.end, of_thread.when.end)};
  return slice_around(source, time, whole,
                      [&](Trace const& trace) { return model::window_of_steps(trace, steps); });
}

Expected<Trace> slice_of_time(TraceSource const& source, Interval time,
                              model::WholeSteps const& whole) {
  return slice_around(source, time, whole, [&](Trace const&) {
    return SliceWindow{time, time, false};
  });
}

}  // namespace stepscope::import
