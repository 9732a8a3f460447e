// trials.jsonl: what is written is read again, cut lines are tolerated, other files are refused.
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tune/tune_samples.h"
#include "tune/trial_log.h"

namespace stepscope::tune {
namespace {

using testing::HasSubstr;

Space two_knobs() { return testing_machine::space_of({{"0", "4"}, {"off", "on"}}); }

Trial candidate_trial(size_t number) {
  Trial trial;
  trial.number = number;
  trial.kind = TrialKind::kCandidate;
  trial.base = {"0", "off"};
  trial.settings = {"4", "off"};
  trial.runs = {"runs/1-base", "runs/1-new"};
  trial.pairs = {{2e6, 1e6, 2.1e6, 1.1e6}};

  trial.predicted = Saving{0.4, 0.3, 0.6};
  trial.change = "input=0";
  double const all = std::numeric_limits<double>::infinity();
  trial.measured = Saving{0.5, -all, all};
  trial.verdict = TrialVerdict::kRunning;
  trial.reason = "it is \"so\"\n";
  trial.seconds = 12.5;
  return trial;
}
std::string log_of(std::vector<Trial> const& trials) {
  std::string text = log_header("0123");
  for (Trial const& trial : trials) text += trial_line(two_knobs(), trial);
  return text;
}
std::string log_error(std::string const& text, std::string const& fingerprint = "0123") {
  auto const log = parse_trial_log(text, "trials.jsonl", two_knobs(), fingerprint);
  return log ? "read" : log.error().message;
}

TEST(TrialLog, WhatIsWrittenIsRead) {
  auto const log =
      parse_trial_log(log_of({candidate_trial(0)}), "trials.jsonl", two_knobs(), "0123");
  ASSERT_TRUE(log) << log.error().message;
  ASSERT_EQ(log->trials.size(), 1U);
  Trial const& trial = log->trials[0];
  EXPECT_EQ(trial.kind, TrialKind::kCandidate);
  EXPECT_EQ(trial.settings, candidate_trial(0).settings);
  EXPECT_EQ(trial.runs, candidate_trial(0).runs);

  ASSERT_EQ(trial.pairs.size(), 1U);
  EXPECT_EQ(trial.pairs[0].candidate_all, 1.1e6);
  EXPECT_EQ(trial.predicted->high, 0.6);
  EXPECT_EQ(trial.measured->saving, 0.5);
  EXPECT_TRUE(std::isinf(trial.measured->high));
  EXPECT_EQ(trial.reason, candidate_trial(0).reason);
  EXPECT_FALSE(log->is_cut);
}

TEST(TrialLog, TheLastLineOfATrialCounts) {
  Trial later = candidate_trial(0);
  later.verdict = TrialVerdict::kAccepted;
  auto const log = parse_trial_log(log_of({candidate_trial(0), candidate_trial(1), later}),
                                   "trials.jsonl", two_knobs(), "0123");
  ASSERT_TRUE(log);
  ASSERT_EQ(log->trials.size(), 2U);
  EXPECT_EQ(log->trials[0].verdict, TrialVerdict::kAccepted);
}

TEST(TrialLog, ACutLastLineIsLeftOutWhereverItIsCut) {
  std::string const whole = log_of({candidate_trial(0)}),
                    both = log_of({candidate_trial(0), candidate_trial(1)});
  for (size_t size = whole.size() + 1; size < both.size(); ++size) {
    auto const log = parse_trial_log(both.substr(0, size), "trials.jsonl", two_knobs(), "0123");
    ASSERT_TRUE(log) << size;
    EXPECT_TRUE(log->is_cut);
    EXPECT_EQ(log->trials.size(), 1U);
    EXPECT_EQ(log->whole_bytes, whole.size());
  }

  auto const header =
      parse_trial_log(log_header("0123").substr(0, 9), "trials.jsonl", two_knobs(), "0123");
  ASSERT_TRUE(header);
  EXPECT_TRUE(header->is_cut);
  EXPECT_EQ(header->whole_bytes, 0U);
}

TEST(TrialLog, AnotherSearchIsRefused) {
  EXPECT_THAT(log_error(log_of({candidate_trial(0)}), "9999"), HasSubstr("another search"));
  EXPECT_THAT(log_error("{}\n"), HasSubstr("trials.jsonl"));
  EXPECT_THAT(log_error("step,ms\n1,2\n"), HasSubstr("no JSON"));
  EXPECT_NE(fingerprint_of("a"), fingerprint_of("b"));
}

TEST(TrialLog, BadLinesAreReportedWithTheirNumber) {
  std::string const good = log_of({candidate_trial(0)});
  EXPECT_THAT(log_error(good + "{\"trial\":\n"), HasSubstr("trials.jsonl:3: no JSON"));
  EXPECT_THAT(log_error(good + "{\"trial\":-1}\n"), HasSubstr("trials.jsonl:3: trial"));
  EXPECT_THAT(log_error(log_of({candidate_trial(1)})), HasSubstr("trial 0 is missing"));

  std::string odd = good;
  odd.replace(odd.find("\"candidate\""), 11, "\"dream\"");
  EXPECT_THAT(log_error(odd), HasSubstr("kind is not known"));
  std::string endless = good;
  endless.replace(endless.find("2000000.0"), 9, "0");
  EXPECT_THAT(log_error(endless), HasSubstr("without time"));
}

}  // namespace
}  // namespace stepscope::tune
