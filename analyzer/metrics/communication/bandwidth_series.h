// Bus bandwidth of single collectives with the fitted line through them: points of a chart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "analyzer/results/analysis.h"

namespace stepscope::analyzer {

/// Collectives of one operation on one communicator.
struct BandwidthSeries {
  struct Point {
    double bytes;
    double bus_gbps;  ///< bus bandwidth, GB/s
  };
  uint64_t communicator = 0;
  model::CollectiveOp op = model::CollectiveOp::kUnknown;
  std::vector<Point> points;  ///< measured, in the order of Analysis::collectives
  std::vector<Point> fit;     ///< the expected bandwidth between the sizes; empty without a fit
};

/// Sorted by (communicator, op). A series of more than 2 · `most` points keeps every n-th, fewer
/// than 2 · `most`. Collectives without bandwidth are left out. O(n log n) in collectives.
std::vector<BandwidthSeries> bandwidth_series(Analysis const& analysis, size_t most);

}  // namespace stepscope::analyzer
