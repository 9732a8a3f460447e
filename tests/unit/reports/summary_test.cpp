#include "reports/words/summary.h"

#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/analyze.h"
#include "analyzer/metrics/core/quantile.h"
#include "tests/unit/analyzer/rules/work/work_run.h"
#include "tests/unit/reports/sample.h"
#include "trace/model/build/trace_builder.h"

namespace stepscope::reports {
namespace {

TEST(Summary, parts_of_every_step_sum_to_its_period_to_the_nanosecond) {
  for (Sample const& sample : {make_sample(), make_slow_sample()}) {
    auto const periods = step_periods(sample.analysis);
    ASSERT_EQ(periods.size(), sample.analysis.steps.size());
    for (StepPeriod const& period : periods)
      EXPECT_EQ(std::accumulate(period.parts_ns.begin(), period.parts_ns.end(), int64_t{0}),
                period.when.length())
          << "step " << period.step->step;
  }
}

TEST(Summary, waiting_between_the_device_windows_of_steps_is_in_the_mean_step) {
  Sample const slow = make_slow_sample();
  Summary const summary = summarize(slow.analysis);
  EXPECT_TRUE(summary.has_steps);
  EXPECT_EQ(part(summary.largest_loss).key, "input");
  EXPECT_GE(summary.parts_ns[static_cast<size_t>(summary.largest_loss)], 29e6);
}

TEST(Summary, mean_is_the_sum_of_its_parts_and_shares_sum_to_one) {
  Summary const summary = summarize(make_sample().analysis);
  double shares = 0;
  for (int i = 0; i < kPartCount; ++i) shares += summary.share(i);
  EXPECT_NEAR(shares, 1, 1e-12);
  EXPECT_NEAR(std::accumulate(summary.parts_ns.begin(), summary.parts_ns.end(), 0.0),
              summary.mean_ns, 1e-3);
}

TEST(Summary, warm_up_steps_are_counted_and_left_out) {
  Sample const sample = make_sample();
  Summary const summary = summarize(sample.analysis);
  EXPECT_EQ(summary.steps + summary.warmup_steps, 8U);
  EXPECT_EQ(summary.warmup_steps, 1U);
}

TEST(Summary, without_steps_the_devices_windows_are_split) {
  Sample sample = make_sample();
  sample.analysis.steps.clear();
  Summary const summary = summarize(sample.analysis);

  EXPECT_FALSE(summary.has_steps);
  EXPECT_FALSE(summary.median_ns);

  double mean = 0;
  for (auto const& device : sample.analysis.devices)
    mean += static_cast<double>(device.time.window_ns) /
            static_cast<double>(sample.analysis.devices.size());
  EXPECT_NEAR(summary.mean_ns, mean, 1);
}

TEST(Summary, quantiles_are_by_nearest_rank) {
  std::vector<int64_t> const values = {10, 20, 30, 40};
  EXPECT_EQ(analyzer::quantile_of_sorted(values, 0), 10);
  EXPECT_EQ(analyzer::quantile_of_sorted(values, 0.5), 20);
  EXPECT_EQ(analyzer::quantile_of_sorted(values, 0.51), 30);
  EXPECT_EQ(analyzer::quantile_of_sorted(values, 1), 40);
}

TEST(Summary, verdict_names_the_largest_loss_and_the_first_finding) {
  Sample const slow = make_slow_sample();
  RunVerdict const found = verdict(slow.run, slow.analysis, summarize(slow.analysis));
  EXPECT_THAT(found.numbers, testing::HasSubstr("waiting for input"));
  EXPECT_EQ(found.to_do,
            "The devices wait for input data – load and augment in more parallel workers, prefetch "
            "further ahead, or move the augmentation to the device.");
  EXPECT_EQ(found.text(), found.to_do + " " + found.numbers);
}

/// The largest loss is a mean over all devices; what a late one costs is that of the device that
/// waits most.
TEST(Summary, verdict_names_the_late_device_and_what_it_costs) {
  Sample slow = make_slow_sample();
  analyzer::Finding& first = slow.analysis.findings.front();
  first.rule = "straggler";
  first.severity = analyzer::Severity::kCritical;
  first.where = slow.analysis.devices[1].ref;
  first.cost_ns_per_step = 4'200'000;
  auto const found = [&] { return verdict(slow.run, slow.analysis, summarize(slow.analysis)); };
  EXPECT_THAT(found().to_do,
              testing::StartsWith("One device makes the others wait (device 1) – compare it"));
  EXPECT_THAT(found().numbers, testing::EndsWith(" The one that waits most loses 4.20 ms a step."));

  first.rule = "unequal-workers";
  first.subjects = {{"cause", "stage"}};
  EXPECT_THAT(found().to_do, testing::HasSubstr(" – move layers from this stage to others"));
  first.subjects = {{"cause", "worker"}};
  EXPECT_THAT(found().to_do, testing::HasSubstr(" – compare this worker's machine"));
  first.subjects.clear();
  EXPECT_THAT(found().to_do, testing::HasSubstr(" – a slow stage: move layers"));

  first.rule = "straggler";
  first.cost_ns_per_step.reset();
  EXPECT_THAT(found().numbers, testing::Not(testing::HasSubstr("The one that waits most")));
}

TEST(Summary, verdict_of_an_empty_run_says_that_there_is_nothing) {
  EXPECT_EQ(verdict({}, {}, {}).text(),
            "No device activity was recorded, so there is nothing to analyze.");
}

TEST(Summary, verdict_without_devices_says_how_the_tool_would_have_recorded_them) {
  auto const verdict_of = [](char const* tool) {
    model::TraceBuilder builder;
    builder.info().tool = tool;
    model::Run run;
    run.ranks.push_back({std::move(builder).finish(), 0, ""});
    return verdict(run, {}, {}).text();
  };

  EXPECT_NE(verdict_of("PyTorch profiler (Kineto)").find("ProfilerActivity.CUDA"),
            std::string::npos);
  EXPECT_NE(verdict_of("PyTorch flight recorder").find("calls of collectives but no device work"),
            std::string::npos);
  EXPECT_NE(verdict_of("Chrome trace events")
                .find("categories kernel, gpu_memcpy and gpu_memset are device work."),
            std::string::npos);
  EXPECT_TRUE(verdict_of("other").ends_with("nothing to analyze."));
}

TEST(Labels, devices_are_named_with_as_much_as_tells_them_apart) {
  Sample const threads = make_sample();
  EXPECT_EQ(device_label(threads.run, {0, 1}), "device 1");
  support::SyntheticOptions options;
  options.process_per_device = true;
  Sample const processes = make_sample(options);
  EXPECT_EQ(device_label(processes.run, {1, 0}), "rank 1");
}

TEST(Labels, long_names_are_cut_between_characters) {
  EXPECT_EQ(shown("aäb", 2), "a…");
  EXPECT_EQ(shown("abc", 3), "abc");
  EXPECT_EQ(shown(std::string(1000, 'x'), 10), "xxxxxxxxxx…");
}

/// Steps of 1 ms whose device computes for 600 µs and then waits for the host; step `long_step`
/// computes 4 ms longer.
model::Run steps_with_an_outlier(int64_t long_step) {
  using analyzer::testing_support::WorkRun;
  constexpr int64_t kUs = 1000;
  WorkRun run;
  int64_t now = 0;

  for (int64_t i = 0; i < 12; ++i) {
    int64_t const more = i == long_step ? 4000 * kUs : 0;
    run.step(now, 1000 * kUs + more, i);
    uint64_t const first = run.launch(now, 5 * kUs);
    run.kernel(now + 10 * kUs, 600 * kUs + more, first);
    uint64_t const last = run.launch(now + 900 * kUs + more, 5 * kUs);
    run.kernel(now + 910 * kUs + more, 80 * kUs, last);
    now += 1000 * kUs + more;
  }

  return run.finish();
}

TEST(Summary, verdict_table_and_findings_are_about_the_same_steps) {
  model::Run const run = steps_with_an_outlier(7);
  analyzer::Analysis const analysis = analyzer::analyze(run);
  Summary const summary = summarize(analysis);
  EXPECT_EQ(summary.steps, 11U);
  EXPECT_EQ(summary.unusual_steps, 1U);
  EXPECT_GT(summary.mean_of_all_ns, 1.3 * summary.mean_ns);

  auto const found =
      std::find_if(analysis.findings.begin(), analysis.findings.end(),
                   [](auto const& finding) { return finding.rule == "host-bound-launches"; });
  ASSERT_NE(found, analysis.findings.end());
  analyzer::Finding const& finding = *found;
  auto const share = std::find_if(finding.metrics.begin(), finding.metrics.end(),
                                  [](auto const& m) { return m.first == "share"; });
  ASSERT_NE(share, finding.metrics.end());
  EXPECT_NEAR(summary.share(summary.largest_loss), share->second, 1e-3);
  std::string const text = verdict(run, analysis, summary).text();
  EXPECT_NE(
      text.find("One of 11 steps is much longer and left out below: a steady step takes 1.00 ms"),
      std::string::npos)
      << text;

  std::vector<DeviceMean> const means = device_means(analysis);
  ASSERT_EQ(means.size(), 1U);
  EXPECT_EQ(means[0].steps, 10U);
  EXPECT_NEAR(means[0].step_ns, summary.mean_ns, 1);
  EXPECT_NEAR(means[0].parts_ns[0], summary.parts_ns[0], 1);
}

TEST(Summary, without_an_outlier_all_steps_are_steady) {
  analyzer::Analysis const analysis = analyzer::analyze(steps_with_an_outlier(-1));
  Summary const summary = summarize(analysis);
  EXPECT_EQ(summary.unusual_steps, 0U);
  EXPECT_NEAR(summary.mean_of_all_ns, summary.mean_ns, 1);
}

TEST(Summary, a_device_that_works_in_a_small_part_of_the_recording_is_told_so) {
  using analyzer::testing_support::WorkRun;
  constexpr int64_t kMs = 1'000'000;

  WorkRun compile;
  compile.range(0, 900 * kMs, "compile").range(950 * kMs, 50 * kMs, "print");
  uint64_t const call = compile.launch(901 * kMs, 10'000);
  compile.kernel(902 * kMs, 10 * kMs, call);
  model::Run const run = compile.finish();

  analyzer::Analysis const analysis = analyzer::analyze(run);
  std::string const text = verdict(run, analysis, summarize(analysis)).text();

  EXPECT_NE(text.find("A device works for 10.0 ms of the 1.00 s that were recorded (1.0 %)"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("No single loss"), std::string::npos) << text;
}

}  // namespace
}  // namespace stepscope::reports
