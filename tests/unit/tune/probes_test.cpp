// Second recordings: when a search makes one, of what, and what becomes of its predictions.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tune/tune_samples.h"

namespace stepscope::tune {
namespace {

using testing::ElementsAre;
using testing_machine::Machine;
using testing_machine::space_of;
using testing_machine::unhurried;

/// The size of a batch is known to the replay, and another knob is only measured.
Space batch_space(std::vector<std::string> const& sizes) {
  Space space = space_of({sizes, {"x", "y"}});
  space.knobs[0].meaning = find_meaning("batch-size");
  return space;
}

/// A step takes as much for each sample; `waits`: and so much besides.
Machine::Cost cost_of_batch(double waits) {
  return [waits](Settings const& settings) { return waits + std::stod(settings[0]); };
}

double no_cost_change(Settings const&) { return 1; }

/// Answers questions about batches as an exact replay would, and keeps them.
struct BatchReplay {
  Machine::Cost cost;
  std::vector<std::string> asked = {};

  void drive(Machine& machine) {
    machine.replay = [this](Settings const& best, Candidate const& candidate) {
      if (candidate.estimate.empty()) return Prediction{};
      asked.push_back(candidate.estimate.front());
      double const saving = 1 - cost(candidate.settings) / cost(best);
      return Prediction{Saving{saving, saving, saving}, candidate.estimate.front()};
    };
  }
};

std::vector<Settings> recorded_settings(Machine const& machine) {
  std::vector<Settings> recorded;
  for (Action const& action : machine.actions)
    if (action.kind == ActionKind::kRecord) recorded.push_back(action.settings);
  return recorded;
}

TEST(Probes, TheFarthestSizeIsRecordedAndAllArePredicted) {
  BatchReplay replay{cost_of_batch(0)};
  Machine machine(replay.cost, 0.005, 5);
  replay.drive(machine);
  Study study(batch_space({"16", "8", "32", "64"}), unhurried());
  // Smaller batches take less: 8 saves a half.
  while (study.best()[0] == "16" && machine.step(study)) continue;

  EXPECT_THAT(recorded_settings(machine), ElementsAre(Settings{"16", "x"}, Settings{"64", "x"}));
  EXPECT_THAT(replay.asked, ElementsAre("batch:16,64=8", "batch:16,64=32", "batch:16,64=64"));
  EXPECT_EQ(study.trials()[2].kind, TrialKind::kRecording);
  EXPECT_EQ(study.trials()[2].base, (Settings{"16", "x"}));
  for (Trial const& trial : study.trials()) {
    bool const is_candidate = trial.kind == TrialKind::kCandidate;
    if (is_candidate && trial.settings[0] == "8") {
      EXPECT_NEAR(trial.predicted->saving, 0.5, 1e-9);
    }
    if (is_candidate && trial.settings[0] == "32") {
      EXPECT_EQ(trial.verdict, TrialVerdict::kDropped);
    }
  }
}

TEST(Probes, RecordingsFromBeforeAreTheProbeOfTheNextSettings) {
  BatchReplay replay{cost_of_batch(0)};
  Machine machine(replay.cost, 0.005, 5);
  replay.drive(machine);
  Study study(batch_space({"16", "8", "32", "64"}), unhurried());
  machine.search(study);

  // From 8 on the recording of 16 is there, and only 8 itself is recorded.
  EXPECT_EQ(study.best()[0], "8");
  EXPECT_THAT(recorded_settings(machine),
              ElementsAre(Settings{"16", "x"}, Settings{"64", "x"}, Settings{"8", "x"}));
  EXPECT_THAT(replay.asked, testing::Contains("batch:8,16=32"));
}

TEST(Probes, ASearchThatGoesOnKeepsThem) {
  BatchReplay replay{cost_of_batch(0)};
  Machine machine(replay.cost, 0.005, 5);
  replay.drive(machine);
  Study study(batch_space({"16", "8", "32"}), unhurried());
  while (study.trials().size() < 3 || study.trials()[2].verdict != TrialVerdict::kDone)
    ASSERT_TRUE(machine.step(study));

  Study resumed(study.space(), unhurried(), study.trials());
  Action const action = resumed.next();
  EXPECT_EQ(action.kind, ActionKind::kPredict);
  EXPECT_EQ(action.trial, 1U);
  EXPECT_THAT(resumed.candidates()[1].estimate, ElementsAre("batch:16,8=32"));
  EXPECT_EQ(resumed.candidates()[1].probe_run, "recording");
}

TEST(Probes, ARecordingOfNoSizeIsNone) {
  Space const space = batch_space({"16", "8", "32"});
  Machine machine(cost_of_batch(0), 0.005, 5);
  Study study(space, unhurried());
  while (study.next().kind != ActionKind::kPredict) machine.step(study);

  // As a damaged file may have it.
  std::vector<Trial> trials = study.trials();
  for (std::string const size : {"huge", "0", "-8", "1e300", ""}) {
    trials[2].settings[0] = size;
    Study damaged(space, unhurried(), trials);
    Action const action = damaged.next();
    EXPECT_EQ(action.kind, ActionKind::kRecord) << size;
    EXPECT_EQ(action.trial, 3U) << size;
  }
}

TEST(Probes, ASizeThatDoesNotRunIsReplacedByTheNext) {
  Machine machine(cost_of_batch(0), 0.005, 5);
  Study study(batch_space({"16", "8", "32", "64", "256"}), unhurried());
  while (study.next().trial < 2) ASSERT_TRUE(machine.step(study));
  EXPECT_EQ(study.next().settings[0], "256");
  study.add_failure("out of memory", 1);
  EXPECT_EQ(study.next().settings[0], "64");
}

TEST(Probes, AreNotMadeForASingleValueOrForNoSizes) {
  for (std::vector<std::string> const& sizes :
       {std::vector<std::string>{"16", "32"}, {"small", "medium", "large"}, {"0", "16", "32"}}) {
    Machine machine(no_cost_change, 0.005, 5);
    Study study(batch_space(sizes), unhurried());
    machine.search(study);
    EXPECT_TRUE(recorded_settings(machine).empty()) << sizes[0];
  }
}

TEST(Probes, SavingsAreOfASampleAndAsUncertainAsTwoRuns) {
  BatchReplay replay{cost_of_batch(16)};
  Machine machine(replay.cost, 0.01, 5);
  replay.drive(machine);
  Space space = batch_space({"16", "8", "32", "64"});
  space.samples = *Expression::parse("a");
  Study study(space, unhurried());
  while (study.next().kind != ActionKind::kPredict) machine.step(study);
  machine.step(study);
  Action const action = study.next();

  // A step of 64 takes 80 in place of 32, for four times the samples: 3 / 8 of a sample are saved.
  EXPECT_EQ(action.settings[0], "64");
  Saving const predicted = *study.trials()[action.trial].predicted;
  EXPECT_NEAR(predicted.saving, 3.0 / 8, 1e-9);
  double const spread = 1.96 * study.noise()->sigma;
  EXPECT_NEAR(predicted.low, 1 - 5.0 / 8 * (1 + spread), 1e-9);
  EXPECT_NEAR(predicted.high, 1 - 5.0 / 8 * (1 - spread), 1e-9);
}

}  // namespace
}  // namespace stepscope::tune
