// Allocations of ROCm, with what each device held after each.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/model/details.h"

namespace stepscope::import::rocm {

struct MemoryRecord {
  int64_t start = 0, dur = 0;
  uint64_t thread = 0, correlation = 0;
  uint64_t agent = 0;
  model::MemoryDetail detail;  ///< without a device until it is known which agents work
};

/// Sorts the records by time and sets what the devices held. A free takes size, device and kind of
/// the allocation at its address; frees of what was never allocated change nothing.
void account_memory(std::vector<MemoryRecord>& records);

}  // namespace stepscope::import::rocm
