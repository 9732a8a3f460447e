// Second recordings: what a knob does that changes how much each kernel works on follows from two
// sizes. The search records another size itself, and the replay predicts all others.
#include <algorithm>
#include <cmath>

#include "tune/study.h"

namespace stepscope::tune {
namespace {

/// Two recordings differ by chance within this many σ in 95 % of cases.
constexpr double kNormal95 = 1.96;

std::optional<double> size_of(std::string const& value) {
  Value const parsed = value_of(value);
  auto const* const number = std::get_if<double>(&parsed);
  return number == nullptr ? std::nullopt : std::optional(*number);
}

/// How far apart two sizes are, whichever is larger. Both are above 0.
double distance_between(std::string const& a, std::string const& b) {
  return std::abs(std::log(size_of(a).value_or(1) / size_of(b).value_or(1)));
}

}  // namespace

std::vector<size_t> Study::moves_of(size_t knob) const {
  std::vector<size_t> moves;
  for (size_t i = 0; i < candidates_.size(); ++i)
    if (candidates_[i].probed_knob == knob) moves.push_back(i);
  return moves;
}

/// A recording of another value of the knob, with all others as they are in the best settings. The
/// file that it comes from may hold any text in place of a size.
Trial const* Study::probe_of(size_t knob) const {
  Settings const from = best();
  Meaning const& meaning = *space_.knobs[knob].meaning;
  for (Trial const& trial : trials_) {
    bool const is_recording =
        trial.kind == TrialKind::kRecording && trial.verdict == TrialVerdict::kDone;
    if (!is_recording || meaning.with_probe(from[knob], trial.settings[knob], from[knob]).empty())
      continue;

    Settings with_value = from;
    with_value[knob] = trial.settings[knob];
    if (trial.settings == with_value) return &trial;
  }
  return nullptr;
}

/// The farthest value tells the line best. A size that did not run is not recorded again.
std::optional<size_t> Study::choose_probe(size_t knob) const {
  std::optional<size_t> chosen;
  double farthest = 0;
  size_t failed = 0;
  std::string const from = best()[knob];

  for (size_t const move : moves_of(knob)) {
    Settings const& settings = candidates_[move].settings;
    bool const was_recorded = std::any_of(trials_.begin(), trials_.end(), [&](Trial const& trial) {
      return trial.kind == TrialKind::kRecording && trial.settings == settings;
    });
    failed += was_recorded ? 1 : 0;
    double const distance = distance_between(from, settings[knob]);
    if (was_recorded || distance <= farthest) continue;
    farthest = distance;
    chosen = move;
  }

  // With a single size left a probe would only be its first, unpaired measurement.
  bool const is_worth = moves_of(knob).size() >= failed + kFewestProbedMoves;
  return is_worth ? chosen : std::nullopt;
}

/// What the replay is asked once the probe is there.
void Study::use_probe(size_t knob, Trial const& probe) {
  std::string const from = best()[knob], probed = probe.settings[knob];
  for (size_t const move : moves_of(knob)) {
    Candidate& candidate = candidates_[move];
    std::string const to = candidate.settings[knob];
    candidate.meaning = space_.knobs[knob].meaning->name;
    candidate.estimate = {space_.knobs[knob].meaning->with_probe(from, probed, to)};
    candidate.probe_run = probe.runs.empty() ? std::string() : probe.runs.front();

    double const run = size_of(from).value_or(1), other = size_of(probed).value_or(1);
    candidate.probe_reach = std::abs((size_of(to).value_or(1) - run) / (other - run));
  }
}

std::optional<Action> Study::record_probe() {
  for (size_t knob = 0; knob < space_.knobs.size(); ++knob) {
    if (moves_of(knob).empty()) continue;
    if (Trial const* const probe = probe_of(knob)) {
      use_probe(knob, *probe);
      continue;
    }

    auto const chosen = choose_probe(knob);
    if (!chosen || !has_time_for(1 + kFewestPairs + confirming_pairs())) continue;
    return pair_of(start(TrialKind::kRecording, best(), candidates_[*chosen].settings));
  }
  return std::nullopt;
}

/// Steps become costs: a step of more samples may cost less a sample. The noise of both recordings
/// is in the line, and grows with how far it reaches.
Saving Study::saving_of_cost(Candidate const& candidate, Saving const& of_step) const {
  // Both are above 0: check_space(), candidates_from().
  double const samples = *samples_of(space_, best()) / *samples_of(space_, candidate.settings);
  auto const noise_now = noise();
  double const spread = noise_now ? candidate.probe_reach * kNormal95 * noise_now->sigma : 0;
  if (samples == 1 && spread == 0) return of_step;
  return {1 - (1 - of_step.saving) * samples, 1 - (1 - of_step.low) * samples * (1 + spread),
          1 - (1 - of_step.high) * samples * std::max(1 - spread, 0.0)};
}

}  // namespace stepscope::tune
