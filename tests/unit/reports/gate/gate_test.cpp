// A gate's verdict in words, and in the text of the command.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/markdown/markdown.h"
#include "reports/text/comparison.h"
#include "reports/text/gate.h"
#include "reports/words/runs/gate_words.h"
#include "tests/unit/reports/gate/gate_results.h"

namespace stepscope::reports {
namespace {

using analyzer::Bound;
using analyzer::GateResult;
using analyzer::GateVerdict;
using analyzer::gate_testing::measured_run;
using analyzer::gate_testing::noisy;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(GateWords, SayWhatFailedAndWhy) {
  GateResult const result = failed_gate();
  ASSERT_EQ(result.verdict, GateVerdict::kFailed);

  EXPECT_THAT(gate_headline(result),
              testing::StartsWith("FAILED: cifar10: 2 of 5 checks failed: step time, budget "
                                  "step_time_ms <= 11 ms. Most of it: more idle time: waiting for "
                                  "input"));
  EXPECT_THAT(gate_headline(result), HasSubstr("Reason: "));
  EXPECT_THAT(answer_message(result, result.answers[0]),
              AllOf(HasSubstr("SLOWER: a step takes 12.0 ms instead of"),
                    HasSubstr("Most of it: more idle time: waiting for input"),
                    HasSubstr("in “wait for batch”")));
  EXPECT_THAT(answer_message(result, result.answers[2]),
              AllOf(HasSubstr("BROKEN: step_time_ms is"), HasSubstr("(ci/budgets.toml:3)")));
  EXPECT_THAT(answer_message(result, result.answers[4]),
              HasSubstr("UNCLEAR: the recording has no peak_reserved_gb"));
}

TEST(GateWords, SayWhatMakesTheBaselineOneOfAnotherMachineAndNothingElse) {
  auto base = measured_run(steps_near(10e6), "base"),
       candidate = measured_run(steps_near(12e6), "new");
  base.facts = {{"cpu", "a"}, {"driver", "1"}, {"seed", "1"}};
  candidate.facts = {{"cpu", "b"}, {"driver", "2"}, {"seed", "2"}};
  base.device_names = {"old device"};
  candidate.device_names = {"new device"};

  GateResult const devices = analyzer::check_runs({base}, {candidate}, {});
  EXPECT_THAT(answer_message(devices, devices.answers[0]),
              HasSubstr("another machine (device: old device → new device), so"));

  base.device_names = candidate.device_names = {"host:0"};
  GateResult const hosts = analyzer::check_runs({base}, {candidate}, {});
  EXPECT_THAT(answer_message(hosts, hosts.answers[0]),
              HasSubstr("another machine (cpu: a → b), so"));
}

TEST(GateWords, SayHowManyMoreWouldSettleIt) {
  GateResult const result = unclear_gate();
  ASSERT_EQ(result.verdict, GateVerdict::kUnclear);
  ASSERT_TRUE(result.answers[0].more.has_value());
  EXPECT_THAT(answer_message(result, result.answers[0]),
              AllOf(HasSubstr("Steps vary by"), HasSubstr(" would settle it")));
  EXPECT_EQ(more_text({12, false, analyzer::CompareUnit::kStep}), "12 more steps of the new run");
  EXPECT_EQ(more_text({1, true, analyzer::CompareUnit::kRun}), "1 more run on each side");
}

TEST(GateWords, ValuesNearALimitShowOnWhichSideTheyAre) {
  GateResult const result =
      analyzer::check_runs({}, {measured_run(std::vector<double>(10, 12.0001e6))},
                           {budget_on("step_time_ms", Bound::kAtMost, 12, 1)});
  EXPECT_THAT(answer_summary(result, result.answers[0]), HasSubstr("12.0001 ms"));
}

TEST(GateWords, SayThatABaselineWasWritten) {
  GateResult result = written_baseline();
  EXPECT_EQ(gate_headline(result),
            "BASELINE WRITTEN: cifar10: 4 runs, in ci/baselines/cifar10.json.");

  result.kept_baseline->replaces = true;
  EXPECT_EQ(gate_headline(result),
            "BASELINE WRITTEN: cifar10: 4 runs, in ci/baselines/cifar10.json, in place of the one "
            "before.");
  EXPECT_EQ(next_command(*result.kept_baseline), "stepscope check NEW… --baseline ci/baselines");
  EXPECT_TRUE(gate_notes(result).empty());

  EXPECT_THAT(gate_notes(written_baseline(1)),
              testing::ElementsAre(HasSubstr("1 run tells little about the variation")));
  result.kept_baseline->noise = analyzer::Noise{1e6, 1.1e6};
  EXPECT_THAT(gate_notes(result),
              testing::ElementsAre(HasSubstr("Smaller slowdowns would be unclear")));

  result.kept_baseline->place = "it's $HOME";
  result.kept_baseline->asked_name = "gpt";
  EXPECT_EQ(next_command(*result.kept_baseline),
            "stepscope check NEW… --baseline 'it'\\''s $HOME' --name gpt");

  EXPECT_THAT(gate_text(written_baseline()),
              AllOf(testing::StartsWith("BASELINE WRITTEN: "), HasSubstr("\n  base-2     20  "),
                    HasSubstr("2.79 GiB\n"), HasSubstr("Runs vary by"),
                    HasSubstr("\nNext: stepscope check NEW…")));

  EXPECT_THAT(
      gate_markdown(written_baseline()),
      AllOf(
          HasSubstr(
              "| run | steps | step | peak memory allocated |\n|---|--:|--:|--:|\n| base-1 | 20 |"),
          HasSubstr("\nNext: stepscope check")));
}

TEST(GateWords, SayWhatIsKeptBesideTheVerdict) {
  GateResult passed =
      analyzer::check_runs({measured_run(steps_near(10e6))}, {measured_run(steps_near(9e6))}, {});
  ASSERT_EQ(passed.verdict, GateVerdict::kPassed);
  EXPECT_THAT(gate_notes(passed),
              testing::Contains(HasSubstr("--update-baseline makes this run the new baseline")));

  passed.kept_baseline = written_baseline().kept_baseline;
  passed.kept_history = {"h.json", 1, 9};
  EXPECT_THAT(gate_headline(passed), testing::StartsWith("PASSED"));
  EXPECT_THAT(
      gate_notes(passed),
      testing::ElementsAre(
          "The new runs are the baseline from now on: 4 runs, in ci/baselines/cifar10.json.",
          "History: 1 run added to h.json, which has 9 runs now."));

  GateResult failed = failed_gate();
  failed.kept_baseline = written_baseline().kept_baseline;
  failed.kept_baseline->is_written = false;
  EXPECT_THAT(
      gate_notes(failed),
      testing::Contains("ci/baselines/cifar10.json: unchanged, because the check did not pass."));
  EXPECT_THAT(gate_text(failed), Not(HasSubstr("Next: ")));
  EXPECT_THAT(gate_markdown(failed), Not(HasSubstr("Next: ")));
}

TEST(GateWords, SayWhereNothingWasToBeChecked) {
  GateResult result;
  result.name = "gpt";
  result.history = analyzer::analyze_history(
      {analyzer::history_point(measured_run(steps_near(10e6)), "c")}, 0.02);

  EXPECT_EQ(gate_headline(result),
            "HISTORY: gpt: 1 run; nothing was checked, because there is neither a baseline nor a "
            "budget.");

  result.kept_history = {"h.json", 1, 9};
  EXPECT_EQ(gate_headline(result),
            "HISTORY WRITTEN: gpt: 1 run added to h.json, which has 9 runs now.");
}

TEST(GateWords, ShareOfNoiseHaveNoExponent) {
  std::vector<analyzer::RunMeasurements> const base = {measured_run(std::vector<double>(9, 10e6)),
                                                       measured_run(std::vector<double>(9, 20e6))};
  GateResult const result = analyzer::check_runs(base, base, {});
  std::string const noise = noise_text(result, result.answers[0]);
  EXPECT_THAT(noise, AllOf(HasSubstr("Runs vary by 47 %"), Not(HasSubstr("e+"))));
  EXPECT_THAT(noise, HasSubstr("More runs would hardly settle it: they vary too much"));

  // The comparison below it has no other number of runs.
  EXPECT_THAT(comparison_text(*result.comparison), HasSubstr("With so few runs"));
  EXPECT_THAT(gate_text(result), Not(HasSubstr("With so few runs")));
  EXPECT_THAT(gate_markdown(result), Not(HasSubstr("With so few runs")));
}

TEST(GateText, BeginsWithTheVerdictAndHasALineForEachCheck) {
  std::string const text = gate_text(failed_gate());
  EXPECT_THAT(text, testing::StartsWith("FAILED: cifar10: "));
  EXPECT_THAT(text,
              AllOf(HasSubstr("  FAILED   step time: 10.0 ms"),
                    HasSubstr("  passed   budget compute_share >= 10 %"),
                    HasSubstr("  UNCLEAR  budget peak_reserved_gb <= 70 GB"), HasSubstr("Why: ")));
}

TEST(GateText, TellsWhereAHistoryChanged) {
  GateResult const result = hostile_gate();
  ASSERT_EQ(result.history->changes.size(), 1U);
  EXPECT_THAT(gate_text(result),
              AllOf(HasSubstr("changed its level once"), HasSubstr("SLOWER since run 11")));
}

TEST(GateWords, SayWhereAHistoryWentToAnotherMachine) {
  std::vector<analyzer::HistoryPoint> points;
  for (int i = 0; i < 20; ++i) {
    points.push_back(analyzer::history_point(measured_run(steps_near(i < 10 ? 10e6 : 12e6)),
                                             "c" + std::to_string(i)));
    points.back().device = i < 10 ? "1 × A" : "1 × B";
  }

  analyzer::HistoryStats const history = analyzer::analyze_history(points, 0.02);
  ASSERT_EQ(history.changes.size(), 1U);
  EXPECT_THAT(level_change_text(history, history.changes[0]),
              AllOf(testing::StartsWith("SLOWER since run 11 (c10): a step takes 12.0 ms instead "
                                        "of 10.0 ms (+20.0 %); most of it: compute"),
                    HasSubstr("From there on it ran on another machine: 1 × B, before 1 × A")));
}

}  // namespace
}  // namespace stepscope::reports
