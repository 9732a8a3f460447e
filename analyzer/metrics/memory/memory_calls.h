// Which events change a device's memory, and what the calls around them show: page-locked memory of
// the host, and allocators that had to empty their cache before they got more.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "trace/model/run.h"

namespace stepscope::analyzer {

struct MemoryCalls {
  std::vector<uint32_t> rows;  ///< allocations and frees of devices' memory by their end, which is
                               ///< when they take effect
  /// Rows of these allocations just before which the same thread returned memory to the system and
  /// asked for it again, or asked in vain and then returned some. A launch in between ends it.
  std::vector<uint32_t> retries;
  std::vector<int64_t> pinning;  ///< run time: ends of the calls that page-lock or release memory
                                 ///< of the host, sorted
};

/// O(events), O(calls log calls).
MemoryCalls find_memory_calls(model::RankTrace const& rank);

/// True for names by which sources call every allocation, so that they tell nothing of what was
/// allocated: cudaMalloc, [memory].
bool is_allocator_name(std::string_view name);

}  // namespace stepscope::analyzer
