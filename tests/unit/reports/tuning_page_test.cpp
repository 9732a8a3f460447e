#include "reports/html/tuning/tuning_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/words/runs/tuning_words.h"
#include "tests/e2e/report/hostile_run.h"
#include "tests/unit/reports/tuning_samples.h"

namespace stepscope::reports {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using tune::Study;
using tune::StudyOutcome;
using tune::testing_machine::Machine;
using tune::testing_machine::unhurried;

std::string page_of(Study const& study, ReportOptions const& options = {}) {
  return tuning_html({study, "tuned", "python3 train.py --delay 0", ""}, options);
}
size_t count_of_text(std::string const& text, std::string const& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(TuningPage, SaysWhatToSetAndShowsEachTrial) {
  Machine machine = tuning_machine();
  Study study(tuning_space(), unhurried());
  ASSERT_EQ(machine.search(study).outcome, StudyOutcome::kBetter);
  std::string const html = page_of(study);

  EXPECT_THAT(html, HasSubstr("Set delay=0: it saves"));
  EXPECT_THAT(html, HasSubstr(" new pairs of runs."));
  EXPECT_THAT(html, HasSubstr("<code>python3 train.py --delay 0</code>"));
  EXPECT_THAT(html, HasSubstr("stepscope tune tuned --confirm 20"));
  for (char const* const id : {"predictions", "sequence", "trials", "search"})
    EXPECT_THAT(html, HasSubstr("<section id=\"" + std::string(id) + "\""));

  // Input and overlap were predicted and measured; only the input was accepted.
  EXPECT_EQ(count_of_text(html, "<g class=\"point"), 2U);
  EXPECT_EQ(count_of_text(html, "<g class=\"point-filled\""), 1U);
  EXPECT_THAT(html, HasSubstr("Measured without a prediction, so not drawn: 2 settings."));
  EXPECT_THAT(html, HasSubstr("It changes results: --allow-numerics takes it."));
  EXPECT_THAT(html, HasSubstr("It does not save 2.0"));
  EXPECT_THAT(html, HasSubstr("It would undo an accepted setting."));
  EXPECT_THAT(html, HasSubstr("all together, by new pairs"));
}

TEST(TuningPage, SaysThatNothingIsBetter) {
  Machine machine([](tune::Settings const&) { return 1.0; }, 0.005, 5);
  Study study(tuning_space(), unhurried());
  ASSERT_EQ(machine.search(study).outcome, StudyOutcome::kNothingBetter);
  std::string const html = page_of(study);
  EXPECT_THAT(html, HasSubstr("None of 4 settings is shown to save"));
  EXPECT_THAT(html, HasSubstr("No setting has been accepted: the default stays."));
  EXPECT_THAT(html, HasSubstr("No setting has been both predicted and measured."));
  EXPECT_THAT(html, Not(HasSubstr("python3 train.py")));
}

TEST(TuningPage, SaysThatNewPairsCountWhereTheFirstOnesShowedMore) {
  bool is_late = false;
  Machine machine(
      [&](tune::Settings const& settings) {
        if (settings[0] != "0") return 1.0;
        return is_late ? 0.8 : 0.5;
      },
      0.005, 5);
  Study study(tuning_space(), unhurried());
  while (study.best() == tune::default_settings(study.space())) ASSERT_TRUE(machine.step(study));

  is_late = true;
  ASSERT_EQ(machine.search(study).outcome, StudyOutcome::kBetter);
  EXPECT_THAT(page_of(study), HasSubstr("The pairs that found it showed 49."));

  Machine steady = tuning_machine();
  Study other(tuning_space(), unhurried());
  ASSERT_EQ(steady.search(other).outcome, StudyOutcome::kBetter);
  EXPECT_THAT(page_of(other), Not(HasSubstr("The pairs that found it")));
}

TEST(TuningPage, SaysHowToGoOnWhereTheTimeEndedBeforeTheSearch) {
  Machine machine([](tune::Settings const&) { return 1.0; }, 0.005, 5);
  tune::StudyOptions options = unhurried();
  options.time_s = 14;
  Study study(tuning_space(), options);
  tune::StudyAnswer const answer = machine.search(study);
  ASSERT_EQ(answer.outcome, StudyOutcome::kNothingBetter);
  ASSERT_GT(answer.untried, 0U);

  std::string const html = page_of(study);
  EXPECT_THAT(html, HasSubstr("Nothing better so far: no setting is shown to save 2.0"));
  EXPECT_THAT(html, HasSubstr("of 4 were not tried for lack of time."));
  // The time that the rest is likely to take, not only more.
  EXPECT_GT(study.enough_s(), options.time_s);
  EXPECT_THAT(html, HasSubstr(fmt::format("stepscope tune tuned --resume --time {}m",
                                          std::ceil(study.enough_s() / 60))));
}

TEST(TuningPage, SaysWhyADroppedSettingWasNotRun) {
  Machine machine = tuning_machine();
  machine.replay = [](tune::Settings const&, tune::Candidate const&) {
    return tune::Prediction{tune::Saving{0.001, 0, 0.01}, "overlap"};
  };
  Study study(tuning_space(), unhurried());
  machine.search(study);
  EXPECT_THAT(page_of(study), HasSubstr("A replay of overlap saves at most 1.0"));
}

TEST(TuningPage, ASearchThatHasNotBegunOrIsNotOverSaysSo) {
  Study study(tuning_space(), unhurried());
  study.next();
  std::string html = page_of(study);
  EXPECT_THAT(html, HasSubstr("The search is not over: nothing better has been found so far."));
  EXPECT_THAT(html, HasSubstr("Go on: stepscope tune tuned --resume"));
  EXPECT_THAT(html, HasSubstr("Nothing has been measured so far."));
  EXPECT_THAT(html, Not(HasSubstr("id=\"untried\"")));

  // Interrupted after the first gain.
  Machine machine = tuning_machine();
  while (study.best() == tune::default_settings(study.space())) ASSERT_TRUE(machine.step(study));
  study.next();
  html = page_of(study);
  EXPECT_THAT(html, HasSubstr("The search is not over: so far delay=0 is the best."));
  EXPECT_THAT(html, HasSubstr("From the default to the best settings"));
  EXPECT_THAT(html, Not(HasSubstr("all together, by new pairs")));
}

TEST(TuningPage, ANoisyMachineAndADefaultThatFailsAreExplained) {
  Machine machine = tuning_machine(0.8);
  Study noisy(tuning_space(), unhurried());
  ASSERT_EQ(machine.search(noisy).outcome, StudyOutcome::kTooNoisy);
  EXPECT_THAT(page_of(noisy), HasSubstr("Too noisy: equal runs differ by"));
  EXPECT_THAT(page_of(noisy), HasSubstr("Equal runs differ too much to show what it saves."));

  Machine slow = tuning_machine(0.01);
  slow.seconds_a_pair = 100;
  Study hurried(tuning_space(), {{}, 600, false});
  ASSERT_TRUE(slow.search(hurried).lacks_time);
  EXPECT_THAT(page_of(hurried), HasSubstr("Too little time: equal runs differ by"));
  EXPECT_THAT(page_of(hurried), HasSubstr("delay=0 is predicted to save"));
  EXPECT_THAT(page_of(hurried), ContainsRegex("Give it more time, [0-9]+m for all settings: "
                                              "stepscope tune tuned --resume --time [0-9]+m"));

  Study broken(tuning_space(), unhurried());
  broken.next();
  broken.add_failure("it ended with exit code 1", 0);
  broken.next();
  EXPECT_THAT(page_of(broken),
              HasSubstr("The default settings do not run: it ended with exit code 1."));
}

TEST(TuningPage, FurtherPairsStandBesideTheAnswer) {
  Machine machine = tuning_machine();
  tune::StudyOptions options = unhurried();
  options.further_pairs = 20;
  Study study(tuning_space(), options);
  tune::StudyAnswer const answer = machine.search(study);
  ASSERT_TRUE(answer.further);

  std::string const html = page_of(study);
  EXPECT_THAT(html, HasSubstr("20 further pairs save"));
  EXPECT_THAT(html, HasSubstr(answer.further->is_inside ? "is inside the interval of the answer"
                                                        : "is outside the interval of the answer"));
  EXPECT_THAT(html, HasSubstr(">further pairs<"));
}

TEST(TuningPage, HostileNamesStayText) {
  Machine machine = tuning_machine();
  Study study(tuning_space(support::kHostileText), unhurried());
  machine.search(study);
  std::string const html =
      tuning_html({study, support::kHostileText, support::kHostileText, support::kHostileText});
  EXPECT_THAT(html, Not(HasSubstr("<img src=x")));
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(html, HasSubstr("&lt;img src=x onerror=alert(1)&gt;"));
  EXPECT_THAT(html, Not(HasSubstr("\x1b")));
}

TEST(TuningPage, SpeaksChinese) {
  Machine machine = tuning_machine();
  Study study(tuning_space(), unhurried());
  machine.search(study);
  ReportOptions options;
  options.language = Language::kChinese;
  std::string const html = page_of(study, options);
  EXPECT_THAT(html, HasSubstr("lang=\"zh-CN\""));
  for (char const* const english : {"Accepted settings", "Predicted", "it saves", "no gain"})
    EXPECT_THAT(html, Not(HasSubstr(english)));
}

TEST(TuningWords, IntervalsWithoutBoundsAreLeftOut) {
  EXPECT_EQ(saving_with_interval({0.123, 0.1, 0.145}), "12.3 % (10.0 … 14.5 %)");
  EXPECT_EQ(saving_with_interval({0.123, -INFINITY, INFINITY}), "12.3 %");
  EXPECT_EQ(percent_of(-0.0001), "0.0 %");
  EXPECT_EQ(percent_of(NAN), "–");
}

}  // namespace
}  // namespace stepscope::reports
