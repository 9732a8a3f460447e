// What a search has come to, for those who show it: the way to the best settings, and how well its
// predictions were.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tune/study.h"

namespace stepscope::tune {

/// A candidate that was accepted, and what it left of the default settings' cost by its own pairs.
struct AcceptedMove {
  size_t trial = 0;
  double before = 1, after = 1;  ///< shares of the default cost
};
/// In the order of the search. Savings multiply: each was measured against the settings before it.
std::vector<AcceptedMove> accepted_moves(Study const& study);

/// Predictions of a kind of knob against what was measured.
struct MeaningCalibration {
  std::string meaning;                 ///< as meaning_of()
  size_t settings = 0;                 ///< that were predicted and measured
  double predicted = 0, measured = 0;  ///< mean savings
  double trust = 1;                    ///< Study::trust_in()
};
/// One row a meaning, in alphabetical order.
std::vector<MeaningCalibration> calibrations(Study const& study);

/// Mean cost of the default settings in the noise trial, ns a step and sample; none before it.
std::optional<double> default_cost_ns(Study const& study);

}  // namespace stepscope::tune
