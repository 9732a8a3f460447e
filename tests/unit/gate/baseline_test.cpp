// Baselines: what is written is read the same, it is small, and wrong bytes are refused with what
// is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/analyze.h"
#include "analyzer/compare/comparison.h"
#include "analyzer/gate/kept_sample.h"
#include "gate/baseline.h"
#include "gate/json_fields.h"
#include "tests/support/host_program.h"
#include "tests/support/synthetic_run.h"
#include "tests/unit/analyzer/gate/gate_samples.h"

namespace stepscope::gate {
namespace {

using analyzer::RunMeasurements;
using analyzer::gate_testing::measured_run;
using testing::HasSubstr;

RunMeasurements full_sample(uint32_t seed = 1) {
  support::SyntheticOptions options;
  options.steps = 20;
  options.devices = 3;
  options.straggler_device = 1;
  options.input_delay_ns = 2'000'000;
  options.seed = seed;

  model::Run const run = support::make_synthetic_run(options);
  RunMeasurements sample = analyzer::sample_run(run, analyzer::analyze(run));
  sample.name = "run_loading/full";
  sample.busy_clock_mhz = 1979.5;
  sample.missing_ranks = {3, 7};
  return analyzer::kept_sample(std::move(sample));
}

std::string text_of_run(RunMeasurements const& run) { return baseline_text({"train", {run}}); }
std::string error_of(std::string const& text) {
  auto const read = parse_baseline(text, "b.json");
  return read ? "read" : read.error().message;
}
/// The text with the first `from` replaced.
std::string with(std::string text, std::string const& from, std::string const& to) {
  size_t const at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Baseline, WhatIsWrittenIsReadTheSame) {
  std::string const text = baseline_text({"train", {full_sample(1), full_sample(2)}});
  auto const read = parse_baseline(text, "b.json");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->name, "train");
  ASSERT_EQ(read->runs.size(), 2U);
  EXPECT_EQ(baseline_text(*read), text);
  EXPECT_TRUE(is_baseline(std::string_view(text).substr(0, 100)));
  EXPECT_FALSE(is_baseline("{\"schemaVersion\":1,\"traceEvents\":[]}"));
}

TEST(Baseline, AProgramWithoutADeviceKeepsItsRanges) {
  model::Run const run = support::loop_with_waits();
  RunMeasurements const sample =
      analyzer::kept_sample(analyzer::sample_run(run, analyzer::analyze(run)));
  ASSERT_TRUE(sample.of_hosts);

  std::string const text = text_of_run(sample);
  auto const read = parse_baseline(text, "b.json");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(read->runs[0].of_hosts);
  EXPECT_EQ(read->runs[0].ranges.size(), sample.ranges.size());
  EXPECT_EQ(text_of_run(read->runs[0]), text);

  analyzer::Comparison const comparison = analyzer::compare_runs(read->runs, {sample});
  EXPECT_EQ(comparison.verdict, analyzer::Verdict::kSame);
  for (analyzer::RangeChange const& range : comparison.ranges)
    EXPECT_EQ(range.base_ns, range.candidate_ns) << range.name;

  EXPECT_EQ(text_of_run(full_sample()).find("host_ranges"), std::string::npos)
      << "files of programs with devices stay as they were";
  EXPECT_THAT(error_of(with(text, "\"waits\":false", "\"waits\":7")), HasSubstr("waits"));
}

TEST(Baseline, ARunIsTheSameAsItsOwnBaseline) {
  RunMeasurements const run = full_sample();
  auto const read = parse_baseline(text_of_run(run), "b.json");
  ASSERT_TRUE(read);

  analyzer::Comparison const comparison = analyzer::compare_runs(read->runs, {run});
  EXPECT_EQ(comparison.verdict, analyzer::Verdict::kSame);
  EXPECT_TRUE(comparison.differences.empty());
  EXPECT_EQ(comparison.base.mean_ns, comparison.candidate.mean_ns);

  for (analyzer::Metric const& metric : comparison.metrics)
    EXPECT_EQ(metric.change.base_mean, metric.change.candidate_mean) << metric.name;
  for (analyzer::KernelChange const& kernel : comparison.kernels)
    EXPECT_EQ(kernel.where, analyzer::KernelChange::Where::kBoth);
}

/// As large as samples get: 70 kernels with long names, 600 steps, odd numbers.
RunMeasurements large_sample() {
  RunMeasurements run = measured_run(std::vector<double>(600, 123'456'789.33));
  run.kernels.clear();

  for (int k = 0; k < 70; ++k) {
    RunMeasurements::Kernel kernel{std::string(10'000, 'k') + std::to_string(k), {}, {}};
    kernel.ns.assign(600, 1'234'567.89 + k);
    kernel.calls.assign(600, 12.0 / 7);
    run.kernel_names.insert(kernel.name);
    run.kernels.push_back(std::move(kernel));
  }

  for (int k = 0; k < 5000; ++k) run.kernel_names.insert("small kernel " + std::to_string(k));
  for (int c = 0; c < 40; ++c)
    run.collectives.push_back({model::CollectiveOp::kAllReduce, static_cast<uint64_t>(c) + 1,
                               std::vector<double>(600, 54'321.77), 1, 1e9});

  run.allocated_bytes.assign(600, 12'345'678'901.0);
  run.reserved_bytes.assign(600, 22'345'678'901.0);

  return run;
}

TEST(Baseline, IsSmallHoweverLargeTheRun) {
  RunMeasurements const run = analyzer::kept_sample(large_sample());
  EXPECT_EQ(run.steps.size(), 512U);
  EXPECT_EQ(run.steps.back(), 599);
  EXPECT_EQ(run.kernels.size(), 65U);
  EXPECT_FALSE(run.knows_all_kernels);
  std::string const text = text_of_run(run);
  EXPECT_LE(text.size(), size_t{1} << 20U);
  EXPECT_TRUE(parse_baseline(text, "b.json"));
}

TEST(Baseline, KeepingTwiceIsKeepingOnce) {
  RunMeasurements const once = analyzer::kept_sample(large_sample());
  EXPECT_EQ(text_of_run(analyzer::kept_sample(once)), text_of_run(once));
}

TEST(Baseline, KernelsBeyondTheKeptOnesKeepTheirTime) {
  RunMeasurements const run = large_sample();
  double all = 0, kept = 0;
  for (auto const& kernel : run.kernels) all += kernel.ns.back();
  for (auto const& kernel : analyzer::kept_sample(run).kernels) kept += kernel.ns.back();
  EXPECT_NEAR(kept, all, 10);
}

TEST(Baseline, WhereNotAllKernelsAreKnownNoneIsCalledNew) {
  RunMeasurements const base = analyzer::kept_sample(large_sample());
  RunMeasurements candidate = base;
  candidate.kernels[0].name = "one more";
  candidate.kernel_names.insert("one more");
  for (auto const& kernel : analyzer::compare_runs({base}, {candidate}).kernels)
    EXPECT_NE(kernel.where, analyzer::KernelChange::Where::kNew) << kernel.name;
}

TEST(Baseline, LongAndInvalidTextsStayDifferent) {
  std::string const a = analyzer::kept_text(std::string(100'000, 'a') + "1"),
                    b = analyzer::kept_text(std::string(100'000, 'a') + "2");
  EXPECT_NE(a, b);
  EXPECT_LE(a.size(), analyzer::kMostKeptTextBytes);
  EXPECT_NE(analyzer::kept_text("x\xFF"), analyzer::kept_text("x\xFE"));
  EXPECT_EQ(analyzer::kept_text("gemm<float>"), "gemm<float>");
  EXPECT_EQ(analyzer::kept_text(a), a);
}

TEST(Baseline, TheNameThatWaitingHadBeforeIsRead) {
  RunMeasurements sample = full_sample();
  auto& waiting = sample.parts_ns[static_cast<size_t>(analyzer::StepPart::kWaiting)];
  waiting.assign(sample.steps.size(), 7);
  std::string const text = with(text_of_run(sample), "\"exposed_late\"", "\"exposed_wait\"");

  auto const read = parse_baseline(text, "b.json");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->runs[0].parts_ns[static_cast<size_t>(analyzer::StepPart::kWaiting)], waiting);
}

TEST(Baseline, ANewerSchemaIsRefusedInWords) {
  std::string const text = text_of_run(full_sample());
  EXPECT_THAT(error_of(with(text, "\"schema\":1", "\"schema\":2")),
              testing::AllOf(HasSubstr("b.json: "),
                             HasSubstr("newer Stepscope (schema 2, this one knows 1)")));
}

TEST(Baseline, WhatIsNoJsonIsRefusedWithItsPlace) {
  std::string const text = text_of_run(full_sample());
  EXPECT_THAT(error_of(text.substr(0, text.size() / 2)), HasSubstr("no JSON"));
  EXPECT_THAT(error_of("{\"kind\":\"stepscope baseline\",\n  oops"), HasSubstr("b.json:2:3"));
  EXPECT_THAT(error_of("[]"), HasSubstr("is no stepscope baseline"));
  EXPECT_THAT(error_of("{\"kind\":7}"), HasSubstr("is no stepscope baseline"));
  EXPECT_THAT(error_of(std::string(100'000, '[')), HasSubstr("no JSON"));
}

TEST(Baseline, EveryNumberIsChecked) {
  std::string const text = text_of_run(measured_run({10e6, 11e6, 12e6}));
  EXPECT_EQ(error_of(text), "read");

  EXPECT_THAT(error_of(with(text, "[10000000,", "[-1,")),
              HasSubstr("runs[0].step_ns has an item that is no number from 0"));
  EXPECT_THAT(error_of(with(text, "[10000000,", "[1e400,")), HasSubstr("b.json"));
  EXPECT_THAT(error_of(with(text, "[10000000,", "[null,")), HasSubstr("runs[0].step_ns"));
  EXPECT_THAT(error_of(with(text, "[10000000,", "[1,1,")),
              HasSubstr("runs[0].step_ns has 4 numbers, not 3"));

  EXPECT_THAT(error_of(with(text, "\"steps\":[0,1,2]", "\"steps\":[0,0,2]")),
              HasSubstr("runs[0].steps do not ascend"));
  EXPECT_THAT(error_of(with(text, "\"steps\":[0,1,2]", "\"steps\":[]")),
              HasSubstr("runs[0].steps has no step"));
  EXPECT_THAT(error_of(with(text, "\"steps\":[0,1,2]", "\"steps\":[0,1,2.5]")),
              HasSubstr("runs[0].steps"));

  EXPECT_THAT(error_of(with(text, "\"quality\":100", "\"quality\":101")),
              HasSubstr("runs[0].quality"));
  EXPECT_THAT(error_of(with(text, "\"devices\":1", "\"devices\":18446744073709551615")),
              HasSubstr("runs[0].devices"));
  EXPECT_THAT(error_of(with(text, "\"compute\":", "\"magic\":")),
              HasSubstr("runs[0].parts_ns.magic is no part of a step"));
  EXPECT_THAT(error_of(with(text, "\"annotation\"", "\"dream\"")),
              HasSubstr("runs[0].step_source"));
  EXPECT_THAT(error_of(with(text, "\"kernels\":[", "\"kernels\":[7,")),
              HasSubstr("runs[0].kernels"));
  EXPECT_THAT(error_of(with(text, "\"knows_all_kernels\":true", "\"knows_all_kernels\":1")),
              HasSubstr("knows_all_kernels"));
  EXPECT_THAT(error_of(with(text, "\"facts\":[]", "\"facts\":[[\"a\"]]")),
              HasSubstr("runs[0].facts"));
  EXPECT_THAT(error_of(with(text, "\"tool\":", "\"tail\":")), HasSubstr("runs[0].tool is missing"));

  EXPECT_THAT(error_of("{\"kind\":\"stepscope baseline\",\"schema\":1,\"name\":\"x\",\"runs\":[]}"),
              HasSubstr("runs has no run"));
}

TEST(Baseline, ManyKeysAreReadInGoodTime) {
  std::string text = "{\"kind\":\"stepscope baseline\",\"schema\":1,\"name\":\"x\"";
  for (int i = 0; i < 200'000; ++i) text += ",\"k" + std::to_string(i) + "\":0";
  EXPECT_THAT(error_of(text + "}"), HasSubstr("runs is missing"));
}

}  // namespace
}  // namespace stepscope::gate
