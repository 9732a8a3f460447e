// The places of WaitAttribution::ActivityTimes.
#pragma once

#include <cstddef>

#include "analyzer/results/idle_stats.h"

namespace stepscope::analyzer {

inline constexpr size_t kDoesCompute = 0, kDoesTransfer = 1, kDoesCopy = 2, kFirstIdleActivity = 3;
constexpr size_t activity_index(IdleCause cause) {
  return kFirstIdleActivity + static_cast<size_t>(cause);
}

/// Calls of one communicator end in their order, and few are under way at once: a search stops
/// after so many.
inline constexpr int kMostUnderWay = 8;

}  // namespace stepscope::analyzer
