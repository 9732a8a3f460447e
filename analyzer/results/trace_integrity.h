// How far the recording can be trusted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stepscope::analyzer {

/// Faults of the recording, summed over the traces' logs (model::ImportLog), and a score: 100 means
/// no fault.
struct TraceIntegrity {
  uint64_t dropped = 0, unmatched_launches = 0, unmatched_ops = 0, negative_latencies = 0,
           overlapping_slices = 0, lost_blocks = 0;
  bool truncated = false;
  std::vector<int32_t> missing_ranks;
  int32_t score = 100;
  std::vector<std::string> notes;
};

}  // namespace stepscope::analyzer
