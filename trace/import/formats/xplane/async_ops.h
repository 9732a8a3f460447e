// Operations that run in parallel with others: their begins and ends, which a device records as two
// short operations, become one.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/import/formats/xplane/line_events.h"

namespace stepscope::import {

using AsyncOp = PieceEvents::AsyncOp;

/// Sorts by start. An end belongs to the begin of the same operation with the same number, else to
/// the oldest begin of the same operation: from then to the end it ran. What has no other half
/// stays as it is.
std::vector<AsyncOp> pair_async_ops(std::vector<AsyncOp> ops,
                                    std::vector<EventMetadata> const& metadata);

/// Adds sends and receives to a device's line of operations that run in parallel with the core.
/// They come from the begins and ends on the core, where the line has no transfers. Their begins
/// are not called so, and whether such a line has them is not known.
void add_transfers(std::vector<AsyncOp>& line, std::vector<AsyncOp> const& parts,
                   std::vector<EventMetadata> const& metadata);

/// Takes the first lane that is free when the operation begins: on one stream nothing overlaps.
/// `ends`: of each lane the last end. It grows by one where no lane is free, to kMostLanes.
size_t free_lane(std::vector<int64_t>& ends, AsyncOp const& op);
/// No core has as many in flight.
inline constexpr size_t kMostLanes = 64;

}  // namespace stepscope::import
