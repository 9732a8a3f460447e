// How the parts of a step, its kernels and its collectives grow with the number of devices.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/compare/run_sample.h"

namespace stepscope::analyzer {

/// b of value ≈ a · n^b, by least squares of the logarithms of (n, value) where the value is
/// positive; none with fewer than two such n.
std::optional<double> growth_exponent(std::span<std::pair<double, double> const> values);

/// A kernel by number of devices, per step and device. None: not there, or not told apart in every
/// run.
struct KernelGrowth {
  std::string name;  ///< hostile text; empty: all that are not told apart everywhere
  std::vector<std::optional<double>> ns, calls;
  std::optional<double> exponent;  ///< of ns
  /// At the most devices over what it would take there if it scaled like the work; 0 where it is
  /// not at both ends.
  double lost_ns = 0;
};
/// runs: by number of devices, fewest first, each at least one. `ideal`: a device's work at the
/// most devices over that at the fewest. Sorted by |lost_ns| descending, the rest last.
std::vector<KernelGrowth> kernel_growth(
    std::vector<std::pair<uint64_t, std::vector<RunMeasurements> const*>> const& runs,
    double ideal);

/// Collectives of one operation and size by number of devices.
struct CollectiveGrowth {
  model::CollectiveOp op = model::CollectiveOp::kUnknown;
  uint64_t bytes = 0;
  std::vector<std::optional<double>> transfer_ns;  ///< mean of a collective
  std::vector<std::optional<double>> per_step;     ///< how many, of the job
  std::optional<double> exponent;                  ///< of transfer_ns
};
/// Collectives that occur at several numbers of devices, by most time in a step at the most
/// devices.
std::vector<CollectiveGrowth> collective_growth(
    std::vector<std::pair<uint64_t, std::vector<RunMeasurements> const*>> const& runs);

}  // namespace stepscope::analyzer
