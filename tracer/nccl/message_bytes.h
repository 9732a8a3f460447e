// How large a collective is (DEFINITIONS, Communication): message bytes from what NCCL says of a
// call.
#pragma once

#include <cstdint>

#include "tracer/nccl/record_layout.h"

namespace stepscope::tracer::nccl {

/// The whole array for all-gather and reduce-scatter (NCCL counts one rank's share), the buffer for
/// the others. 0 = unknown: the type is, or the number of `ranks` (0) where it counts and NCCL did
/// not say the traffic either.
uint64_t message_bytes(Call const& call, uint32_t ranks);

}  // namespace stepscope::tracer::nccl
