#include "tune/overview.h"

#include <algorithm>
#include <cstddef>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tune/tune_samples.h"

namespace stepscope::tune {
namespace {

using testing_machine::Machine;
using testing_machine::space_of;
using testing_machine::unhurried;

TEST(SearchOverview, AcceptedMovesMultiplyFromTheDefaultOn) {
  auto const cost = [](Settings const& settings) {
    return (settings[0] == "1" ? 0.8 : 1) * (settings[1] == "1" ? 0.5 : 1);
  };
  Machine machine(cost, 0.005, 5);
  Study study(space_of({{"0", "1"}, {"0", "1"}}), unhurried());
  EXPECT_TRUE(accepted_moves(study).empty());
  EXPECT_FALSE(default_cost_ns(study));
  machine.search(study);

  auto const moves = accepted_moves(study);
  ASSERT_EQ(moves.size(), 2U);
  EXPECT_EQ(moves[0].before, 1);
  EXPECT_EQ(moves[1].before, moves[0].after);
  EXPECT_NEAR(moves[0].after, 0.8, 0.02);
  EXPECT_NEAR(moves[1].after, 0.4, 0.02);
  EXPECT_NEAR(*default_cost_ns(study), 1e6, 2e4);
}

TEST(SearchOverview, CalibratesByMeaning) {
  Space space = space_of({{"40", "0"}, {"off", "on"}});
  space.knobs[0].meaning = find_meaning("input-delay-ms");
  space.knobs[1].meaning = find_meaning("overlap");
  Machine machine([](Settings const& s) { return s[0] == "0" ? 0.5 : 1.0; }, 0.005, 5);
  machine.replay = [](Settings const&, Candidate const& candidate) {
    double const saving = candidate.meaning == "overlap" ? 0.2 : 0.4;
    return Prediction{Saving{saving, saving, saving}, candidate.meaning};
  };
  Study study(space, unhurried());
  machine.search(study);

  auto const rows = calibrations(study);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].meaning, "input-delay-ms");
  EXPECT_NEAR(rows[0].predicted, 0.4, 1e-9);
  EXPECT_NEAR(rows[0].measured, 0.5, 0.02);
  EXPECT_GT(rows[0].trust, 1);
  EXPECT_EQ(rows[1].meaning, "overlap");
  EXPECT_NEAR(rows[1].measured, 0, 0.02);
  EXPECT_LT(rows[1].trust, 0.5);
}

TEST(SearchOverview, NamesWhatWasNotTriedAndWhy) {
  auto const cost = [](Settings const& settings) { return settings[0] == "1" ? 0.8 : 1.0; };
  Space const space = space_of(std::vector<std::vector<std::string>>(10, {"0", "1", "2"}));
  Machine machine(cost, 0.01, 5);
  StudyOptions options;
  options.time_s = 40;
  options.screens = false;

  Study study(space, options);
  EXPECT_TRUE(study.untried().empty());
  StudyAnswer const answer = machine.search(study);
  ASSERT_GT(answer.untried, 0U);

  auto const untried = study.untried();
  auto const count = [&](UntriedReason reason) {
    return std::count_if(untried.begin(), untried.end(),
                         [&](UntriedSetting const& one) { return one.reason == reason; });
  };
  EXPECT_EQ(count(UntriedReason::kTime), static_cast<ptrdiff_t>(answer.untried));
  EXPECT_EQ(count(UntriedReason::kTakenBack), 1);

  // A search that is over is read from its file without candidates.
  Study again(space, options, study.trials());
  again.next();
  EXPECT_EQ(again.untried().size(), untried.size());
}

}  // namespace
}  // namespace stepscope::tune
