// Rules about launches, kernels and copies on both sides of their thresholds, and which of two
// overlapping rules reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/analyze.h"
#include "analyzer/rules/host/launch_cost.h"
#include "analyzer/rules/rule.h"
#include "tests/support/synthetic_run.h"
#include "tests/unit/analyzer/rules/work/work_run.h"

namespace stepscope::analyzer {
namespace {

using model::CopyDetail;
using model::CopyDirection;
using testing_support::grid_of;
using testing_support::WorkRun;

constexpr int64_t kMicrosecond = 1'000;
constexpr int64_t kWorkSteps = 10;

std::vector<std::string> rules_of(std::vector<Finding> const& findings) {
  std::vector<std::string> rules;
  for (Finding const& finding : findings)
    if (finding.rule != "trace-quality") rules.push_back(finding.rule);
  return rules;
}
Finding const* find_rule(std::vector<Finding> const& findings, std::string const& rule) {
  for (Finding const& finding : findings)
    if (finding.rule == rule) return &finding;
  return nullptr;
}

/// Steps of `kernels` kernels one after the other. The host is in a range for `between` before each
/// launch call of 3 µs, and the kernel starts 1 µs after the call.
std::vector<Finding> launching_run(int64_t kernels, int64_t kernel_ns, int64_t between_ns) {
  WorkRun run;
  int64_t host = 0, device = 0;
  for (int64_t step = 0; step < kWorkSteps; ++step) {
    int64_t const begin = host;

    for (int64_t i = 0; i < kernels; ++i) {
      if (between_ns > 0) run.range(host, between_ns, "python");
      host += between_ns;
      uint64_t const call = run.launch(host, 3 * kMicrosecond);
      host += 3 * kMicrosecond;
      device = std::max(device, host + kMicrosecond);
      run.kernel(device, kernel_ns, call);
      device += kernel_ns;
    }
    run.step(begin, host - begin, step);
  }
  return analyze(run.finish()).findings;
}

TEST(LaunchLatency, KernelsShorterThanTheirLaunchesWaitForThem) {
  // A kernel of 2 µs every 3: a third of the time is nothing but launching.
  std::vector<Finding> const findings = launching_run(100, 2 * kMicrosecond, 0);
  ASSERT_EQ(rules_of(findings), std::vector<std::string>{"launch-latency"});
  EXPECT_EQ(findings[0].severity, Severity::kCritical);
  EXPECT_NEAR(static_cast<double>(*findings[0].cost_ns_per_step), 100.0 * kMicrosecond,
              2.0 * kMicrosecond);
  EXPECT_THAT(findings[0].metrics, testing::Contains(std::pair<std::string, double>{
                                       "kernel_median_ns", 2.0 * kMicrosecond}));
}

TEST(LaunchLatency, LongWorkOfTheHostBetweenLaunchesIsHostBound) {
  EXPECT_EQ(rules_of(launching_run(100, 2 * kMicrosecond, 20 * kMicrosecond)),
            std::vector<std::string>{"host-bound-launches"});
  // With 8 µs of a framework before the call, the 9 µs of waiting are the cost of launching; 2 µs
  // more are not.
  EXPECT_EQ(rules_of(launching_run(100, 2 * kMicrosecond, 8 * kMicrosecond)),
            std::vector<std::string>{"launch-latency"});
  EXPECT_EQ(rules_of(launching_run(100, 2 * kMicrosecond, 10 * kMicrosecond)),
            std::vector<std::string>{"host-bound-launches"});
}

TEST(LaunchLatency, KernelsThatHideTheirLaunchesAreWell) {
  EXPECT_TRUE(launching_run(100, 4 * kMicrosecond, 0).empty());
}

TEST(LaunchLatency, LongKernelsThatComeLateAreNotTooShort) {
  // The device waits as long for kernels just below the limit of short kernels and for kernels at
  // it.
  auto const run_of = [](int64_t kernel_ns) {
    return rules_of(launching_run(100, kernel_ns, 9 * kMicrosecond));
  };
  EXPECT_EQ(run_of(kShortKernelNs - 1), std::vector<std::string>{"launch-latency"});
  EXPECT_EQ(run_of(kShortKernelNs), std::vector<std::string>{"host-bound-launches"});
}

/// Findings of a device with steps of `step_ns`; `add_gaps` adds the idle times of the step that
/// begins at its argument.
template <class AddGaps>
std::vector<Finding> findings_in_steps(DeviceStats device, int64_t step_ns,
                                       AddGaps const& add_gaps) {
  Analysis facts;
  facts.integrity.score = 100;
  device.window = {0, kWorkSteps * step_ns};
  facts.devices.push_back(std::move(device));

  std::vector<IdleGap> gaps;
  for (int64_t i = 0; i < kWorkSteps; ++i) {
    StepStats step;
    step.step = i;
    step.window = {i * step_ns, (i + 1) * step_ns};
    step.time.window_ns = step_ns;
    facts.steps.push_back(step);
    add_gaps(step.window.begin, gaps);
  }
  facts.gaps = IdleGaps(gaps);

  model::Run run;
  run.ranks.emplace_back();
  return find_all(run, facts);
}

/// Gaps of 2 µs with this cause take `idle_ns` of each step of 1 ms.
std::vector<Finding> findings_of_gaps(IdleCause cause, int64_t idle_ns,
                                      std::optional<int64_t> kernel_median_ns) {
  constexpr int64_t kGapNs = 2 * kMicrosecond;
  DeviceStats device;
  device.launch.kernel_median_ns = kernel_median_ns;

  return findings_in_steps(
      device, 1'000 * kMicrosecond, [&](int64_t step, std::vector<IdleGap>& gaps) {
        for (int64_t gap = 0; gap * kGapNs < idle_ns; ++gap) {
          int64_t const begin = step + gap * 10 * kMicrosecond;
          gaps.push_back(
              {{}, {begin, begin + std::min(kGapNs, idle_ns - gap * kGapNs)}, cause, {}, {}});
        }
      });
}

TEST(LaunchLatency, SpeaksFromItsThresholdOn) {
  for (IdleCause const cause : {IdleCause::kLaunchBound, IdleCause::kLaunchLatency}) {
    EXPECT_EQ(rules_of(findings_of_gaps(cause, 50 * kMicrosecond, 2 * kMicrosecond)),
              std::vector<std::string>{"launch-latency"});
    EXPECT_TRUE(findings_of_gaps(cause, 49 * kMicrosecond, 2 * kMicrosecond).empty());
  }
  EXPECT_TRUE(
      findings_of_gaps(IdleCause::kLaunchLatency, 200 * kMicrosecond, std::nullopt).empty());
  EXPECT_EQ(rules_of(findings_of_gaps(IdleCause::kLaunchBound, 50 * kMicrosecond, std::nullopt)),
            std::vector<std::string>{"host-bound-launches"});
}

TEST(LaunchLatency, IdleTimeWithAnotherCauseInItIsThatOnes) {
  EXPECT_EQ(rules_of(findings_of_gaps(IdleCause::kSync, 100 * kMicrosecond, 2 * kMicrosecond)),
            std::vector<std::string>{"blocking-sync"});
}

/// In each step of 2 ms there are so many idle times of this length in which the device had work
/// and did not begin it.
std::vector<Finding> findings_of_late_begins(std::string const& name, int64_t idle_ns,
                                             int64_t count) {
  DeviceStats device;
  device.name = name;
  return findings_in_steps(
      device, 2'000 * kMicrosecond, [&](int64_t step, std::vector<IdleGap>& gaps) {
        for (int64_t begin = step; begin < step + count * 300 * kMicrosecond;
             begin += 300 * kMicrosecond)
          gaps.push_back({{}, {begin, begin + idle_ns}, IdleCause::kLaunchLatency, {}, {}});
      });
}

