#include "tune/overview.h"

#include <map>

namespace stepscope::tune {

std::vector<AcceptedMove> accepted_moves(Study const& study) {
  std::vector<AcceptedMove> moves;
  double left = 1;
  for (Trial const& trial : study.trials()) {
    bool const is_move =
        trial.kind == TrialKind::kCandidate && trial.verdict == TrialVerdict::kAccepted;
    if (!is_move || !trial.measured) continue;

    double const after = left * (1 - trial.measured->saving);
    moves.push_back(AcceptedMove{trial.number, left, after});
    left = after;
  }
  return moves;
}

std::vector<MeaningCalibration> calibrations(Study const& study) {
  std::map<std::string, MeaningCalibration> by_meaning;
  for (Trial const& trial : study.trials()) {
    bool const counts = trial.kind == TrialKind::kCandidate && trial.predicted && trial.measured &&
                        trial.verdict != TrialVerdict::kRunning;
    if (!counts) continue;
    std::string const meaning = meaning_of(study.space(), trial.base, trial.settings);
    MeaningCalibration& calibration = by_meaning[meaning];
    calibration.meaning = meaning;
    calibration.settings += 1;
    calibration.predicted += trial.predicted->saving;
    calibration.measured += trial.measured->saving;
  }

  std::vector<MeaningCalibration> all;
  for (auto& [meaning, calibration] : by_meaning) {
    auto const count = static_cast<double>(calibration.settings);
    calibration.predicted /= count;
    calibration.measured /= count;
    calibration.trust = study.trust_in(meaning);
    all.push_back(std::move(calibration));
  }
  return all;
}

std::optional<double> default_cost_ns(Study const& study) {
  if (study.trials().empty() || study.trials().front().pairs.empty()) return std::nullopt;
  double sum = 0;
  for (PairCosts const& pair : study.trials().front().pairs) sum += pair.base + pair.candidate;
  return sum / (2 * static_cast<double>(study.trials().front().pairs.size()));
}

}  // namespace stepscope::tune
