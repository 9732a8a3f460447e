// Measurements of runs written step by step, for tests of the gate.
#pragma once

#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "analyzer/compare/run_sample.h"

namespace stepscope::analyzer::gate_testing {

/// A run of one device that computes for nine tenths of each step in one kernel and waits for its
/// input for the rest.
inline RunMeasurements measured_run(std::vector<double> const& step_ns,
                                    std::string const& name = "made") {
  RunMeasurements run;
  run.name = name;
  run.command = "python3 train.py";
  run.device_names = {"NVIDIA H100"};
  run.devices = run.processes = 1;
  run.step_source = StepSource::kAnnotation;
  run.step_ns = step_ns;
  run.parts_ns.assign(kStepPartCount, std::vector<double>(step_ns.size(), 0));

  RunMeasurements::Kernel kernel{"gemm", {}, {}};
  for (size_t s = 0; s < step_ns.size(); ++s) {
    run.steps.push_back(static_cast<int64_t>(s));
    double const compute = std::round(step_ns[s] * 0.9);
    run.parts_ns[static_cast<size_t>(StepPart::kCompute)][s] = compute;
    run.parts_ns[static_cast<size_t>(idle_part(IdleCause::kInput))][s] = step_ns[s] - compute;
    kernel.ns.push_back(compute);
    kernel.calls.push_back(10);
  }

  run.kernels = {kernel};
  run.kernel_names = {"gemm"};
  run.kernel_calls = 10;
  run.allocated_bytes.assign(step_ns.size(), 2e9);
  run.peak_allocated_bytes = 3e9;
  if (!step_ns.empty()) run.p95_ns = *std::max_element(step_ns.begin(), step_ns.end());
  if (!step_ns.empty())
    run.all_steps_ns = run.steady_steps_ns =
        std::accumulate(step_ns.begin(), step_ns.end(), 0.0) / static_cast<double>(step_ns.size());
  return run;
}

/// `count` values about `mean`, normal, whole.
inline std::vector<double> noisy(double mean, double deviation, size_t count,
                                 std::mt19937_64& random) {
  std::normal_distribution<double> noise(0, 1);  // deviations of 0 are not for it
  std::vector<double> values(count);
  for (double& value : values) value = std::round(mean + deviation * noise(random));
  return values;
}
inline std::vector<double> noisy(double mean, double deviation, size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  return noisy(mean, deviation, count, random);
}

}  // namespace stepscope::analyzer::gate_testing
