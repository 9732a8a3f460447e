// The search as a whole, on machines that do not exist: what it finds, what it leaves, what it
// costs.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tune/tune_samples.h"

namespace stepscope::tune {
namespace {

using testing::HasSubstr;
using testing_machine::Machine;
using testing_machine::space_of;
using testing_machine::unhurried;

double no_effect(Settings const&) { return 1; }

/// Ten knobs with two other values each: 20 settings.
Space twenty_settings() {
  return space_of(std::vector<std::vector<std::string>>(10, {"0", "1", "2"}));
}
size_t count_trials(Study const& study, TrialVerdict verdict) {
  return static_cast<size_t>(
      std::count_if(study.trials().begin(), study.trials().end(),
                    [&](Trial const& trial) { return trial.verdict == verdict; }));
}
size_t count_actions(Machine const& machine, ActionKind kind) {
  return static_cast<size_t>(
      std::count_if(machine.actions.begin(), machine.actions.end(),
                    [&](Action const& action) { return action.kind == kind; }));
}
/// A space whose first knob is an input delay and whose second is overlap, with another one that is
/// only measured.
Space known_knobs() {
  Space space = space_of({{"40", "0"}, {"off", "on"}, {"1", "2"}});
  space.knobs[0].meaning = find_meaning("input-delay-ms");
  space.knobs[1].meaning = find_meaning("overlap");
  space.knobs[2].meaning = find_meaning("communication");
  return space;
}

TEST(StudySimulation, AHealthyDefaultStays) {
  size_t stayed = 0, taken = 0, candidates = 0;
  for (uint32_t seed = 1; seed <= 110; ++seed) {
    Machine machine(no_effect, seed % 2 == 0 ? 0.01 : 0.02, seed);
    Study study(twenty_settings(), unhurried());
    StudyAnswer const answer = machine.search(study);
    if (answer.outcome == StudyOutcome::kTooNoisy) continue;

    candidates += answer.measured;
    taken += count_trials(study, TrialVerdict::kAccepted);
    stayed += answer.outcome == StudyOutcome::kNothingBetter ? 1 : 0;
  }
  // At most 2 % of the candidates, and 19 of 20 searches.
  EXPECT_GE(candidates, 2000U);
  EXPECT_LE(taken * 50, candidates);
  EXPECT_GE(stayed, 104U);
}

TEST(StudySimulation, FindsTheKnobsThatHelpAndConfirmsThem) {
  auto const cost = [](Settings const& settings) {
    return (settings[3] == "1" ? 0.92 : 1) * (settings[7] == "2" ? 0.9 : 1);
  };
  size_t both = 0;
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    Machine machine(cost, 0.01, seed);
    Study study(twenty_settings(), unhurried());
    StudyAnswer const answer = machine.search(study);

    bool const is_best = answer.best[3] == "1" && answer.best[7] == "2";
    both += is_best && answer.outcome == StudyOutcome::kBetter ? 1 : 0;
    if (is_best && answer.saving) {
      EXPECT_NEAR(answer.saving->saving, 1 - 0.92 * 0.9, 0.03);
    }
  }
  EXPECT_GE(both, 18U);
}

TEST(StudySimulation, NewPairsCorrectWhatChanceMadeTooGood) {
  // A gain of just the smallest that counts is accepted where chance made it larger.
  double accepted = 0, confirmed = 0;
  int count = 0;
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    Machine machine([](Settings const& s) { return s[0] == "1" ? 0.97 : 1.0; }, 0.02, seed);
    Study study(space_of({{"0", "1"}}), unhurried());
    machine.search(study);

    for (Trial const& trial : study.trials()) {
      if (trial.kind == TrialKind::kCandidate && trial.verdict == TrialVerdict::kAccepted)
        accepted += trial.measured->saving;
      if (trial.kind == TrialKind::kConfirmation) confirmed += trial.measured->saving;
      count += trial.kind == TrialKind::kConfirmation ? 1 : 0;
    }
  }
  ASSERT_GT(count, 20);
  EXPECT_LT(confirmed / count, accepted / count);
}

