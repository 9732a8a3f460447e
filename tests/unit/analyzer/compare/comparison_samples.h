// Measurements of synthetic runs and of runs written step by step, for tests of comparisons.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "analyzer/analyze.h"
#include "analyzer/compare/change_parts.h"
#include "analyzer/compare/comparison.h"
#include "tests/support/synthetic_run.h"

namespace stepscope::analyzer::compare_testing {

inline RunMeasurements sample_of(support::SyntheticOptions options, uint32_t seed = 1) {
  options.seed = seed;
  model::Run const run = support::make_synthetic_run(options);
  RunMeasurements sample = sample_run(run, analyze(run));
  sample.name = "made";
  return sample;
}

inline support::SyntheticOptions steady_job() {
  support::SyntheticOptions options;
  options.steps = 24;
  return options;
}

inline int64_t part_of(Comparison const& comparison, ChangePart part) {
  return comparison.parts_ns[static_cast<size_t>(part)];
}
inline int64_t idle_of(Comparison const& comparison, IdleCause cause) {
  return comparison
      .parts_ns[static_cast<size_t>(ChangePart::kFirstIdle) + static_cast<size_t>(cause)];
}
inline Metric const& metric_of(Comparison const& comparison, MetricFamily family,
                               std::string_view name) {
  for (Metric const& metric : comparison.metrics)
    if (metric.family == family && metric.name == name) return metric;
  ADD_FAILURE() << "no metric " << name;
  return comparison.metrics.front();
}
inline bool has_caveat(Comparison const& comparison, Caveat caveat) {
  for (CaveatStats const& facts : comparison.caveats)
    if (facts.caveat == caveat) return true;
  return false;
}

/// The parts sum to the change of the mean step to the ns, and each part agrees with its metric.
inline void expect_parts_sum_up(Comparison const& comparison) {
  EXPECT_EQ(std::accumulate(comparison.parts_ns.begin(), comparison.parts_ns.end(), int64_t{0}),
            comparison.candidate.mean_ns - comparison.base.mean_ns);

  std::map<std::string, double> changed;
  for (Metric const& metric : comparison.metrics)
    if (metric.family == MetricFamily::kPart)
      changed[metric.name] = metric.change.candidate_mean - metric.change.base_mean;

  double of_compute = 0;
  for (size_t i = 0; i < kChangePartCount; ++i) {
    auto const part = static_cast<ChangePart>(i);
    auto const ns = static_cast<double>(comparison.parts_ns[i]);
    if (part <= ChangePart::kKernelOverlap)
      of_compute += ns;
    else
      EXPECT_NEAR(ns, changed[to_string(part)], 1.5) << to_string(part);
  }
  EXPECT_NEAR(of_compute, changed["compute"], 6);
}

/// Measurements of one device that computes for `compute` ns of each step in one kernel and waits
/// for input in the rest.
inline RunMeasurements plain_sample(std::vector<double> const& step_ns, double compute,
                                    double calls = 10, std::string const& kernel = "gemm") {
  RunMeasurements sample;
  sample.name = "plain";
  sample.devices = sample.processes = 1;
  sample.step_ns = step_ns;

  sample.parts_ns.assign(kStepPartCount, std::vector<double>(step_ns.size(), 0));
  RunMeasurements::Kernel of_steps{kernel, {}, {}};
  for (size_t s = 0; s < step_ns.size(); ++s) {
    sample.steps.push_back(static_cast<int64_t>(s));
    sample.parts_ns[static_cast<size_t>(StepPart::kCompute)][s] = compute;
    sample.parts_ns[static_cast<size_t>(idle_part(IdleCause::kInput))][s] = step_ns[s] - compute;
    of_steps.ns.push_back(compute);
    of_steps.calls.push_back(calls);
  }
  sample.kernels.push_back(of_steps);
  sample.kernel_names.insert(kernel);
  double const mean = std::accumulate(step_ns.begin(), step_ns.end(), 0.0) /
                      static_cast<double>(std::max<size_t>(step_ns.size(), 1));
  sample.all_steps_ns = sample.steady_steps_ns = mean;
  return sample;
}
inline std::vector<double> steps_about(double mean, uint32_t seed, size_t count = 20) {
  std::mt19937 random(seed);
  std::normal_distribution<double> noise(mean, mean / 100);
  std::vector<double> steps(count);
  for (double& step : steps) step = std::round(noise(random));
  return steps;
}

}  // namespace stepscope::analyzer::compare_testing
