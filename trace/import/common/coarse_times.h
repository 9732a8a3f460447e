// Traces that know how long collectives took on the device, but not when: they are placed where
// they can have run at the latest. Their ends must not be taken for when a collective ended, as the
// fit of the clocks does.
#pragma once

#include <algorithm>
#include <string_view>

#include "trace/model/trace.h"

namespace stepscope::import {

inline constexpr std::string_view kCollectiveTimesFact = "collective times";
inline constexpr std::string_view kLatestTimes = "the latest possible, durations are exact";

inline bool has_coarse_times(model::TraceInfo const& info) {
  return std::any_of(info.facts.begin(), info.facts.end(), [](auto const& fact) {
    return fact.first == kCollectiveTimesFact && fact.second == kLatestTimes;
  });
}

}  // namespace stepscope::import
