#include "trace/model/build/stream_overlaps.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "trace/model/kind_scan.h"

namespace stepscope::model {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::min();

/// CUPTI gives such a copy the time of the call that makes it: the call waits for the stream, then
/// copies.
bool is_copied_by_host(Trace const& trace, uint32_t op) {
  EventId const launch = trace.columns().link[op];
  if (trace.kind(op) != EventKind::kMemcpy || !launch.valid()) return false;
  return trace.detail<CopyDetail>(op).direction == CopyDirection::kHostToHost &&
         trace.start(launch.value) <= trace.start(op) && trace.end(op) <= trace.end(launch.value);
}

/// Programmatic dependent launch: the attribute that asks for it is not recorded, the call is.
bool may_begin_early(Trace const& trace, uint32_t op) {
  EventId const launch = trace.columns().link[op];
  bool const is_kernel =
      trace.kind(op) == EventKind::kKernel || trace.kind(op) == EventKind::kCollective;
  return is_kernel && launch.valid() &&
         trace.name(launch.value).find("LaunchKernelEx") != std::string_view::npos;
}

uint64_t count_on_track(Trace const& trace, Trace::Rows rows) {
  uint64_t faults = 0, launch = 0;
  int64_t end_of_launch = kNever, end_of_others = kNever;

  for_each_op_of(trace.columns(), rows, [&](uint32_t op) {
    if (trace.start(op) == trace.end(op) || is_copied_by_host(trace, op)) return;
    uint64_t const correlation = trace.columns().correlation[op];
    if (correlation == 0 || correlation != launch) {
      end_of_others = std::max(end_of_others, std::exchange(end_of_launch, kNever));
      launch = correlation;
    }

    faults += trace.start(op) < end_of_others && !may_begin_early(trace, op) ? 1 : 0;
    end_of_launch = std::max(end_of_launch, trace.end(op));
  });
  return faults;
}

}  // namespace

uint64_t count_faulty_overlaps(Trace const& trace) {
  uint64_t faults = 0;
  for (uint32_t track = 0; track < trace.tracks().size(); ++track)
    faults += count_on_track(trace, trace.rows_of(TrackId{track}));
  return faults;
}

}  // namespace stepscope::model
