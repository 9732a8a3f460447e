// Spaces and a machine that does not exist: it takes as long as its model says, with noise.
#pragma once

#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tune/study.h"

namespace stepscope::tune::testing_machine {

/// Knobs a, b, c … with these values; the first one is the default.
inline Space space_of(std::vector<std::vector<std::string>> const& values) {
  Space space;
  for (auto const& list : values) {
    Knob knob;
    knob.name = std::string(1, static_cast<char>('a' + space.knobs.size()));
    knob.values = list;
    knob.default_value = list.front();
    space.knobs.push_back(std::move(knob));
  }
  return space;
}

/// Runs a search to its end.
class Machine {
 public:
  using Cost = std::function<double(Settings const&)>;
  using Replay = std::function<Prediction(Settings const& best, Candidate const& candidate)>;

  /// `sigma`: standard deviation of the logarithm of a pair's ratio.
  Machine(Cost cost, double sigma, uint32_t seed)
      : cost_(std::move(cost)), sigma_(sigma), random_(seed) {}

  Replay replay = [](Settings const&, Candidate const&) { return Prediction{}; };
  double seconds_a_pair = 1;
  std::vector<Action> actions;

  [[nodiscard]] PairResult run_pair(Action const& action) {
    // Half of the noise is in either run.
    double const sigma = action.is_short ? 2 * sigma_ : sigma_;
    auto const noisy = [&](Settings const& settings) {
      return 1e6 * cost_(settings) * std::exp(normal_(random_) * sigma / std::sqrt(2.0));
    };
    PairResult result{"base", "candidate", {noisy(action.base), noisy(action.settings), 0, 0}};
    result.costs.base_all = result.costs.base;
    result.costs.candidate_all = result.costs.candidate;
    // A quarter of the steps: a quarter of the time, and twice the noise.
    result.seconds = action.is_short ? seconds_a_pair / 4 : seconds_a_pair;
    return result;
  }
  /// False: the search is over.
  bool step(Study& study) {
    Action const action = study.next();
    actions.push_back(action);
    if (action.kind == ActionKind::kPair) study.add_pair(run_pair(action));
    if (action.kind == ActionKind::kRecord) study.add_recording("recording", seconds_a_pair / 2);

    if (action.kind == ActionKind::kPredict) {
      std::vector<Prediction> predictions;
      for (Candidate const& candidate : study.candidates())
        predictions.push_back(replay(study.best(), candidate));
      study.add_predictions(predictions);
    }
    return action.kind != ActionKind::kDone;
  }
  StudyAnswer search(Study& study) {
    constexpr int kEnough = 100'000;
    for (int i = 0; i < kEnough; ++i)
      if (!step(study)) return study.answer();
    ADD_FAILURE() << "the search does not end";
    return study.answer();
  }

 private:
  Cost cost_;
  double sigma_;
  std::mt19937 random_;
  std::normal_distribution<double> normal_;
};

inline StudyOptions unhurried() {
  StudyOptions options;
  options.time_s = 1e9;
  return options;
}

}  // namespace stepscope::tune::testing_machine
