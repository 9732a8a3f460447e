// Results of gates, for tests of their outputs: failed, unclear, a new baseline, hostile names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/analyze.h"
#include "tests/e2e/report/hostile_run.h"
#include "tests/unit/analyzer/gate/gate_samples.h"

namespace stepscope::reports {

inline analyzer::Budget budget_on(std::string const& fact, analyzer::Bound bound, double limit,
                                  uint32_t line) {
  return {fact, bound, limit, "ci/budgets.toml", line, 5};
}

/// 20 steps that differ by half a percent and are not alike in succession.
inline std::vector<double> steps_near(double mean) {
  std::vector<double> steps;
  for (int i = 0; i < 20; ++i)
    steps.push_back(mean + (i % 2 == 0 ? 1 : -1) * 25e3 + i * 7 % 20 * 1e3 - 9'500);
  return steps;
}

/// Slower by its input, one budget of each verdict.
inline analyzer::GateResult failed_gate() {
  std::vector<analyzer::RunMeasurements> const base = {
      analyzer::gate_testing::measured_run(steps_near(10e6), "base")};
  std::vector<analyzer::RunMeasurements> candidate = {
      analyzer::gate_testing::measured_run(steps_near(12e6), "new")};

  auto& input =
      candidate[0].parts_ns[static_cast<size_t>(analyzer::idle_part(analyzer::IdleCause::kInput))];
  for (size_t s = 0; s < input.size(); ++s) {
    double const compute = 9e6;
    input[s] = candidate[0].step_ns[s] - compute;
    candidate[0].parts_ns[0][s] = candidate[0].kernels[0].ns[s] = compute;
  }
  candidate[0].host_ops = {{analyzer::IdleCause::kInput, "wait for batch", 2e6}};

  analyzer::GateResult result =
      analyzer::check_runs(base, candidate,
                           {budget_on("step_time_ms", analyzer::Bound::kAtMost, 11, 3),
                            budget_on("compute_share", analyzer::Bound::kAtLeast, 0.1, 4),
                            budget_on("peak_reserved_gb", analyzer::Bound::kAtMost, 70, 5)});
  result.name = "cifar10";
  return result;
}

inline analyzer::GateResult unclear_gate() {
  analyzer::GateResult result =
      analyzer::check_runs({analyzer::gate_testing::measured_run(
                               analyzer::gate_testing::noisy(10e6, 4e5, 12, 3), "base")},
                           {analyzer::gate_testing::measured_run(
                               analyzer::gate_testing::noisy(10e6, 4e5, 12, 5), "new")},
                           {});
  result.name = "cifar10";
  return result;
}

/// Four runs as a baseline: nothing is checked.
inline analyzer::GateResult written_baseline(size_t runs = 4) {
  std::vector<analyzer::RunMeasurements> candidate;
  for (uint64_t i = 1; i <= runs; ++i)
    candidate.push_back(analyzer::gate_testing::measured_run(
        analyzer::gate_testing::noisy(10e6, 1e5, 20, i), "base-" + std::to_string(i)));

  analyzer::GateResult result = analyzer::check_runs({}, candidate, {});
  result.name = "cifar10";

  result.kept_baseline = analyzer::describe_baseline(candidate, 0.02);
  result.kept_baseline->file = "ci/baselines/cifar10.json";
  result.kept_baseline->place = "ci/baselines";
  result.kept_baseline->is_written = true;
  return result;
}

inline analyzer::GateResult hostile_gate() {
  std::string const hostile = support::kHostileText;
  std::string const commands = hostile +
                               "\n::error::x\r]]>|`@everyone #1 https://evil.example "
                               "www.evil.example [a](b) %0A\xEF\xBF\xBF";

  auto base = analyzer::gate_testing::measured_run(steps_near(10e6), commands),
       candidate = analyzer::gate_testing::measured_run(steps_near(12e6), commands);
  for (auto* run : {&base, &candidate}) {
    run->kernels[0].name = commands;
    run->kernel_names = {commands};
    run->facts = {{commands, run == &base ? "a" : commands}};
    run->command = commands + run->name;
  }

  analyzer::GateResult result = analyzer::check_runs(
      {base}, {candidate}, {budget_on("step_time_ms", analyzer::Bound::kAtMost, 11, 3)});
  result.budgets[0].budget.file = commands;
  result.name = commands;

  std::vector<analyzer::HistoryPoint> points;
  for (int i = 0; i < 20; ++i)
    points.push_back(analyzer::history_point(i < 10 ? base : candidate, commands));
  result.history = analyzer::analyze_history(points, 0.02);

  result.kept_baseline = analyzer::describe_baseline({candidate}, 0.02);
  result.kept_baseline->file = result.kept_baseline->place = result.kept_baseline->asked_name =
      commands;
  result.kept_baseline->is_written = true;  // so that its names are in every output
  result.kept_history = {commands, 1, 2};
  return result;
}

}  // namespace stepscope::reports