TEST(OversubscribedHost, SpeaksOfThreadsThatWaitForCoresFromItsThresholdOn) {
  std::vector<Finding> const findings = findings_of_late_begins("host:0", 100 * kMicrosecond, 1);
  ASSERT_EQ(rules_of(findings), std::vector<std::string>{"oversubscribed-host"});
  EXPECT_EQ(findings[0].cost_ns_per_step, 100 * kMicrosecond);
  EXPECT_EQ(findings[0].severity, Severity::kWarning);
  EXPECT_FALSE(findings[0].evidence.empty());
  EXPECT_TRUE(findings_of_late_begins("host:0", 99 * kMicrosecond, 1).empty());
  EXPECT_EQ(findings_of_late_begins("host:0", 200 * kMicrosecond, 3).at(0).severity,
            Severity::kCritical);
}

TEST(OversubscribedHost, DistinguishesWaitingForACoreFromWakingUp) {
  EXPECT_TRUE(findings_of_late_begins("host:0", 50 * kMicrosecond, 6).empty());
  EXPECT_EQ(rules_of(findings_of_late_begins("host:0", 51 * kMicrosecond, 6)),
            std::vector<std::string>{"oversubscribed-host"});
  EXPECT_TRUE(findings_of_late_begins("GPU 0", 51 * kMicrosecond, 6).empty());
}

