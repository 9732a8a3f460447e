// Searches on a machine that does not exist, for tests of their page.
#pragma once

#include <string>

#include "tests/unit/tune/tune_samples.h"
#include "tune/study.h"

namespace stepscope::reports {

/// Four knobs: a slow input, overlap that saves little, one that is only measured, and one that
/// changes results. `text`: behind names, and values of the last two.
inline tune::Space tuning_space(std::string const& text = {}) {
  tune::Space space =
      tune::testing_machine::space_of({{"40", "0"}, {"off", "on"}, {"1", "2"}, {"off", "bf16"}});
  space.knobs[0].name = "delay" + text;
  space.knobs[1].name = "overlap" + text;
  space.knobs[3].changes_numerics = true;
  space.knobs[0].meaning = tune::find_meaning("input-delay-ms");
  space.knobs[1].meaning = tune::find_meaning("overlap");
  if (text.empty()) return space;

  // The knobs that a replay knows keep their values, so that they are predicted.
  for (size_t k = 2; k < space.knobs.size(); ++k) {
    for (std::string& value : space.knobs[k].values) value += text;
    space.knobs[k].default_value += text;
  }
  return space;
}

/// What the machine takes: the delay half of a step, and the numerics a fifth.
inline double tuning_cost(tune::Settings const& settings) {
  return (settings[0].starts_with("0") ? 0.5 : 1) * (settings[3].starts_with("bf16") ? 0.8 : 1);
}

/// A machine whose replay predicts the input well and overlap too high.
inline tune::testing_machine::Machine tuning_machine(double sigma = 0.005) {
  tune::testing_machine::Machine machine(tuning_cost, sigma, 5);
  machine.replay = [](tune::Settings const& best, tune::Candidate const& candidate) {
    if (!candidate.is_predictable()) return tune::Prediction{};
    bool const is_input = candidate.meaning == "input-delay-ms";
    double const saving = is_input ? 1 - tuning_cost(candidate.settings) / tuning_cost(best) : 0.1;
    return tune::Prediction{tune::Saving{saving, saving - 0.02, saving + 0.02},
                            is_input ? "input=0" : "overlap"};
  };
  return machine;
}

}  // namespace stepscope::reports
