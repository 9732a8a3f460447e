// How fast collectives were by the size of their message, as measured and as the fits of Analysis
// expect.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/results/analysis.h"

namespace stepscope::analyzer {

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

/// Sorted by (op, communicator, bytes). O(n log n) in collectives.
std::vector<BandwidthPoint> bandwidth_by_size(Analysis const& analysis);

/// Bus bandwidth / algorithm bandwidth of a collective that has both; 0 without a message.
double measured_bus_factor(CollectiveStats const& collective);

/// The bus bandwidth that the fit expects for a message of this size, GB/s.
double fitted_bandwidth(LinkFit const& fit, double bus_factor, double bytes);

/// All collectives of one operation and size on one communicator, complete or not.
struct CollectiveGroup {
  uint64_t communicator = 0;
  model::CollectiveOp op = model::CollectiveOp::kUnknown;
  uint64_t bytes = 0;
  uint64_t count = 0;
  double participants = 0;  ///< mean of a collective
  int64_t transfer_median_ns = 0;
  int64_t skew_median_ns = 0;
  std::optional<double>
      bandwidth_median;  ///< bus bandwidth, GB/s; none where no collective has one
  double wait_ns = 0;    ///< mean of a participant
};

/// Sorted by (communicator, op, bytes). O(n log n) in collectives.
std::vector<CollectiveGroup> collective_groups(Analysis const& analysis);

}  // namespace stepscope::analyzer