/// A device with steps of 1 ms; the measured steps have these slow times.
struct SlowRun {
  std::string device = "GPU 0";
  SlowTime slow;
  int64_t exposed_copy_ns = 0;
  std::vector<KernelStats> kernels;
  int64_t compute_ns = 0, exposed_late_ns = 0;
  std::vector<WaitStats> waits = {};
};

std::vector<Finding> findings_of(SlowRun const& of) {
  constexpr int64_t kStepNs = 1'000 * kMicrosecond;
  Analysis facts;
  facts.integrity.score = 100;
  DeviceStats device;
  device.name = of.device;
  device.window = {0, kWorkSteps * kStepNs};
  facts.devices.push_back(device);

  for (int64_t i = 0; i < kWorkSteps; ++i) {
    StepStats step;
    step.step = i;
    step.window = {i * kStepNs, (i + 1) * kStepNs};
    step.time.window_ns = kStepNs;
    step.warmup = i == 0;
    if (i > 0) {
      step.time.exposed_copy_ns = of.exposed_copy_ns;
      step.time.compute_ns = of.compute_ns;
      step.time.exposed_comm_ns = step.time.exposed_late_ns = of.exposed_late_ns;
      step.slow = of.slow;
    }
    facts.steps.push_back(step);
  }

  facts.kernels = of.kernels;
  facts.waits = of.waits;

  model::Run run;
  run.ranks.emplace_back();
  return find_all(run, facts);
}

KernelStats kernel_of(std::string const& name, int64_t total_ns, std::optional<bool> tensor_cores,
                      double small_grid_share) {
  KernelStats kernel;
  kernel.name = name;
  kernel.total_ns = total_ns;
  kernel.tensor_cores = tensor_cores;
  kernel.small_grid_share = small_grid_share;
  return kernel;
}

TEST(TensorCoresUnused, SpeaksFromItsThresholdOnGpusThatHaveThem) {
  SlowRun run{
      "Tesla V100-SXM2-32GB", {}, 0, {kernel_of("add", 9, {}, 0), kernel_of("sgemm", 5, false, 0)}};
  run.slow.simt_matrix_ns = 200 * kMicrosecond;

  std::vector<Finding> const findings = findings_of(run);
  ASSERT_EQ(rules_of(findings), std::vector<std::string>{"tensor-cores-unused"});
  EXPECT_EQ(findings[0].severity, Severity::kWarning);
  EXPECT_EQ(findings[0].cost_ns_per_step, 100 * kMicrosecond);
  EXPECT_THAT(findings[0].subjects,
              testing::ElementsAre(std::pair<std::string, std::string>{"kernel", "sgemm"}));
  ASSERT_EQ(findings[0].evidence.size(), static_cast<size_t>(kWorkSteps - 1));

  run.slow.simt_matrix_ns -= 10;
  EXPECT_TRUE(findings_of(run).empty());
}

