#include "reports/text/whatif.h"

#include <algorithm>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/words/whatif_words.h"
#include "tests/unit/reports/whatif_results.h"

namespace stepscope::reports {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

std::string text_of_sample(WhatIfSample const& sample, int width = 400) {
  return whatif_text(sample.run, sample.analysis, sample.stats, {false, width});
}

std::string headline_of_sample(WhatIfSample const& sample) {
  return whatif_headline(sample.analysis, sample.stats);
}

TEST(WhatIfWords, GainsHaveASign) {
  EXPECT_EQ(signed_gain(0.261), "+26.1 %");
  EXPECT_EQ(signed_gain(-0.03), "−3.0 %");
  EXPECT_EQ(signed_gain(0), "+0.0 %");
  EXPECT_EQ(signed_gain(-0.0001), "+0.0 %");
  EXPECT_EQ(signed_gain(0.99), "+99.0 %");
  EXPECT_EQ(signed_gain(1.5), "2.5 × as fast");
  EXPECT_EQ(signed_gain(11), "12.0 × as fast");
  EXPECT_EQ(signed_gain(std::numeric_limits<double>::infinity()), "–");
  EXPECT_EQ(signed_gain(std::numeric_limits<double>::quiet_NaN()), "–");
}

TEST(WhatIfWords, TheHeadlineIsTheFirstFix) {
  EXPECT_EQ(headline_of_sample(made_whatif()),
            "Fix input-bound first: input=0 makes the step 15.3 ms instead of 19.3 ms (26.1 % "
            "faster, 95 %: +25.9 % to +26.3 %).");
}

TEST(WhatIfWords, AGainWithinItsIntervalIsNoAdvice) {
  WhatIfSample sample = made_whatif();
  sample.stats.fixes.front().alone = predicted_answer("input=0", 0.001);
  EXPECT_EQ(headline_of_sample(sample),
            "No fix makes the step faster beyond doubt. The best one is for input-bound: input=0 "
            "gives +0.1 %, 95 %: −0.1 % to +0.3 %.");
}

TEST(WhatIfWords, WithoutFixesTheHeadlineIsTheBestChange) {
  WhatIfSample sample = made_whatif();
  sample.stats.fixes.clear();
  EXPECT_THAT(headline_of_sample(sample), StartsWith("class:compute=/2 makes the step 12.8 ms"));

  sample.stats.answers.erase(sample.stats.answers.begin());
  EXPECT_THAT(headline_of_sample(sample), StartsWith("No change makes the step faster"));

  sample.stats.answers = {refused_answer("overlap", "no gradient is known")};
  EXPECT_THAT(headline_of_sample(sample), StartsWith("No prediction: the replay cannot show"));

  sample.stats.answers.clear();
  EXPECT_THAT(headline_of_sample(sample), StartsWith("No finding of this run has a fix"));
}

TEST(WhatIfWords, PathsAreTheirLargestSharesFirst) {
  EXPECT_EQ(path_shares(split_path(1, 2, 1)),
            "communication 50.0 %, compute 25.0 %, waiting for input 25.0 %");
  EXPECT_EQ(path_shares({}), "");

  analyzer::PathSplit all{};
  all.fill(10);
  std::string const shares = path_shares(all);
  EXPECT_EQ(std::count(shares.begin(), shares.end(), ','), 4);
}

TEST(WhatIfWords, AnswersWithoutAnIntervalHaveNone) {
  analyzer::WhatIfAnswer answer = predicted_answer("input=0", 0.261);
  answer.low_ns = answer.high_ns = 0;
  EXPECT_THAT(step_interval(answer), IsEmpty());
  EXPECT_THAT(gain_interval(answer), IsEmpty());
}

TEST(WhatIfText, SaysWhatToDoThenHowFarToTrustIt) {
  std::string const text = text_of_sample(made_whatif());

  size_t at = 0;
  for (char const* const part :
       {"sample · 0 devices", "Fix input-bound first",
        "Replay of the unchanged run: 19.3 ms recorded, 19.3 ms replayed with typical delays, "
        "error "
        "0.0 %.",
        "known to ±0.4 % (95 %, 64 steps of all devices)", "Fixes of the findings",
        "bottleneck then", "input-bound", "exposed-communication", "Not predicted",
        "memory-leak: a leak costs", "class:compute=/2", "comm:latency=1ms",
        "overlap\n  no prediction: no gradient is known."}) {
    size_t const next = text.find(part, at);
    ASSERT_NE(next, std::string::npos) << part << " is missing or too early in\n" << text;
    at = next;
  }
}

TEST(WhatIfText, AFixHasItsGainAloneAndAfterThoseAboveIt) {
  WhatIfSample const sample = made_whatif();
  auto const rows = fix_rows(sample.analysis, sample.stats);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_THAT(rows[1], testing::ElementsAre("input-bound", "input=0", "15.3 ms", "+26.1 %",
                                            "15.3 ms", "+26.1 %", "compute: gemm_kernel"));
  EXPECT_THAT(rows[2],
              testing::ElementsAre("exposed-communication", "class:communication=0", "17.8 ms",
                                   "+8.1 %", "14.5 ms", "+5.2 %", "host code: optimizer"));
}

TEST(WhatIfText, SaysWhyFixesHaveAnotherOrderThanTheFindings) {
  WhatIfSample sample = made_whatif();
  constexpr char const* kWhy = "stepscope analyze orders by cost";
  ASSERT_GT(sample.stats.fixes[0].finding, sample.stats.fixes[1].finding);
  EXPECT_THAT(text_of_sample(sample), HasSubstr(kWhy));
  std::swap(sample.stats.fixes[0], sample.stats.fixes[1]);
  EXPECT_THAT(text_of_sample(sample), Not(HasSubstr(kWhy)));
}

TEST(WhatIfText, AnAnswerSaysWhatTheStepIsThen) {
  EXPECT_THAT(text_of_sample(made_whatif()),
              HasSubstr("class:compute=/2\n"
                        "  step 12.8 ms (95 %: 12.8 ms to 12.9 ms), gain +50.0 % (95 %: +49.8 % to "
                        "+50.2 %)\n"
                        "  changed: 1,234 operations, calls and stretches of host time\n"
                        "  critical path then: compute 80.0 %, communication 20.0 %\n"
                        "  bottleneck then: compute: gemm_kernel\n"
                        "  caution: kernels that overlap may take longer\n"));
  EXPECT_THAT(text_of_sample(made_whatif()), HasSubstr("gain −3.0 % (95 %: −3.2 % to −2.8 %)"));
}

TEST(WhatIfText, AnAnswerWithoutAGainSaysThatNoStepWaitsForWhatItChanges) {
  WhatIfSample sample = made_whatif();
  EXPECT_THAT(text_of_sample(sample), Not(HasSubstr("no step waits")));
  sample.stats.answers[0].gain = -0.0004;
  EXPECT_THAT(text_of_sample(sample),
              HasSubstr("1,234 operations, calls and stretches of host time; no step waits for "
                        "them\n"));
}

TEST(WhatIfText, ResidualsAndCautionsDependOnTheError) {
  WhatIfSample sample = made_whatif();
  sample.stats.baseline.residuals = {{"late_op", analyzer::PathClass::kCompute, 120'000, 64}};
  EXPECT_THAT(text_of_sample(sample), AllOf(Not(HasSubstr("late_op")), Not(HasSubstr("Caution"))));

  sample.stats.baseline.error = 0.002;
  EXPECT_THAT(text_of_sample(sample),
              AllOf(HasSubstr("late_op"), HasSubstr("+120 µs"), Not(HasSubstr("Caution"))));
  sample.stats.baseline.error = -0.021;
  EXPECT_THAT(text_of_sample(sample),
              AllOf(HasSubstr("error −2.1 %"), HasSubstr("Caution: the replay misses the step")));

  EXPECT_THAT(text_of_sample(sample), Not(HasSubstr("middle steps")));
  sample.stats.baseline.is_part = true;
  EXPECT_THAT(text_of_sample(sample), HasSubstr("middle steps"));
}

TEST(WhatIfText, ARefusedReplaySaysWhyAndNoNumbers) {
  std::string const text = text_of_sample(made_refused_whatif());
  EXPECT_THAT(
      text, AllOf(HasSubstr("No prediction: 44 % of the step is unexplained."),
                  HasSubstr("error −43.0 %"), HasSubstr("more than 5 %"), HasSubstr("graph_launch"),
                  Not(HasSubstr("input=0")), Not(HasSubstr("class:compute"))));
}

TEST(WhatIfText, HostileNamesColourNothing) {
  std::string const text = text_of_sample(made_hostile_whatif(hostile_whatif_text()), 100);
  EXPECT_THAT(text, AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\r")), Not(HasSubstr("\x9B")),
                          Not(HasSubstr("\n::error"))));
}

TEST(WhatIfText, WithoutAnythingIsAHeadline) {
  EXPECT_EQ(whatif_text({}, {}, {}),
            "run · 0 devices\n\nNo finding of this run has a fix to predict. Ask for a change with "
            "--change.\n");
}

}  // namespace
}  // namespace stepscope::reports
