// What calls of CUDA allocated and freed (CUDA_GPU_MEMORY_USAGE_EVENTS), with what each device held
// after each: live bytes, and bytes held from the system where pools hold more.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "trace/base/hash_number.h"
#include "trace/import/formats/nsys/processes.h"

namespace stepscope::import::nsys {

struct MemoryChange {
  int64_t start = 0;  ///< trace time
  uint64_t correlation = 0;
  model::MemoryDetail detail;
  bool is_taken = false;  ///< the row of its call has it
};

/// The changes of one process, in the order of time.
struct MemoryChanges {
  std::vector<MemoryChange> changes;
  std::unordered_map<uint64_t, size_t, base::HashNumber>
      by_correlation;  ///< the first of each call

  /// The change that a call made; null where it changed nothing.
  MemoryChange* of_call(uint64_t correlation) {
    auto const found = by_correlation.find(correlation);
    return found == by_correlation.end() ? nullptr : &changes[found->second];
  }
};

std::map<Process*, MemoryChanges> read_memory_table(Processes& processes);
/// Rows for the changes that no call took.
void add_changes_without_call(std::map<Process*, MemoryChanges> const& memory,
                              Processes& processes);

}  // namespace stepscope::import::nsys
