// How far the clocks of different hosts are apart (DEFINITIONS, "Clocks"). A collective ends on all
// participants at about the same time, whenever each began: its ends tie clocks together.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "trace/model/derive/clock_drift.h"

namespace stepscope::import {

/// 18 years, so that differences of differences fit into 64 bits.
inline constexpr int64_t kMostInstant = int64_t{1} << 59;

/// A collective ended somewhere.
struct CollectiveEnd {
  uint32_t collective = 0;  ///< the same for all participants
  uint32_t clock = 0;       ///< whose clock it is, from 0
  int64_t end_ns = 0;       ///< by that clock; within ±kMostInstant
};

/// True time = drift.corrected(the clock's time) + offset_ns.
struct ClockCorrection {
  int64_t offset_ns = 0;
  model::ClockDrift drift;
  bool is_fitted = false;  ///< false: no collective ties it to another clock; nothing is corrected
  /// Clocks that collectives tie together share a number, in the order of each group's first clock.
  /// Ends are comparable within a group only.
  uint32_t group = 0;

  [[nodiscard]] int64_t operator()(int64_t instant) const {
    return drift.corrected(instant) + offset_ns;
  }
};

/// How far ends of the same collective lie from their median.
struct ClockResiduals {
  int64_t median_ns = 0, p95_ns = 0;
  uint64_t collectives = 0;  ///< that ended on several clocks
};

/// Corrections of `clocks` clocks, by which collectives end together. The first clock of each group
/// keeps its time. Robust: a quarter of wrong ends, or an end that is late by seconds, changes
/// little. A drift is corrected only if it is well above the scatter of the ends. `ends`: grouped
/// by collective. O(n log n).
std::vector<ClockCorrection> fit_clocks(uint32_t clocks, std::span<CollectiveEnd const> ends);

/// The residuals of these corrections; nothing when no collective ended on several clocks.
std::optional<ClockResiduals> residuals(std::span<ClockCorrection const> clocks,
                                        std::span<CollectiveEnd const> ends);

}  // namespace stepscope::import
