// Memory of one device: capacity, peaks, owners, fragmentation, growth.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/results/memory_timeline.h"

namespace stepscope::analyzer {

/// When memory will be full, counted from the last step, if it grows on as in the measured steps.
struct MemoryForecast {
  double bytes_per_step = 0, standard_error_bytes = 0;
  /// Earliest and latest: at the bounds of the slope's 95 % interval.
  double steps = 0, earliest_steps = 0, latest_steps = 0;
  std::optional<int64_t> time_ns;  ///< `steps` at the steps' mean distance
};

/// Who holds a device's memory at an instant.
struct MemoryOwners {
  struct Owner {
    std::string name;  ///< of the allocation, else of the range around it; hostile text
    uint64_t bytes;
  };
  std::vector<Owner> owners;  ///< the largest first
  uint64_t other_bytes = 0, before_recording_bytes = 0;
};

struct MemoryStats {
  std::optional<uint64_t> capacity_bytes, peak_allocated_bytes, peak_reserved_bytes;
  /// Capacity − peak reserved; none where either is unknown, or the trace contradicts itself.
  [[nodiscard]] std::optional<uint64_t> headroom_bytes() const {
    if (!capacity_bytes || !peak_reserved_bytes || *capacity_bytes < *peak_reserved_bytes)
      return std::nullopt;
    return *capacity_bytes - *peak_reserved_bytes;
  }
  /// 1 − largest gap / (reserved − allocated), at the first instant of peak_reserved_bytes. None
  /// where gaps are unknown (metrics/memory/memory_gaps.h) or nothing is free.
  std::optional<double> fragmentation;
  /// At the instant of the measured steps with most free bytes outside the largest gap.
  std::optional<double> worst_fragmentation;
  std::optional<uint64_t> stranded_bytes;  ///< free bytes outside the largest gap, at that instant
  using Point = MemoryPoint;
  MemoryTimeline timeline;                       ///< after every allocation and free, by time
  std::array<uint64_t, 7> by_purpose_at_peak{};  ///< at the first instant of peak_allocated_bytes
  /// Slope of the per-step minimum; none with fewer than 5 steps.
  std::optional<double> floor_growth_bytes_per_step;
  std::optional<double>
      reserved_growth_bytes_per_step;  ///< slope of the reserve at the end of each step
  std::optional<MemoryForecast> floor_forecast,
      reserved_forecast;  ///< by the growth of the floors, of the reserve
  std::optional<MemoryOwners>
      peak_owners;  ///< at the first instant of peak_allocated_bytes; sum to it
  struct Growth {
    int64_t time_ns;
    uint64_t bytes;
  };
  /// Growth of the reserve in measured steps for allocations that took no more than was free in
  /// total. None where the trace has no reserve.
  std::optional<uint64_t> fragmented_growth_bytes;
  std::vector<Growth> fragmented_growth;  ///< the largest growths, at most kMaxEvidence
  /// Allocations in measured steps for which the allocator released cached memory first.
  std::optional<uint64_t> retries;
  std::vector<int64_t> retries_at;  ///< the first of them, at most kMaxEvidence
  std::optional<double>
      batch_factor;  ///< so many times the present batch would fill 90 % of the capacity
  /// Calls of the process that page-lock or release host memory; none without any.
  std::optional<double> pinning_calls_per_step;
};

}  // namespace stepscope::analyzer
