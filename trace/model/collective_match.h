// Which collectives on different devices are one (DEFINITIONS, "Communication"): those with the same communicator and sequence
// number; without a number, the n-th of the same communicator, op and bytes on each. A send is matched with its receive: without
// a number, the n-th from one rank to another with the n-th that this one receives from it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trace/model/details.h"

namespace stepscope::model {

/// One of a device's collectives.
struct DeviceCollective {
  uint32_t device = 0;  ///< any number, another one for each device of the run
  CollectiveDetail const* detail = nullptr;
};

struct CollectiveMatch {
  uint32_t collective = 0;  ///< the same for all participants; from 0, in the order in which they are first seen
  uint64_t number = 0;      ///< the sequence, or the order where there is none
};

/// Beside `collectives`: the devices' one after the other, each device's by start. What cannot be matched is alone: a send or
/// receive without number of which it is not known who takes part; a collective of an unknown communicator that has fewer
/// participants than there are devices, so that there must be several communicators. O(n).
std::vector<CollectiveMatch> match_collectives(std::span<DeviceCollective const> collectives);

}  // namespace stepscope::model
