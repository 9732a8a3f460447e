// Successive halving: what it finds in which time, that it errs no more often, and where it stays
// away.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tune/tune_samples.h"
#include "tune/trial_log.h"

namespace stepscope::tune {
namespace {

using testing_machine::Machine;
using testing_machine::space_of;

/// Sixteen settings that nothing predicts, and time to verify fewer than half of them.
Space sixteen_settings() { return space_of(std::vector<std::vector<std::string>>(16, {"0", "1"})); }
StudyOptions short_of_time(bool screens, double time_s = 45) {
  StudyOptions options;
  options.time_s = time_s;
  options.screens = screens;
  options.short_share = 0.25;
  return options;
}
size_t count_trials(Study const& study, TrialKind kind) {
  return static_cast<size_t>(std::count_if(study.trials().begin(), study.trials().end(),
                                           [&](Trial const& trial) { return trial.kind == kind; }));
}

struct Outcome {
  size_t found = 0;
  double seconds = 0;  ///< until it was accepted; the whole budget where it was not
};
/// Forty searches for one knob of sixteen that saves 5 %, another one in each.
Outcome search_for_one(bool screens) {
  Outcome outcome;
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    size_t const place = (seed * 7) % 16;
    Machine machine([=](Settings const& s) { return s[place] == "1" ? 0.95 : 1.0; }, 0.01, seed);
    Study study(sixteen_settings(), short_of_time(screens));
    StudyAnswer const answer = machine.search(study);

    bool const is_found = answer.best[place] == "1";
    outcome.found += is_found ? 1 : 0;
    double seconds = 0;
    for (Trial const& trial : study.trials()) {
      seconds += trial.seconds;
      if (trial.verdict == TrialVerdict::kAccepted) break;
    }
    outcome.seconds += is_found ? seconds : study.options().time_s;
  }
  return outcome;
}

TEST(ScreeningSimulation, FindsTheOneThatHelpsMoreOftenAndSooner) {
  Outcome const screened = search_for_one(true), in_order = search_for_one(false);
  EXPECT_GE(screened.found, 34U);
  EXPECT_GE(screened.found, in_order.found + 5);
  EXPECT_LT(screened.seconds, 0.9 * in_order.seconds);
}

TEST(ScreeningSimulation, AcceptsNoMoreCandidatesWithoutAnEffect) {
  size_t accepted = 0, verified = 0;
  for (uint32_t seed = 1; seed <= 150; ++seed) {
    Machine machine([](Settings const&) { return 1.0; }, seed % 2 == 0 ? 0.01 : 0.02, seed);
    Study study(sixteen_settings(), short_of_time(true));
    verified += machine.search(study).measured;
    for (Trial const& trial : study.trials())
      if (trial.kind == TrialKind::kCandidate && trial.verdict == TrialVerdict::kAccepted)
        accepted += 1;
  }

  EXPECT_GE(verified, 400U);
  EXPECT_LE(accepted * 50, verified);
}

TEST(Screening, HalvesRoundByRoundAndVerifiesTheBest) {
  Machine machine([](Settings const& s) { return s[11] == "1" ? 0.9 : 1.0; }, 0.005, 3);
  Study study(sixteen_settings(), short_of_time(true, 30));
  StudyAnswer const answer = machine.search(study);
  EXPECT_EQ(answer.best[11], "1");
  EXPECT_GT(answer.untried, 0U);

  // Sixteen settings by one short pair, then eight by two; whether four go on is up to the noise.
  EXPECT_GE(count_trials(study, TrialKind::kScreening), 16U + 8U);
  size_t pairs = 0, out = 0;
  for (Trial const& trial : study.trials()) {
    if (trial.kind != TrialKind::kScreening) continue;
    pairs += trial.pairs.size();
    out += trial.verdict == TrialVerdict::kScreenedOut && trial.pairs.size() == 1 ? 1 : 0;
  }
  EXPECT_EQ(out, 8U);
  EXPECT_GE(pairs, 16U + 2 * 8U);

  // The first verification is of the one that helps.
  auto const first = std::find_if(study.trials().begin(), study.trials().end(),
                                  [](auto const& t) { return t.kind == TrialKind::kCandidate; });
  ASSERT_NE(first, study.trials().end());
  EXPECT_EQ(first->settings[11], "1");
  size_t shorts = 0;
  for (Action const& action : machine.actions) shorts += action.is_short ? 1 : 0;
  EXPECT_EQ(shorts, pairs);

  auto const untried = study.untried();
  EXPECT_TRUE(std::any_of(untried.begin(), untried.end(), [](UntriedSetting const& one) {
    return one.reason == UntriedReason::kScreenedOut;
  }));
}

TEST(Screening, StaysAwayWhereTheTimeSufficesOrCandidatesAreFew) {
  auto const cost = [](Settings const&) { return 1.0; };
  StudyOptions options = short_of_time(true);
  Machine machine(cost, 0.01, 3);
  Study few(space_of({{"0", "1"}, {"0", "1"}, {"0", "1"}}), options);
  machine.search(few);
  EXPECT_EQ(count_trials(few, TrialKind::kScreening), 0U);

  options.time_s = 1e6;
  Study unhurried(sixteen_settings(), options);
  machine.search(unhurried);
  EXPECT_EQ(count_trials(unhurried, TrialKind::kScreening), 0U);
}

TEST(Screening, GoesOnWhereItsTrialsEnd) {
  auto const cost = [](Settings const& s) { return s[4] == "1" ? 0.9 : 1.0; };
  Machine whole_machine(cost, 0.01, 11), machine(cost, 0.01, 11);
  Study whole(sixteen_settings(), short_of_time(true, 30));
  StudyAnswer const expected = whole_machine.search(whole);
  ASSERT_GT(count_trials(whole, TrialKind::kScreening), 16U);

  // Written and read again after each result.
  Space const space = sixteen_settings();
  std::string file = log_header("0");
  for (int i = 0; i < 10'000; ++i) {
    auto const log = parse_trial_log(file, "trials.jsonl", space, "0");
    ASSERT_TRUE(log) << log.error().message;
    Study part(space, short_of_time(true, 30), log->trials);
    bool const goes_on = machine.step(part);
    for (Trial const& trial : part.take_changed()) file += trial_line(space, trial);
    if (!goes_on) break;
  }

  auto const log = parse_trial_log(file, "trials.jsonl", space, "0");
  Study resumed(space, short_of_time(true, 30), log->trials);
  resumed.next();
  EXPECT_EQ(resumed.answer().best, expected.best);
  EXPECT_EQ(resumed.trials().size(), whole.trials().size());
}

TEST(Screening, AFailedShortPairPutsASettingBackAndDoesNotCloseIt) {
  Machine machine([](Settings const&) { return 1.0; }, 0.01, 3);
  Study study(sixteen_settings(), short_of_time(true, 30));
  while (!study.next().is_short) ASSERT_TRUE(machine.step(study));
  study.add_failure("too few steps", 1);
  EXPECT_EQ(study.trials().back().verdict, TrialVerdict::kFailed);

  Settings const failed = study.trials().back().settings;
  machine.search(study);
  auto const untried = study.untried();
  EXPECT_TRUE(std::any_of(untried.begin(), untried.end(), [&](UntriedSetting const& one) {
    return one.settings == failed && one.reason == UntriedReason::kScreenedOut;
  }));
}

}  // namespace
}  // namespace stepscope::tune
