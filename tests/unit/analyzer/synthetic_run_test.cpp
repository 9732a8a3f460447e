// Results of analyze() for synthetic runs whose faults and their costs are known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "analyzer/analyze.h"
#include "analyzer/results/analysis.h"
#include "tests/support/synthetic_run.h"

namespace stepscope::analyzer {
namespace {

using support::make_synthetic_run;
using support::StepMarks;
using support::SyntheticOptions;

constexpr double kMs = 1e6;

Finding const* find(Analysis const& analysis, std::string const& rule) {
  for (Finding const& finding : analysis.findings)
    if (finding.rule == rule) return &finding;
  return nullptr;
}

std::vector<std::string> rules_above_info(Analysis const& analysis) {
  std::vector<std::string> rules;
  for (Finding const& finding : analysis.findings)
    if (finding.severity > Severity::kInfo) rules.push_back(finding.rule);
  return rules;
}

void expect_parts_sum(TimeSplit const& time) {
  int64_t idle = 0;
  for (int64_t const part : time.idle_by_cause) idle += part;
  EXPECT_EQ(idle, time.idle_ns);
  EXPECT_EQ(time.compute_ns + time.exposed_comm_ns + time.exposed_copy_ns + idle, time.window_ns);
  EXPECT_EQ(time.busy_ns + time.idle_ns, time.window_ns);
  EXPECT_LE(time.exposed_wait_ns, time.exposed_comm_ns);
}

void expect_parts_sum(Analysis const& analysis) {
  for (DeviceStats const& device : analysis.devices) expect_parts_sum(device.time);
  for (StepStats const& step : analysis.steps) expect_parts_sum(step.time);
}

TEST(HealthyRun, HasNoFindingAboveInfo) {
  for (bool const process_per_device : {false, true}) {
    SyntheticOptions options;
    options.steps = 12;
    options.process_per_device = process_per_device;
    Analysis const analysis = analyze(make_synthetic_run(options));
    EXPECT_THAT(rules_above_info(analysis), testing::IsEmpty());
    EXPECT_EQ(analysis.integrity.score, 100);
  }
}

TEST(HealthyRun, CountsEveryOpOfEveryStep) {
  SyntheticOptions options;
  options.devices = 3;
  Analysis const analysis = analyze(make_synthetic_run(options));

  ASSERT_EQ(analysis.devices.size(), 3U);
  auto const ops = static_cast<uint64_t>(options.steps * support::synthetic_ops_per_step(options));
  for (DeviceStats const& device : analysis.devices) {
    EXPECT_EQ(device.kernels + device.copies, ops);
    EXPECT_EQ(device.launches, ops);
    EXPECT_EQ(device.copies, static_cast<uint64_t>(options.steps));
    EXPECT_EQ(device.collectives, static_cast<uint64_t>(options.steps * 3));
  }

  EXPECT_EQ(analysis.ops_outside_steps, 0U);
  EXPECT_EQ(analysis.steps.size(), static_cast<size_t>(3 * options.steps));
  EXPECT_EQ(analysis.collectives.size(), static_cast<size_t>(3 * options.steps));
}

TEST(HealthyRun, FirstStepIsWarmUpOfLongRunsOnly) {
  SyntheticOptions options;
  options.devices = 1;
  for (auto const& [steps, warm] : {std::pair<int64_t, bool>{4, false}, {5, true}}) {
    options.steps = steps;
    Analysis const analysis = analyze(make_synthetic_run(options));
    EXPECT_EQ(analysis.steps[0].warmup, warm);
    EXPECT_FALSE(analysis.steps[1].warmup);
  }
}

TEST(Parts, SumToTheWindowWhateverIsWrongWithTheRun) {
  std::vector<SyntheticOptions> variants(9);
  variants[1].input_delay_ns = 7'000'000;
  variants[2].sync_every_op = true;
  variants[3].allocate_in_step = true;
  variants[4].straggler_device = 1;
  variants[5].overlap = false;
  variants[6].host_delay_ns = 2'000'000;
  variants[7].sync_each_step = false;
  variants[8].process_per_device = true;
  variants[8].rank_clock_offset_ns = 123'456'789;

  for (SyntheticOptions const& options : variants)
    expect_parts_sum(analyze(make_synthetic_run(options)));
}

TEST(SlowInput, IsTheFirstFindingAndCostsWhatWasInjected) {
  SyntheticOptions options;
  options.steps = 10;
  options.input_delay_ns = 50'000'000;
  Analysis const analysis = analyze(make_synthetic_run(options));

  ASSERT_FALSE(analysis.findings.empty());
  Finding const& first = analysis.findings.front();
  EXPECT_EQ(first.rule, "input-bound");
  EXPECT_EQ(first.severity, Severity::kCritical);
  ASSERT_TRUE(first.cost_ns_per_step);
  EXPECT_NEAR(static_cast<double>(*first.cost_ns_per_step), 50 * kMs, 0.5 * kMs);
  ASSERT_TRUE(first.gain_ceiling);
  EXPECT_GT(*first.gain_ceiling, 1.5);
  EXPECT_THAT(first.subjects,
              testing::Contains(std::pair<std::string, std::string>{"host_op", "wait for batch"}));
  EXPECT_EQ(first.evidence.size(), 9U);  // one a step, without the warm-up

  for (StepStats const& step : analysis.steps)
    EXPECT_GE(step.time.idle_by_cause[static_cast<size_t>(IdleCause::kInput)], 50'000'000);
}

TEST(SlowInput, IsSilentJustBelowItsThresholdAndSpeaksJustAbove) {
  SyntheticOptions options;
  options.steps = 10;
  // A step is about 20 ms: 5 % of it is near 1.05 ms.
  options.input_delay_ns = 800'000;
  EXPECT_EQ(find(analyze(make_synthetic_run(options)), "input-bound"), nullptr);
  options.input_delay_ns = 1'200'000;
  EXPECT_NE(find(analyze(make_synthetic_run(options)), "input-bound"), nullptr);
}

TEST(LateHost, NamesTheHostOp) {
  SyntheticOptions options;
  options.steps = 10;
  options.host_delay_ns = 3'000'000;
  Analysis const analysis = analyze(make_synthetic_run(options));
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(analysis.findings.front().rule, "host-bound-launches");
  EXPECT_THAT(analysis.findings.front().subjects,
              testing::Contains(std::pair<std::string, std::string>{"host_op", "python overhead"}));
}

TEST(SyncEveryOp, IsAttributedToTheSync) {
  SyntheticOptions options;
  options.steps = 10;
  options.layers = 40;
  options.capacity_bytes = 0;  // unlimited
  options.forward_ns = options.backward_ns = 60'000;
  options.layers_per_bucket = 20;
  options.sync_every_op = true;

  Analysis const analysis = analyze(make_synthetic_run(options));
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(analysis.findings.front().rule, "blocking-sync");

  options.sync_every_op = false;
  EXPECT_EQ(find(analyze(make_synthetic_run(options)), "blocking-sync"), nullptr);
}

TEST(AllocationInStep, IsFoundWhereItDelaysTheDevice) {
  SyntheticOptions options;
  options.steps = 10;
  options.forward_ns = 100'000;  // shorter than an allocation, so that the host cannot run ahead
  options.allocate_in_step = true;

  Analysis const analysis = analyze(make_synthetic_run(options));
  Finding const* const finding = find(analysis, "allocation-in-step");
  ASSERT_NE(finding, nullptr);
  EXPECT_GE(finding->severity, Severity::kWarning);

  options.allocate_in_step = false;
  EXPECT_EQ(find(analyze(make_synthetic_run(options)), "allocation-in-step"), nullptr);
}

TEST(Straggler, IsNamedAndItsVictimsWaitIsTheCost) {
  SyntheticOptions options;
  options.devices = 4;
  options.steps = 10;
  options.straggler_device = 2;

  Analysis const analysis = analyze(make_synthetic_run(options));
  Finding const* finding = find(analysis, "straggler");
  ASSERT_NE(finding, nullptr);
  ASSERT_TRUE(finding->where);
  EXPECT_EQ(finding->where->device, 2);

  // 6 layers of 3 ms take 1.5 times as long. The others wait for it; their own work hides a part of
  // the wait.
  EXPECT_NEAR(static_cast<double>(*finding->cost_ns_per_step), 9 * kMs, 1 * kMs);
  EXPECT_EQ(analysis.findings.front().rule, "straggler");
  EXPECT_EQ(find(analysis, "exposed-communication"), nullptr);  // it is waiting, not moving data
}

TEST(Straggler, IsSilentWhenTheWaitIsSmall) {
  SyntheticOptions options;
  options.steps = 10;
  options.straggler_device = 1;
  options.straggler_factor = 1.02;
  EXPECT_EQ(find(analyze(make_synthetic_run(options)), "straggler"), nullptr);
}

TEST(Straggler, IsNoStageThatAPipelineWaitsForByDesign) {
  SyntheticOptions options;
  options.steps = 10;
  options.straggler_device = 1;
  options.straggler_factor = 1.15;
  EXPECT_NE(find(analyze(make_synthetic_run(options)), "straggler"), nullptr);
  options.messages = true;
  EXPECT_EQ(find(analyze(make_synthetic_run(options)), "straggler"), nullptr);
  options.straggler_factor = 1.4;  // but one that computes so much longer
  EXPECT_NE(find(analyze(make_synthetic_run(options)), "straggler"), nullptr);
}

TEST(Straggler, IsNotNoiseThatMakesNowOneDeviceLateAndNowAnother) {
  SyntheticOptions options;
  options.steps = 20;
  options.jitter = 0.6;
  options.layers = 2;  // few kernels, so that the noise does not average out
  Analysis const analysis = analyze(make_synthetic_run(options));

  int64_t waiting = 0, total = 0;
  for (StepStats const& step : analysis.steps) {
    waiting += step.time.exposed_wait_ns;
    total += step.time.window_ns;
  }

  EXPECT_GT(static_cast<double>(waiting),
            0.05 * static_cast<double>(total));  // there is waiting enough for a finding
  EXPECT_EQ(find(analysis, "straggler"), nullptr);
}

TEST(NoOverlap, ShowsAsExposedCommunication) {
  SyntheticOptions options;
  options.steps = 10;
  options.overlap = false;
  options.bucket_bytes = 32U << 20;
  Analysis const analysis = analyze(make_synthetic_run(options));
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(analysis.findings.front().rule, "exposed-communication");

  options.overlap = true;
  options.bucket_bytes = 4U << 20;
  EXPECT_EQ(find(analyze(make_synthetic_run(options)), "exposed-communication"), nullptr);
}

SyntheticOptions many_small_buckets() {
  SyntheticOptions options;
  options.steps = 10;
  options.layers = 40;
  options.capacity_bytes = 0;  // unlimited
  options.layers_per_bucket = 1;

  options.forward_ns = 100'000;
  options.backward_ns = 200'000;

  options.bucket_bytes = 64U << 10;
  options.link_alpha_ns = 100'000;
  return options;
}

TEST(SmallBuckets, AreFoundByTheFittedLatency) {
  SyntheticOptions options = many_small_buckets();
  options.overlap = false;
  Analysis const analysis = analyze(make_synthetic_run(options));
  ASSERT_EQ(analysis.links.size(), 1U);
  EXPECT_NEAR(analysis.links[0].alpha_us, 100, 1);
  EXPECT_NEAR(analysis.links[0].beta_gbps, 10, 0.1);
  EXPECT_NEAR(analysis.links[0].half_bandwidth_bytes, 1e6, 2e4);

  Finding const* const found = find(analysis, "small-buckets");
  ASSERT_NE(found, nullptr);
  EXPECT_NEAR(static_cast<double>(found->cost_ns_per_step.value_or(0)), 39 * 100'000, 1e5);

  options.link_alpha_ns = 2'000;  // half bandwidth at 20 kB: the same buckets are large enough
  EXPECT_EQ(find(analyze(make_synthetic_run(options)), "small-buckets"), nullptr);
}

TEST(SmallBuckets, CostNothingBehindTheBackwardPass) {
  Analysis const analysis = analyze(make_synthetic_run(many_small_buckets()));
  ASSERT_EQ(analysis.links.size(), 1U);
  EXPECT_NEAR(analysis.links[0].alpha_us, 100, 1);
  EXPECT_EQ(find(analysis, "small-buckets"), nullptr);
}

TEST(SerializedCopies, AreFoundFromFivePerCentOn) {
  SyntheticOptions options;
  options.steps = 10;
  options.copy_ns = 3'000'000;
  EXPECT_NE(find(analyze(make_synthetic_run(options)), "serialized-copies"), nullptr);
  options.copy_ns = 700'000;
  EXPECT_EQ(find(analyze(make_synthetic_run(options)), "serialized-copies"), nullptr);
}

TEST(Memory, PeakPurposeAndPressure) {
  SyntheticOptions options;
  uint64_t const layer = 8U << 20;
  uint64_t const expected = layer * 6 * 4 + (16U << 20) + (4U << 20);
  options.capacity_bytes = expected * 10 / 8;

  Analysis analysis = analyze(make_synthetic_run(options));
  MemoryStats const& memory = analysis.devices[0].memory;
  EXPECT_EQ(memory.peak_allocated_bytes, expected);
  EXPECT_EQ(memory.by_purpose_at_peak[static_cast<size_t>(model::MemoryPurpose::kWeights)],
            layer * 6);
  EXPECT_EQ(find(analysis, "memory-pressure"), nullptr);

  options.capacity_bytes = expected * 100 / 92;
  analysis = analyze(make_synthetic_run(options));
  ASSERT_NE(find(analysis, "memory-pressure"), nullptr);
  EXPECT_EQ(find(analysis, "memory-pressure")->severity, Severity::kWarning);

  options.capacity_bytes = expected * 100 / 99;
  analysis = analyze(make_synthetic_run(options));
  EXPECT_EQ(find(analysis, "memory-pressure")->severity, Severity::kCritical);
}

TEST(Memory, LeakIsMeasuredInBytesPerStep) {
  SyntheticOptions options;
  options.steps = 12;
  options.leak_bytes_per_step = 1U << 20;

  Analysis const analysis = analyze(make_synthetic_run(options));
  Finding const* leak = find(analysis, "memory-leak");
  ASSERT_NE(leak, nullptr);
  EXPECT_EQ(leak->metrics[0].first, "bytes_per_step");
  EXPECT_NEAR(leak->metrics[0].second, 1 << 20, 1);

  options.leak_bytes_per_step = 4096;
  EXPECT_EQ(find(analyze(make_synthetic_run(options)), "memory-leak"), nullptr);
}

TEST(StepOutliers, NameThePartThatGrew) {
  SyntheticOptions options;
  options.steps = 12;
  options.slow_step = 7;

  Analysis const analysis = analyze(make_synthetic_run(options));
  Finding const* finding = find(analysis, "step-outliers");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->subjects,
              testing::Contains(std::pair<std::string, std::string>{"part", "launch_starved"}));
  ASSERT_EQ(finding->evidence.size(), 1U);

  options.slow_step_ns = 5'000'000;  // a quarter longer
  EXPECT_EQ(find(analyze(make_synthetic_run(options)), "step-outliers"), nullptr);
}

TEST(OversubscribedHost, NeedsMoreThreadsThanCores) {
  SyntheticOptions options;
  options.devices = 4;
  options.cores = 4;
  EXPECT_EQ(find(analyze(make_synthetic_run(options)), "oversubscribed-host"), nullptr);
  options.cores = 3;
  EXPECT_NE(find(analyze(make_synthetic_run(options)), "oversubscribed-host"), nullptr);
}

TEST(Marks, RangeNamesGiveTheSameStepsAsAnnotations) {
  SyntheticOptions options;
  Analysis const annotated = analyze(make_synthetic_run(options));

  for (StepMarks const marks :
       {StepMarks::kRangeName, StepMarks::kColouredRange, StepMarks::kProfilerStep}) {
    options.marks = marks;
    Analysis const named = analyze(make_synthetic_run(options));
    EXPECT_EQ(named.step_source, StepSource::kNvtxPattern);
    ASSERT_EQ(named.steps.size(), annotated.steps.size());
    for (size_t i = 0; i < named.steps.size(); ++i) {
      EXPECT_EQ(named.steps[i].step, annotated.steps[i].step);
      EXPECT_EQ(named.steps[i].window, annotated.steps[i].window);
    }
  }
}

TEST(Marks, WithoutStepsFindingsGiveNoCostPerStep) {
  SyntheticOptions options;
  options.marks = StepMarks::kNone;
  options.steps = 2;  // too few to be detected
  options.input_delay_ns = 50'000'000;

  Analysis const analysis = analyze(make_synthetic_run(options));
  EXPECT_EQ(analysis.step_source, StepSource::kNone);
  EXPECT_TRUE(analysis.steps.empty());
  EXPECT_EQ(analysis.ops_outside_steps,
            static_cast<uint64_t>(2 * 2 * support::synthetic_ops_per_step(options)));
  ASSERT_FALSE(analysis.findings.empty());
  EXPECT_EQ(analysis.findings.front().rule, "input-bound");
  EXPECT_FALSE(analysis.findings.front().cost_ns_per_step);
}

TEST(RunAhead, StepsTileTheDeviceTimeWithoutOverlap) {
  SyntheticOptions options;
  options.sync_each_step = false;
  options.devices = 1;
  Analysis const analysis = analyze(make_synthetic_run(options));
  for (size_t i = 1; i < analysis.steps.size(); ++i) {
    EXPECT_GE(analysis.steps[i].window.begin, analysis.steps[i - 1].window.end);
    EXPECT_NEAR(static_cast<double>(analysis.steps[i].time.window_ns), 18.4 * kMs, 0.6 * kMs);
  }
}

TEST(Properties, TimeShiftAndTrackOrderChangeNothing) {
  SyntheticOptions options;
  options.input_delay_ns = 3'000'000;
  options.sync_every_op = true;
  Analysis const base = analyze(make_synthetic_run(options));

  SyntheticOptions changed = options;
  constexpr int64_t kShift = 987'654'321;
  changed.origin_ns += kShift;
  changed.reverse_tracks = true;
  Analysis const other = analyze(make_synthetic_run(changed));

  ASSERT_EQ(base.gaps.size(), other.gaps.size());
  for (size_t i = 0; i < base.gaps.size(); ++i) {
    EXPECT_EQ(base.gaps[i].when.begin + kShift, other.gaps[i].when.begin);
    EXPECT_EQ(base.gaps[i].cause, other.gaps[i].cause);
  }

  ASSERT_EQ(base.steps.size(), other.steps.size());
  for (size_t i = 0; i < base.steps.size(); ++i) {
    EXPECT_EQ(base.steps[i].time.idle_by_cause, other.steps[i].time.idle_by_cause);
    EXPECT_EQ(base.steps[i].time.exposed_wait_ns, other.steps[i].time.exposed_wait_ns);
  }

  ASSERT_EQ(base.findings.size(), other.findings.size());
  for (size_t i = 0; i < base.findings.size(); ++i)
    EXPECT_EQ(base.findings[i].cost_ns_per_step, other.findings[i].cost_ns_per_step);
}

TEST(Properties, AProcessADeviceGivesTheSameTimesAsOneProcess) {
  SyntheticOptions options;
  options.straggler_device = 0;
  Analysis const together = analyze(make_synthetic_run(options));

  options.process_per_device = true;
  options.rank_clock_offset_ns = 5'000'000;
  Analysis const apart = analyze(make_synthetic_run(options));

  ASSERT_EQ(together.devices.size(), apart.devices.size());
  for (size_t i = 0; i < apart.devices.size(); ++i) {
    EXPECT_EQ(together.devices[i].window, apart.devices[i].window);
    EXPECT_EQ(together.devices[i].time.idle_by_cause, apart.devices[i].time.idle_by_cause);
  }

  ASSERT_EQ(together.collectives.size(), apart.collectives.size());
  for (size_t i = 0; i < apart.collectives.size(); ++i)
    EXPECT_EQ(together.collectives[i].skew_ns, apart.collectives[i].skew_ns);
}

TEST(Options, StepsAndRankLeaveOnlyWhatWasAskedFor) {
  SyntheticOptions options;
  options.devices = 2;
  options.process_per_device = true;
  model::Run const run = make_synthetic_run(options);

  AnalyzeOptions choice;
  choice.steps = {3, 4};
  choice.rank = 1;
  Analysis const analysis = analyze(run, choice);

  ASSERT_EQ(analysis.devices.size(), 1U);
  EXPECT_EQ(analysis.devices[0].ref.rank_index, 1);
  ASSERT_EQ(analysis.steps.size(), 2U);
  EXPECT_EQ(analysis.steps[0].step, 3);
  EXPECT_EQ(analysis.devices[0].window,
            (Interval{analysis.steps[0].window.begin, analysis.steps[1].window.end}));
  EXPECT_EQ(analysis.devices[0].copies, 2U);

  EXPECT_EQ(analysis.collectives.size(), 6U);
  for (CollectiveStats const& collective : analysis.collectives)
    EXPECT_EQ(collective.participants.size(), 2U);
  expect_parts_sum(analysis);
}

}  // namespace
}  // namespace stepscope::analyzer