TEST(Study, MeasuresNoiseFirstAndStopsWhereItIsTooLarge) {
  Machine machine(no_effect, 0.2, 3);
  Study study(twenty_settings(), unhurried());
  StudyAnswer const answer = machine.search(study);
  EXPECT_EQ(answer.outcome, StudyOutcome::kTooNoisy);
  EXPECT_EQ(count_actions(machine, ActionKind::kPair), kNoisePairs);
  EXPECT_THAT(answer.reason, HasSubstr("equal runs differ by"));
  EXPECT_FALSE(answer.lacks_time) << "more time would not help";
}

TEST(Study, ABudgetWithoutTimeForOneCandidateIsRefused) {
  Machine machine(no_effect, 0.01, 3);
  machine.seconds_a_pair = 100;
  Study study(twenty_settings(), {{}, 600, false});
  StudyAnswer const answer = machine.search(study);
  EXPECT_EQ(answer.outcome, StudyOutcome::kTooNoisy);
  EXPECT_THAT(answer.reason, HasSubstr("300 s are left"));

  // And says how much time is likely to be enough: that much is.
  EXPECT_TRUE(answer.lacks_time);
  ASSERT_GT(study.enough_s(), 600);
  Machine again(no_effect, 0.01, 3);
  again.seconds_a_pair = 100;
  Study longer(twenty_settings(), {{}, study.enough_s(), false});
  EXPECT_EQ(again.search(longer).outcome, StudyOutcome::kNothingBetter);
}

TEST(Study, WhatIsPredictedNotToHelpIsDroppedWithoutARun) {
  Machine machine(no_effect, 0.01, 5);
  machine.replay = [](Settings const&, Candidate const& candidate) {
    return Prediction{Saving{0.001, 0, 0.01}, candidate.bound.front()};
  };

  Study study(known_knobs(), unhurried());
  StudyAnswer const answer = machine.search(study);
  EXPECT_EQ(answer.outcome, StudyOutcome::kNothingBetter);
  EXPECT_EQ(answer.dropped, 3U);
  EXPECT_EQ(answer.measured, 0U);
  EXPECT_EQ(count_actions(machine, ActionKind::kPair), kNoisePairs);
  EXPECT_THAT(study.trials().back().reason, HasSubstr("saves at most 1.0 %"));
}

TEST(Study, PredictsAgainAfterEachGain) {
  // Without the delay communication is what is left to hide.
  auto const cost = [](Settings const& settings) {
    if (settings[0] == "40") return 1.0;
    return settings[1] == "off" ? 0.5 : 0.4;
  };
  Machine machine(cost, 0.005, 5);
  machine.replay = [&](Settings const& best, Candidate const& candidate) {
    double const saving = 1 - cost(candidate.settings) / cost(best);
    return Prediction{Saving{saving, saving - 0.01, saving + 0.01}, "replayed"};
  };

  Study study(known_knobs(), unhurried());
  StudyAnswer const answer = machine.search(study);
  EXPECT_EQ(answer.outcome, StudyOutcome::kBetter);
  EXPECT_EQ(answer.best, (Settings{"0", "on", "1"}));
  EXPECT_EQ(count_actions(machine, ActionKind::kRecord), 3U);
  EXPECT_EQ(count_trials(study, TrialVerdict::kAccepted), 3U);  // the confirmation is one of them
  EXPECT_NEAR(answer.saving->saving, 0.6, 0.02);
}

TEST(Study, TheMostPromisingCandidateIsMeasuredFirst) {
  Machine machine(no_effect, 0.005, 5);
  machine.replay = [](Settings const&, Candidate const& candidate) {
    double const saving = candidate.meaning == "overlap" ? 0.3 : 0.1;
    return Prediction{Saving{saving, saving, saving}, candidate.meaning};
  };

  Study study(known_knobs(), unhurried());
  machine.search(study);
  EXPECT_EQ(study.trials()[2].change, "overlap");
  EXPECT_LT(study.trust_in("overlap"), 0.5);
  EXPECT_LT(study.trust_in("communication"), 0.8);
  EXPECT_EQ(study.trust_in("unheard of"), 1);
}

TEST(Study, ARequirementThatDoesNotHoldEndsACandidate) {
  Machine machine([](Settings const& s) { return s[0] == "1" ? 0.5 : 1.0; }, 0.005, 5);
  Study study(space_of({{"0", "1"}}), unhurried());
  for (size_t i = 0; i < kNoisePairs; ++i) machine.step(study);
  PairResult result = machine.run_pair(study.next());
  result.broken_requirement = "peak_reserved < capacity does not hold";
  study.add_pair(result);
  EXPECT_EQ(study.trials().back().verdict, TrialVerdict::kRequirement);
  EXPECT_EQ(machine.search(study).outcome, StudyOutcome::kNothingBetter);
}

