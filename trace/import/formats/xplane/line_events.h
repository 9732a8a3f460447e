// The events of a piece of a line, decoded as far as a piece alone allows. Pieces are decoded at
// the same time; space_trace.h puts them together.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "trace/import/formats/xplane/plane_tables.h"
#include "trace/import/formats/xplane/space_index.h"
#include "trace/model/event_batch.h"

namespace stepscope::import {

/// What a line of a plane is to us.
enum class LineRole : uint8_t {
  kThread,    ///< of the host
  kStream,    ///< device ops, by launch
  kOps,       ///< the operations of compiled programs, one after the other
  kAsyncOps,  ///< operations that run in parallel with kOps
  kSteps,     ///< of a device
  kRanges,    ///< annotations of a device: programs, scopes
  kCounters,  ///< of a device
  kOverhead,  ///< of the profiler, and device ops of the stream that it is of
  kDerived    ///< says again what other lines say
};

/// What the events of a piece have in common.
struct PieceContext {
  LineRole role = LineRole::kRanges;
  PlaneTables const* tables = nullptr;
  int64_t begin_ns = 0;  ///< of the line, trace time
  int32_t device = -1;
};

/// Names are places in EventTable::metadata(); times are trace time.
struct PieceEvents {
  /// An operation that runs in parallel with others, or its begin or end.
  struct AsyncOp {
    int64_t start, end;
    uint32_t name;
  };
  struct DeviceStep {
    int64_t start, dur;
    uint32_t name;
    int64_t number;  ///< −1 = not in the profile
  };
  /// What a call says of the copy that it enqueues.
  struct CalledCopy {
    uint64_t correlation;
    model::CopyDetail detail;
  };

  model::EventBatch rows;
  model::EventBatch beside;  ///< ranges that enclose operations; overhead of the profiler
  std::vector<AsyncOp> async;
  std::vector<DeviceStep> steps;
  std::vector<CalledCopy> copies;
  bool has_host_steps = false;
  uint64_t aggregated = 0;    ///< sums over events: have no place in time
  uint64_t unnamed = 0;       ///< refer to a name that is not there
  uint64_t unknown = 0;       ///< not modelled
  uint64_t broken = 0;        ///< end in something that is no field
  uint64_t whole_graphs = 0;  ///< launches of CUDA graphs that are one event
};

PieceEvents read_piece(LinePiece const& piece, PieceContext const& context);

/// ps → ns, to the nearest, halves up: times that are equal stay equal, and none passes another. So
/// intervals that touch still do, and a union is off by at most a nanosecond in all of each of its
/// parts.
constexpr int64_t ns_of_ps(int64_t ps) {
  constexpr int64_t kPsPerNs = 1000;
  int64_t whole = ps / kPsPerNs, rest = ps % kPsPerNs;
  if (rest < 0) {
    rest += kPsPerNs;
    --whole;
  }
  return whole + (2 * rest >= kPsPerNs ? 1 : 0);
}

/// a + b, a − b; the farthest that there is where a damaged trace goes beyond: the builder moves
/// such events, and counts them.
constexpr int64_t saturated_sum(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? INT64_MIN : INT64_MAX;
}
constexpr int64_t saturated_difference(int64_t a, int64_t b) {
  int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return a < 0 ? INT64_MIN : INT64_MAX;
}

}  // namespace stepscope::import
