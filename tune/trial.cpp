#include "tune/trial.h"

#include <array>

namespace stepscope::tune {

char const* to_string(TrialKind kind) {
  constexpr std::array kNames = {"noise",        "recording", "candidate",
                                 "confirmation", "check",     "screening"};
  return kNames[static_cast<size_t>(kind)];
}

char const* to_string(TrialVerdict verdict) {
  constexpr std::array kNames = {"running",     "done",    "dropped",     "accepted",
                                 "proposed",    "no_gain", "unclear",     "slow_steps",
                                 "requirement", "failed",  "screened_out"};
  return kNames[static_cast<size_t>(verdict)];
}

}  // namespace stepscope::tune
