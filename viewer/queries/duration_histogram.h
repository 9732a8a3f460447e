// How long the calls of one name took: counts by duration, on a logarithmic axis.
#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "viewer/event_store/statistics.h"
#include "viewer/scene/scene.h"

namespace stepscope::viewer {

struct DurationHistogram {
  struct Bin {
    int64_t from_ns = 0, until_ns = 0;  ///< both included
    uint64_t count = 0;
    int64_t total_ns = 0;
  };
  std::vector<Bin> bins;  ///< by duration; together all calls
  uint64_t count = 0;
  int64_t shortest_ns = 0, longest_ns = 0, median_ns = 0;
};

/// Device ops of that name on the device. O(the device's ops). Told to stop, it returns nothing.
DurationHistogram duration_histogram(Scene const& scene, HistogramKey const& key,
                                     std::stop_token const& stop = {});

}  // namespace stepscope::viewer
