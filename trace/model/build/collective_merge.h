// Which collective a kernel carries, with its size and partners: from the calls that a
// communication library reports on the threads that enqueue them. The rule and why it holds:
// docs/design/decisions/0008-collective-kernels.md.
#pragma once

#include <span>
#include <vector>

#include "trace/model/event_batch.h"
#include "trace/model/string_table.h"
#include "trace/model/trace.h"

namespace stepscope::model {

/// The longest delay between a kernel's launch and the report of its plan's calls. A thread that is
/// interrupted just there loses its match; a plan without a kernel does not take an older one.
inline constexpr int64_t kMaxPlanDelayNs = 1'000'000;

/// Turns the kernels that carry collective calls into collectives with the calls' details, and
/// gives the calls their kernel's correlation. `batches` are the tracks' rows in any order. A call
/// whose kernel is not found stays as it is. False when there are no calls: nothing changes.
bool merge_collective_calls(std::span<Track const> tracks,
                            std::vector<std::vector<EventBatch>>& batches);

/// Kernels that NCCL named as its own and that no call of it is known to run.
struct UnexplainedKernels {
  uint64_t computing = 0;      ///< of files whose tracer did not know them by their names
  uint64_t communicating = 0;  ///< of unknown size and partners
};
/// After the merge. `track_begin`: by track its first row, and the number of all rows. Without
/// `has_calls` no call is known at all, and no kernel that communicates counts.
UnexplainedKernels count_unexplained_kernels(StringTable const& strings,
                                             std::span<Track const> tracks,
                                             Trace::Columns const& columns,
                                             DetailColumn<CollectiveDetail> const& details,
                                             std::span<uint32_t const> track_begin, bool has_calls);

/// What one kernel does that runs these calls (at least one): sums of bytes and waits; what the
/// calls do not agree in is unknown. A send to and a receive from every participant are an
/// all-to-all.
CollectiveDetail combine(std::span<CollectiveDetail const> calls);

}  // namespace stepscope::model
