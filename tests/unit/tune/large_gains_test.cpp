// Searches on machines that are too noisy, or with too little time, for the smallest gain. A large
// predicted saving is found, and a false promise is not taken.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tune/tune_samples.h"

namespace stepscope::tune {
namespace {

using testing::Contains;
using testing::Field;
using testing_machine::Machine;
using testing_machine::space_of;
using testing_machine::unhurried;

/// The replay knows the first knob, and predicts nothing of the second.
Space delay_and_unknown() {
  Space space = space_of({{"40", "0"}, {"1", "2"}});
  space.knobs[0].meaning = find_meaning("input-delay-ms");
  return space;
}
double without_delay(Settings const& settings) { return settings[0] == "0" ? 0.63 : 1; }
Prediction promise(Settings const& best, Candidate const&) {
  if (best[0] == "0") return {Saving{0, 0, 0}, "input=0"};
  return {Saving{0.35, 0.3, 0.4}, "input=0"};
}

TEST(LargeGains, AreFoundOnANoisyMachine) {
  size_t found = 0, searches = 0;
  double pairs = 0;
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    Machine machine(without_delay, 0.06, seed);
    machine.replay = [](Settings const& best, Candidate const& candidate) {
      return candidate.is_predictable() ? promise(best, candidate) : Prediction{};
    };
    Study study(delay_and_unknown(), unhurried());
    StudyAnswer const answer = machine.search(study);
    // Three pairs may look calm by chance: then it is a search as any other.
    if (needed_pairs(noise_of_equal_pairs(study.trials().front().pairs), {}) > 0) continue;

    ++searches;
    if (answer.outcome != StudyOutcome::kBetter) continue;
    ++found;
    pairs += static_cast<double>(answer.pairs);
    EXPECT_EQ(answer.best[0], "0");
    EXPECT_NEAR(answer.saving->saving, 0.37, 0.15);
    EXPECT_THAT(study.untried(),
                Contains(Field(&UntriedSetting::reason, UntriedReason::kNoise)).Times(1));
  }

  EXPECT_GE(searches, 25U);
  EXPECT_GE(found + 1, searches);
  EXPECT_LT(pairs / static_cast<double>(found), 8) << "as many as such a saving needs";
}

/// A search of pairs that take ten seconds each.
Study search_within(double seconds) {
  Machine machine(without_delay, 0.012, 3);
  machine.replay = promise;
  machine.seconds_a_pair = 10;
  Study study(delay_and_unknown(), {{}, seconds, false});
  machine.search(study);
  return study;
}

TEST(LargeGains, AreFoundInLittleTime) {
  Study const study = search_within(115);
  EXPECT_EQ(study.answer().outcome, StudyOutcome::kBetter) << study.answer().reason;
  EXPECT_LE(study.spent_s(), 115);
}

TEST(LargeGains, ThatTheTimeDoesNotSufficeForAreNamed) {
  Study const study = search_within(60);
  StudyAnswer const answer = study.answer();
  EXPECT_EQ(answer.outcome, StudyOutcome::kTooNoisy);
  EXPECT_TRUE(answer.lacks_time);
  ASSERT_TRUE(answer.promised);
  EXPECT_EQ(answer.promised->settings[0], "0");

  // So much time is enough for it.
  EXPECT_LT(study.enough_for_one_s(), study.enough_s());
  Study const longer = search_within(study.enough_for_one_s());
  EXPECT_EQ(longer.answer().outcome, StudyOutcome::kBetter);
}

TEST(LargeGains, ThatAreOnlyPredictedAreNotTaken) {
  size_t taken = 0, noisy = 0;
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    Machine machine([](Settings const&) { return 1.0; }, 0.06, seed);
    machine.replay = promise;
    Study study(delay_and_unknown(), unhurried());
    StudyAnswer const answer = machine.search(study);
    taken += answer.outcome == StudyOutcome::kBetter ? 1 : 0;
    if (answer.outcome != StudyOutcome::kTooNoisy) continue;

    ++noisy;
    EXPECT_GT(answer.measured, 0U);
    EXPECT_FALSE(answer.promised);
  }
  EXPECT_EQ(taken, 0U);
  EXPECT_GE(noisy, 120U);
}

TEST(LargeGains, NeedFewerPairsThanSmallOnes) {
  PairNoise const noise{0.06, 3};
  EXPECT_EQ(needed_pairs(noise, {}), 0U);
  size_t const of_large = needed_pairs(noise, {}, 0.35);
  EXPECT_GE(of_large, kFewestPairs);
  EXPECT_LE(of_large, 6U);
  EXPECT_GT(needed_pairs(noise, {}, 0.1), of_large);
}

}  // namespace
}  // namespace stepscope::tune
