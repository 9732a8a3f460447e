#include "analyzer/scaling/factors.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace stepscope::analyzer {
namespace {

double quotient_or_one(double part, double whole) { return whole > 0 ? part / whole : 1; }

}  // namespace

char const* to_string(ScalingFactor factor) {
  constexpr std::array kNames = {"load_balance", "comm_eff", "orchestration", "computation"};
  return kNames[static_cast<size_t>(factor)];
}

DeviceTimes device_times(std::vector<RunMeasurements> const& runs) {
  DeviceTimes means;
  for (RunMeasurements const& run : runs) {
    double const share =
        1 / static_cast<double>(run.steps.size()) / static_cast<double>(runs.size());

    double most_useful = 0, most_active = 0, useful = 0;
    for (RunMeasurements::DeviceTime const& device : run.device_times) {
      useful += device.compute_ns / static_cast<double>(run.device_times.size());
      most_useful = std::max(most_useful, device.compute_ns);
      most_active = std::max(most_active, device.busy_ns);
    }

    means.useful_ns += useful * share;
    means.most_useful_ns += most_useful * share;
    means.most_active_ns += most_active * share;
    means.elapsed_ns += std::accumulate(run.step_ns.begin(), run.step_ns.end(), 0.0) * share;
  }

  return means;
}

ScalingFactors scaling_factors(DeviceTimes const& times, DeviceTimes const& base, double ideal) {
  ScalingFactors factors;
  factors.by_factor = {quotient_or_one(times.useful_ns, times.most_useful_ns),
                       quotient_or_one(times.most_useful_ns, times.most_active_ns),
                       quotient_or_one(times.most_active_ns, times.elapsed_ns),
                       quotient_or_one(ideal * base.useful_ns, times.useful_ns)};
  factors.parallel = quotient_or_one(times.useful_ns, times.elapsed_ns);
  return factors;
}

std::optional<FactorBreak> first_break(std::span<ScalingFactors const> points) {
  for (size_t p = 1; p < points.size(); ++p) {
    if (points[p].efficiency_over(points[0]) > 1 - kBrokenShare) continue;

    FactorBreak worst;
    double least = std::numeric_limits<double>::infinity();

    for (size_t f = 0; f < kScalingFactorCount; ++f) {
      double const before = points[0].by_factor[f], here = points[p].by_factor[f];
      double const kept = quotient_or_one(here, before);
      if (kept >= least) continue;
      least = kept;
      worst = FactorBreak{static_cast<ScalingFactor>(f), p, before, here};
    }

    return worst;
  }
  return std::nullopt;
}

}  // namespace stepscope::analyzer