TEST(TensorCoresUnused, IsSilentWhereTheGpuIsNotKnownToHaveThem) {
  SlowRun run{"Tesla P100-PCIE-16GB", {}, 0, {kernel_of("sgemm", 5, false, 0)}};
  run.slow.simt_matrix_ns = 900 * kMicrosecond;
  EXPECT_TRUE(findings_of(run).empty());
  run.kernels.push_back(kernel_of("hmma", 1, true, 0));  // another kernel uses them
  EXPECT_EQ(rules_of(findings_of(run)), std::vector<std::string>{"tensor-cores-unused"});
}

TEST(TensorCoresUnused, CostsWhatIsBeyondTheRateOfOtherKernelsOnTensorCores) {
  SlowRun run{"NVIDIA H100 80GB HBM3",
              {},
              0,
              {kernel_of("sgemm", 1'000, false, 0), kernel_of("flash_fwd", 10, true, 0)}};
  run.slow.simt_matrix_ns = 400 * kMicrosecond;

  auto const cost = [&](double plain, double with) {
    run.kernels[0].flops_rate = plain;
    run.kernels[1].flops_rate = with;
    std::vector<Finding> const findings = findings_of(run);
    return findings.empty() ? 0 : *findings[0].cost_ns_per_step;
  };

  EXPECT_EQ(cost(1e12, 4e12), 300 * kMicrosecond);   // would take a quarter
  EXPECT_EQ(cost(1e12, 32e12), 350 * kMicrosecond);  // an eighth and no less
  EXPECT_EQ(cost(4e12, 3e12), 0);                    // are as fast as these

  run.kernels[1].total_ns = 9;  // too little time for a rate
  EXPECT_EQ(cost(1e12, 4e12), 200 * kMicrosecond);
}

TEST(TensorCoresUnused, ComputeThatTakesLessIsWaitedForLess) {
  SlowRun run{"NVIDIA H100 80GB HBM3", {}, 0, {kernel_of("sgemm", 5, false, 0)}};
  run.slow.simt_matrix_ns = 200 * kMicrosecond;
  run.compute_ns = 500 * kMicrosecond;
  run.exposed_late_ns = 50 * kMicrosecond;

  WaitStats by_compute, by_copy;
  by_compute.cause = WaitCause::kCompute;
  by_compute.exposed_ns = 80;
  by_copy.cause = WaitCause::kCopy;
  by_copy.exposed_ns = 20;
  run.waits = {by_compute, by_copy};

  // 100 of 500 µs of compute are lost, and four fifths of the waiting are for compute.
  EXPECT_EQ(findings_of(run).at(0).cost_ns_per_step, 108 * kMicrosecond);
}

TEST(TensorCoresUnused, IsAtMostAWarning) {
  SlowRun run{"NVIDIA H100 80GB HBM3", {}, 0, {}};
  run.slow.simt_matrix_ns = 900 * kMicrosecond;
  EXPECT_EQ(findings_of(run).at(0).severity, Severity::kWarning);
}

TEST(SmallGrids, SpeakFromTheirThresholdOn) {
  SlowRun run{"GPU 0", {}, 0, {kernel_of("long", 100, {}, 0.1), kernel_of("small", 50, {}, 0.9)}};
  run.slow.small_grid_ns = 150 * kMicrosecond;
  run.slow.small_grid_lost_ns = 100 * kMicrosecond;

  std::vector<Finding> const findings = findings_of(run);
  ASSERT_EQ(rules_of(findings), std::vector<std::string>{"small-grids"});
  EXPECT_EQ(findings[0].cost_ns_per_step, 100 * kMicrosecond);
  EXPECT_THAT(findings[0].metrics, testing::Contains(std::pair<std::string, double>{
                                       "small_grid_ns_per_step", 150.0 * kMicrosecond}));
  EXPECT_THAT(findings[0].subjects,
              testing::ElementsAre(std::pair<std::string, std::string>{"kernel", "small"}));

  run.slow.small_grid_lost_ns -= 1;
  EXPECT_TRUE(findings_of(run).empty());

  // Time that the default stream serializes does not count twice.
  run.slow.small_grid_lost_ns = 150 * kMicrosecond;
  run.slow.serialized_ns = 100 * kMicrosecond;
  EXPECT_EQ(rules_of(findings_of(run)), std::vector<std::string>{"serialized-streams"});
}

TEST(SerializedStreams, SpeakFromTheirThresholdOn) {
  SlowRun run;
  run.slow.serialized_ns = 100 * kMicrosecond;
  EXPECT_EQ(rules_of(findings_of(run)), std::vector<std::string>{"serialized-streams"});
  run.slow.serialized_ns -= 1;
  EXPECT_TRUE(findings_of(run).empty());
}

TEST(PageableCopies, SpeakWhereTheyAreMostOfTheExposedCopies) {
  SlowRun run;
  run.exposed_copy_ns = 80 * kMicrosecond;
  run.slow.slow_copy_ns = 50 * kMicrosecond;
  std::vector<Finding> const findings = findings_of(run);
  EXPECT_EQ(rules_of(findings), std::vector<std::string>{"pageable-copies"});
  EXPECT_EQ(findings[0].cost_ns_per_step, 50 * kMicrosecond);
  EXPECT_FALSE(findings[0].evidence.empty());
  run.slow.slow_copy_ns -= 1;  // below the threshold: then all copies are one matter
  EXPECT_EQ(rules_of(findings_of(run)), std::vector<std::string>{"serialized-copies"});
}

TEST(PageableCopies, LeaveCopiesThatAreMostlyPinnedToSerializedCopies) {
  SlowRun run;
  run.exposed_copy_ns = 200 * kMicrosecond;
  run.slow.slow_copy_ns = 99 * kMicrosecond;
  EXPECT_EQ(rules_of(findings_of(run)), std::vector<std::string>{"serialized-copies"});
  run.slow.slow_copy_ns = 100 * kMicrosecond;
  EXPECT_EQ(rules_of(findings_of(run)), std::vector<std::string>{"pageable-copies"});
}

TEST(PageableCopies, ALossIsAsGraveAsItIsLong) {
  SlowRun run;
  run.exposed_copy_ns = run.slow.slow_copy_ns = 300 * kMicrosecond;
  EXPECT_EQ(findings_of(run).at(0).severity, Severity::kCritical);
}

TEST(SlowTimeRules, ADeviceWithoutStepsIsJudgedByItsWholeWindow) {
  WorkRun run("NVIDIA A100-SXM4-80GB");
  for (int64_t i = 0; i < 20; ++i)
    run.kernel(i * 100 * kMicrosecond, 100 * kMicrosecond, 0, "ampere_sgemm_128x64_nn", 7,
               grid_of(1'000));

  std::vector<Finding> const findings = analyze(run.finish()).findings;
  Finding const* const finding = find_rule(findings, "tensor-cores-unused");
  ASSERT_NE(finding, nullptr);
  EXPECT_FALSE(finding->cost_ns_per_step);
  EXPECT_NEAR(*finding->gain_ceiling, 1.0, 1e-6);
  EXPECT_EQ(finding->evidence.size(), 1U);
}

TEST(SlowTimeRules, AreSilentOnAHealthyRun) {
  EXPECT_THAT(rules_of(analyze(support::make_synthetic_run({})).findings), testing::IsEmpty());
}

}  // namespace
}  // namespace stepscope::analyzer
