// How fast collectives were by the size of their message: a point a size, as they were measured, beside the fits of Analysis.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "viewer/scene/scene.h"

namespace stepscope::viewer {

/// Complete collectives of one operation and size on one communicator.
struct BandwidthPoint {
  uint64_t communicator = 0;
  model::CollectiveOp op = model::CollectiveOp::kUnknown;
  uint64_t bytes = 0;
  uint64_t count = 0;
  double low = 0, median = 0, high = 0;  ///< bus bandwidth, GB/s
  double bus_factor = 1;                 ///< bus bandwidth / (bytes / transfer)
  uint32_t slowest = 0;                  ///< index into Analysis::collectives
};

/// By (op, communicator, bytes). O(n log n) in collectives.
std::vector<BandwidthPoint> bandwidth_by_size(analyzer::Analysis const& analysis);

/// What the fit expects of a message of this size, GB/s of bus bandwidth.
double fitted_bandwidth(analyzer::LinkFit const& fit, double bus_factor, double bytes);

}  // namespace stepscope::viewer
