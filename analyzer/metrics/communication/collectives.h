// The same collective found on all its participants, with transfer, wait, skew and bus bandwidth
// (DEFINITIONS, "Communication"). Which belong together: trace/model/derive/collective_match.h. O(n
// log n).
#pragma once

#include "analyzer/metrics/core/device_ops.h"
#include "analyzer/metrics/host/idle_causes.h"

namespace stepscope::analyzer {

/// Sorted by first start. busbw = bytes / transfer × factor, with all participants there.
std::vector<CollectiveStats> match_collectives(std::vector<DeviceOps> const& devices);

/// The collective ops of a device, in the order of its ops.
std::vector<uint32_t> collective_rows(DeviceOps const& device);

/// The row of each collective in the skeleton of a process and in its whole trace, ascending: a
/// device's collectives have one order in both. Empty where the two do not hold equally many.
std::vector<std::pair<uint32_t, uint32_t>> rows_in_whole(DeviceOps const& skeleton,
                                                         DeviceOps const& whole);

/// Beside `devices`: for each of their collective ops, by row, when the last of its peers was
/// launched.
std::vector<std::vector<PeerLaunch>> peer_launches(std::vector<CollectiveStats> const& collectives,
                                                   std::vector<DeviceOps> const& devices);

/// Beside `devices`: the union of the times in which their collectives waited, [start, end −
/// transfer) of each.
std::vector<model::IntervalSet> wait_times(std::vector<CollectiveStats> const& collectives,
                                           std::vector<DeviceOps> const& devices);

}  // namespace stepscope::analyzer
