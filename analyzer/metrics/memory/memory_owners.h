// Who holds a device's memory at an instant (DEFINITIONS, "Memory"). An owner is the name of the
// allocation where it has one of its own, else the innermost range around the call on its thread.
#pragma once

#include <utility>
#include <vector>

#include "analyzer/results/analysis.h"

namespace stepscope::analyzer {

/// A live block: the row of the call that allocated it.
struct LiveBlock {
  uint32_t row;
  uint64_t bytes;
};

/// Owners by bytes, then name; the largest kMostOwners of them, the rest as `other_bytes`. The part
/// of `allocated_bytes` that no block holds was allocated before the recording. None where blocks
/// hold more than that: then frees are missing. O(events of the threads that allocated).
std::optional<MemoryOwners> owners_of(model::Trace const& trace, std::vector<LiveBlock> blocks,
                                      uint64_t allocated_bytes);
/// As many as a person reads.
inline constexpr size_t kMostOwners = 20;

}  // namespace stepscope::analyzer
