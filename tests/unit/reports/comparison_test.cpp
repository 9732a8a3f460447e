// A comparison as text and as JSON: what stands where, and that no name of a trace escapes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "analyzer/compare/comparison.h"
#include "reports/json/comparison_json.h"
#include "reports/text/comparison.h"
#include "reports/words/runs/comparison_words.h"
#include "tests/unit/reports/sample.h"

namespace stepscope::reports {
namespace {

using analyzer::Comparison;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

support::SyntheticOptions compared_job() {
  support::SyntheticOptions options;
  options.steps = 20;
  return options;
}
analyzer::RunMeasurements compared_sample(support::SyntheticOptions const& options,
                                          std::string const& name) {
  Sample const sample = make_sample(options);
  analyzer::RunMeasurements result = analyzer::sample_run(sample.run, sample.analysis);
  result.name = name;
  return result;
}
Comparison slower_by_input() {
  support::SyntheticOptions candidate = compared_job();
  candidate.input_delay_ns = 6'000'000;
  return analyzer::compare_runs({compared_sample(compared_job(), "before")},
                                {compared_sample(candidate, "after")});
}

TEST(ComparisonText, SaysVerdictAndWhyFirst) {
  std::string const text = comparison_text(slower_by_input());
  EXPECT_THAT(text, HasSubstr("base before (19 steps)  →  new after (19 steps)"));
  EXPECT_THAT(text, HasSubstr("SLOWER: a step takes"));
  EXPECT_THAT(text, HasSubstr("Most of it: more idle time: waiting for input"));
  EXPECT_LT(text.find("SLOWER"), text.find("Why: "));
  EXPECT_LT(text.find("Why: "), text.find("per step"));
  EXPECT_THAT(text, HasSubstr("One run on each side"));
  EXPECT_TRUE(text.ends_with("\n"));
}

TEST(ComparisonText, ShowsWhatWasFoundThenAndNowAndWhatAReplayPromised) {
  Comparison comparison = slower_by_input();
  comparison.base.mean_ns = 100'000'000;
  comparison.candidate.mean_ns = 84'000'000;
  using analyzer::Severity;
  comparison.findings = {{"input-bound", {1, Severity::kCritical, 21e6, 0.25}, {}},
                         {"straggler",
                          {1, Severity::kWarning, 5e6, std::nullopt},
                          {1, Severity::kWarning, 4e6, 0.04}}};

  std::string const text = comparison_text(comparison);
  EXPECT_THAT(text, testing::ContainsRegex("finding, cost a step +base +new +step without it"));
  EXPECT_THAT(text, testing::ContainsRegex("input-bound +21.0 ms +not found +80.0 ms"));
  EXPECT_THAT(text, testing::ContainsRegex("straggler +5.00 ms +4.00 ms +–"));
  EXPECT_THAT(text, HasSubstr("promised a step of 80.0 ms"));
  EXPECT_THAT(text, HasSubstr("84.0 ms"));

  comparison.caveats.push_back({analyzer::Caveat::kMissingRanks});
  EXPECT_THAT(comparison_text(comparison), Not(HasSubstr("promised")))
      << "a recording with less may only not show it";
  comparison.caveats.clear();
  comparison.base.runs = {"one", "two"};
  EXPECT_THAT(comparison_text(comparison), Not(HasSubstr("promised"))) << "one run of two has it";
  EXPECT_THAT(comparison_text(comparison), HasSubstr("21.0 ms, in 1 of 2 runs"));
  comparison.base.runs = {"one"};
  comparison.findings.front().candidate.runs = 1;
  EXPECT_THAT(comparison_text(comparison), Not(HasSubstr("promised"))) << "it is still there";
  comparison.findings.clear();
  EXPECT_THAT(comparison_text(comparison), Not(HasSubstr("finding, cost")));
}

TEST(ComparisonText, WhatDiffersStandsBeforeTheVerdict) {
  support::SyntheticOptions candidate = compared_job();
  candidate.devices = 3;
  std::string const text = comparison_text(analyzer::compare_runs(
      {compared_sample(compared_job(), "before")}, {compared_sample(candidate, "after")}));
  size_t const at = text.find("Not the same on both sides");
  ASSERT_NE(at, std::string::npos);
  size_t const verdict = text.find(": a step takes");
  EXPECT_LT(at, verdict);
  EXPECT_LT(text.find("number of devices: 2 → 3"), verdict);
}

TEST(ComparisonText, TheSameIsSaidInOneSentence) {
  support::SyntheticOptions candidate = compared_job();
  candidate.seed = 2;
  Comparison const comparison = analyzer::compare_runs({compared_sample(compared_job(), "before")},
                                                       {compared_sample(candidate, "after")});
  EXPECT_THAT(headline(comparison), testing::StartsWith("SAME: a step takes"));
  EXPECT_THAT(headline(comparison), HasSubstr("Changes of less than 2.0 % do not count."));
}

TEST(ComparisonText, OutliersTurnTheSameIntoUnclear) {
  analyzer::RunMeasurements const base = compared_sample(compared_job(), "before");
  analyzer::RunMeasurements candidate = base;
  candidate.all_steps_ns = candidate.steady_steps_ns + 3e6;
  candidate.outlier_steps = 2;
  Comparison const comparison = analyzer::compare_runs({base}, {candidate});
  EXPECT_THAT(headline(comparison), testing::AllOf(testing::StartsWith("UNCLEAR"),
                                                   HasSubstr("cost 3.00 ms a step more")));
  EXPECT_THAT(comparison_text(comparison), HasSubstr("new: 1 of warm-up, 2 outliers"));
}

TEST(ComparisonText, AChangeThatMayBeChanceSaysSo) {
  analyzer::RunMeasurements const base = compared_sample(compared_job(), "before");
  Comparison comparison = analyzer::compare_runs({base}, {base});
  analyzer::Metric& step = comparison.metrics.front();
  ASSERT_EQ(&step, &comparison.step());
  comparison.verdict = step.verdict = analyzer::Verdict::kUnclear;
  step.change.shift = {3 * step.least, 2 * step.least, 4 * step.least};
  step.change.p = 0.0027;
  EXPECT_THAT(headline(comparison),
              HasSubstr("which may be chance: p is 0.0027, and less than 0.002 is needed."));

  step.change.shift.low = step.least / 2;
  EXPECT_THAT(headline(comparison), HasSubstr("not enough to decide"));
}

TEST(ComparisonText, EveryRefusalSaysWhatToDo) {
  analyzer::RunMeasurements const good = compared_sample(compared_job(), "good");
  analyzer::RunMeasurements none = good;
  none.name = "none";
  none.steps.clear();
  EXPECT_THAT(refusal_text(analyzer::compare_runs({good}, {none})),
              testing::AllOf(testing::StartsWith("none: "), HasSubstr("mark each step")));
  EXPECT_THAT(refusal_text(analyzer::compare_runs({}, {none})), HasSubstr("--vs"));
}

/// Warm-up and outliers wait longer: host ops are known of all steps together.
TEST(ComparisonText, WhatTheHostWasInExplainsNoMoreThanItsPart) {
  support::SyntheticOptions options = compared_job();
  options.input_delay_ns = 6'000'000;
  Sample const sample = make_sample(options);
  analyzer::Analysis longer = sample.analysis;
  for (analyzer::HostOpStats& op : longer.host_ops) op.idle_ns *= 3;

  analyzer::RunMeasurements const measured = analyzer::sample_run(sample.run, longer);
  double of_ops = 0, of_part = 0;
  for (auto const& op : measured.host_ops)
    if (op.cause == analyzer::IdleCause::kInput) of_ops += op.ns;
  auto const& part =
      measured.parts_ns[static_cast<size_t>(analyzer::idle_part(analyzer::IdleCause::kInput))];
  for (double const ns : part) of_part += ns / static_cast<double>(part.size());
  EXPECT_GT(of_ops, 0.9 * of_part);
  EXPECT_LE(of_ops, 1.000001 * of_part);
}

TEST(ComparisonText, MoreWaitingNamesEachDeviceThatCausesMuchOfIt) {
  Comparison comparison;
  comparison.parts_ns[static_cast<size_t>(analyzer::ChangePart::kWaiting)] = 3'000'000;
  comparison.late = {{3, 0, "compute", "", 0, 800'000},
                     {0, 0, "compute", "", 0, 1'600'000},
                     {1, 0, "launch_starved", "gc", 100'000, 500'000},
                     {2, 0, "compute", "", 900'000, 0},
                     {2, 0, "copy", "", 0, 200'000}};

  EXPECT_EQ(change_part_reason(comparison, analyzer::ChangePart::kWaiting),
            "+1.60 ms since rank 0 comes later (compute); +800 µs since rank 3 comes later "
            "(compute); +400 µs since rank 1 comes later (launch-bound: gc)");
  comparison.late.resize(1);
  comparison.late.front().candidate_ns = 200'000;
  EXPECT_EQ(change_part_reason(comparison, analyzer::ChangePart::kWaiting), "")
      << "it explains little";
}

TEST(ComparisonText, NumbersAreSigned) {
  EXPECT_EQ(signed_duration(1.2e6), "+1.20 ms");
  EXPECT_EQ(signed_duration(-500), "-500 ns");
  EXPECT_EQ(signed_share(5, 100), "+5.0 %");
  EXPECT_EQ(signed_share(-0.01, 100), "0.0 %");
  EXPECT_EQ(signed_share(5, 0), "new");
  EXPECT_EQ(signed_share(1900, 100), "×20");
}

TEST(ComparisonText, AnIntervalThatIsNotOfTheMeanSaysOfWhatItIs) {
  analyzer::Change change;
  EXPECT_EQ(interval_words(change), "");

  change.method = analyzer::CompareMethod::kMannWhitney;
  change.base_mean = 100;
  change.candidate_mean = 101;
  change.shift = {.estimate = 1, .low = 0.5, .high = 1.5};
  EXPECT_EQ(interval_words(change), "95 % interval +0.5 % to +1.5 %");
  change.candidate_mean = 104;
  EXPECT_EQ(interval_words(change),
            "95 % interval of a typical step +0.5 % to +1.5 %; a few steps moved the mean");
  change.unit = analyzer::CompareUnit::kRun;
  EXPECT_THAT(interval_words(change), HasSubstr("a typical run"));

  // The interval of few runs that vary widely can reach below no time at all.
  change.shift.low = -1.44 * change.base_mean;
  EXPECT_THAT(interval_words(change), HasSubstr("-100.0 % to "));
}

TEST(ComparisonJson, HoldsWhatTheTextSays) {
  Comparison const comparison = slower_by_input();
  json const document = json::parse(comparison_json(comparison));
  EXPECT_EQ(document["schema"], 2);
  EXPECT_EQ(document["verdict"], "slower");
  EXPECT_EQ(document["headline"], headline(comparison));
  EXPECT_EQ(document["base"]["runs"], json::array({"before"}));

  int64_t sum = 0;
  for (json const& part : document["why"]["parts"]) sum += part["ns"].get<int64_t>();
  EXPECT_EQ(sum, document["why"]["change_ns"]);
  EXPECT_EQ(sum,
            document["new"]["mean_ns"].get<int64_t>() - document["base"]["mean_ns"].get<int64_t>());
  EXPECT_EQ(document["why"]["parts"].size(), analyzer::kChangePartCount);

  json const& step = document["metrics"][0];
  EXPECT_EQ(step["name"], "step");
  EXPECT_EQ(step["method"], "mann_whitney");
  EXPECT_EQ(step["base_values"], 19);
  EXPECT_LT(step["low"], step["shift"]);
  EXPECT_EQ(step["least"].get<double>(), 0.02 * step["base"].get<double>());
}

TEST(ComparisonJson, HasTheFindingsOfBothSides) {
  Comparison const comparison = slower_by_input();
  json const rows = json::parse(comparison_json(comparison))["findings"];
  ASSERT_FALSE(rows.empty());
  json const& row = rows.front();
  EXPECT_EQ(row["rule"], "input-bound");
  EXPECT_TRUE(row["base"].is_null());
  EXPECT_EQ(row["new"]["runs"], 1);
  EXPECT_EQ(row["new"]["severity"], "critical");
  EXPECT_NEAR(row["new"]["cost_ns_per_step"].get<double>(), 6e6, 1e6);
}

TEST(ComparisonJson, WhatWasNotTestedIsNull) {
  support::SyntheticOptions few = compared_job();
  few.steps = 4;
  json const document = json::parse(comparison_json(analyzer::compare_runs(
      {compared_sample(few, "before")}, {compared_sample(compared_job(), "after")})));
  EXPECT_EQ(document["verdict"], "unclear");
  for (char const* const key : {"shift", "low", "high", "p", "adjusted_p", "method"})
    EXPECT_TRUE(document["metrics"][0][key].is_null());
  EXPECT_EQ(document["caveats"][0]["caveat"], "few_steps");
}

TEST(Comparison, HostileNamesAreMadePrintable) {
  Sample const hostile = make_hostile_sample();
  analyzer::RunMeasurements const sample = analyzer::sample_run(hostile.run, hostile.analysis);
  analyzer::RunMeasurements changed = sample;
  changed.command += support::kHostileText;
  changed.facts.emplace_back(support::kHostileText, support::kHostileText);
  changed.hosts = {support::kHostileText};
  for (auto& kernel : changed.kernels)
    for (double& ns : kernel.ns) ns *= 2;

  Comparison const comparison = analyzer::compare_runs({sample}, {changed});
  ASSERT_FALSE(comparison.refusal);

  std::string const text = comparison_text(comparison);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("\x07")));

  std::string const document = comparison_json(comparison);
  EXPECT_THAT(document, Not(HasSubstr("\x1b")));
  EXPECT_TRUE(json::accept(document));
}

}  // namespace
}  // namespace stepscope::reports
