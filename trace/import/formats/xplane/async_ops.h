// Operations that run beside others: their begins and ends, which a device tells as two short
// operations, become one.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/import/formats/xplane/line_events.h"

namespace stepscope::import {

using AsyncOp = PieceEvents::AsyncOp;

/// By start. An end belongs to the begin of the same operation with the same number, else to the
/// oldest begin of the same operation: from then to the end it ran. What has no other half stays as
/// it is.
std::vector<AsyncOp> pair_async_ops(std::vector<AsyncOp> ops, std::vector<EventFacts> const& facts);

/// To what a device's own line says of those beside the core: the sends and receives among the
/// begins and ends on the core, where the line says of none. Their begins are not called so, and
/// whether such a line has them is not known.
void add_transfers(std::vector<AsyncOp>& line, std::vector<AsyncOp> const& parts,
                   std::vector<EventFacts> const& facts);

/// The first lane that is free when the operation begins, and takes it: on one stream nothing
/// overlaps. `ends`: of the last one on each lane; grows by one where none is free, to kMostLanes.
size_t free_lane(std::vector<int64_t>& ends, AsyncOp const& op);
/// No core has as many in flight.
inline constexpr size_t kMostLanes = 64;

}  // namespace stepscope::import