TEST(Study, NumericsAreProposedAndNotTaken) {
  Space space = space_of({{"0", "1"}, {"0", "1"}});
  space.knobs[0].changes_numerics = true;
  auto const cost = [](Settings const& settings) {
    return (settings[0] == "1" ? 0.5 : 1) * (settings[1] == "1" ? 0.9 : 1);
  };
  Machine machine(cost, 0.005, 5);
  Study careful(space, unhurried());
  EXPECT_EQ(machine.search(careful).best, (Settings{"0", "1"}));
  EXPECT_EQ(count_trials(careful, TrialVerdict::kProposed), 1U);

  StudyOptions bold = unhurried();
  bold.allows_numerics = true;
  Study study(space, bold);
  EXPECT_EQ(machine.search(study).best, (Settings{"1", "1"}));
}

TEST(Study, AFailingCandidateIsATrialAndAFailingDefaultTheEnd) {
  Machine machine(no_effect, 0.005, 5);
  Study study(space_of({{"0", "1", "2"}}), unhurried());
  for (size_t i = 0; i < kNoisePairs; ++i) machine.step(study);
  study.next();
  study.add_failure("it ended with exit code 1", 2);
  EXPECT_EQ(study.trials().back().verdict, TrialVerdict::kFailed);
  StudyAnswer const answer = machine.search(study);
  EXPECT_EQ(answer.outcome, StudyOutcome::kNothingBetter);
  EXPECT_EQ(answer.measured, 2U);

  Study broken(space_of({{"0", "1"}}), unhurried());
  broken.next();
  broken.add_failure("no such program", 0);
  EXPECT_EQ(machine.search(broken).outcome, StudyOutcome::kFailed);
  EXPECT_EQ(broken.answer().reason, "no such program");
}

TEST(Study, TheSearchEndsWithItsTimeAndLeavesEnoughForTheAnswer) {
  auto const cost = [](Settings const& settings) { return settings[0] == "1" ? 0.8 : 1.0; };
  Machine machine(cost, 0.01, 5);
  Study study(twenty_settings(), {{}, 40, false});
  StudyAnswer const answer = machine.search(study);
  EXPECT_EQ(answer.outcome, StudyOutcome::kBetter);
  // The answer needs a pair more where the last candidates were noisier than those before.
  EXPECT_LE(study.spent_s(), 45);
  EXPECT_GT(answer.untried, 0U);
}

TEST(Study, GoesOnWhereItsTrialsEnd) {
  auto const cost = [](Settings const& settings) { return settings[2] == "2" ? 0.9 : 1.0; };
  Space const space = space_of({{"0", "1"}, {"0", "1"}, {"0", "1", "2"}});
  Machine whole_machine(cost, 0.01, 11), machine(cost, 0.01, 11);
  Study whole(space, unhurried());
  StudyAnswer const expected = whole_machine.search(whole);

  // Interrupted after each result: the machine's noise goes on as if nothing had been.
  std::vector<Trial> file;
  for (int i = 0; i < 10'000; ++i) {
    Study part(space, unhurried(), file);
    if (!machine.step(part)) break;
    for (Trial const& trial : part.take_changed()) {
      if (trial.number == file.size()) file.push_back(trial);
      file[trial.number] = trial;
    }
  }

  Study resumed(space, unhurried(), file);
  resumed.next();
  EXPECT_EQ(resumed.answer().outcome, expected.outcome);
  EXPECT_EQ(resumed.answer().best, expected.best);
  EXPECT_EQ(resumed.answer().saving->saving, expected.saving->saving);
  EXPECT_EQ(resumed.trials().size(), whole.trials().size());
}

TEST(Study, TheSameActionIsGivenUntilItsResultIsThere) {
  Study study(twenty_settings(), unhurried());
  Action const first = study.next(), again = study.next();
  EXPECT_EQ(first.kind, ActionKind::kPair);
  EXPECT_EQ(first.trial, again.trial);
  EXPECT_EQ(first.pair, again.pair);
  EXPECT_EQ(study.trials().size(), 1U);
}

}  // namespace
}  // namespace stepscope::tune
