// Successive halving of candidates that no replay predicts: short pairs put the better ones first.
// They accept nothing, so the rule of acceptance and its errors stay as they are.
#include <algorithm>
#include <cmath>

#include "trace/base/format.h"
#include "tune/study.h"

namespace stepscope::tune {
namespace {

/// Fewer candidates are verified one after the other.
constexpr size_t kFewestScreened = 4;
/// So many are left to be verified at least: the second best of noisy pairs may be the best.
constexpr size_t kFewestSurvivors = 2;
/// Pairs of a round double: 1, 2, 4.
constexpr size_t kMostRounds = 3;

}  // namespace

Study::Screening Study::screening_of(Candidate const& candidate) const {
  std::string const turned = changed_text(space_, candidate.settings, best());
  Screening screening;
  for (Trial const& trial : trials_) {
    bool const is_of_it = trial.kind == TrialKind::kScreening &&
                          trial.verdict != TrialVerdict::kRunning &&
                          changed_text(space_, trial.settings, trial.base) == turned;
    if (!is_of_it) continue;
    screening.rounds += 1;
    screening.trial = trial.number;
    screening.is_out = trial.verdict != TrialVerdict::kDone;

    for (PairCosts const& pair : trial.pairs) {
      screening.pairs += 1;
      screening.log_saving += std::log(pair.base / pair.candidate);
    }
  }
  if (screening.pairs > 0) screening.log_saving /= static_cast<double>(screening.pairs);
  // What failed comes after all that ran.
  if (screening.pairs == 0 && screening.rounds > 0) screening.log_saving = -INFINITY;
  return screening;
}

std::vector<size_t> Study::screening_pool() const {
  std::vector<size_t> pool;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    bool const is_taken = options_.allows_numerics || !candidates_[i].changes_numerics;
    if (is_taken && !predictions_[i].saving && is_open(i) && !screening_of(candidates_[i]).is_out)
      pool.push_back(i);
  }
  return pool;
}

bool Study::has_halved(size_t rounds) const {
  return std::any_of(candidates_.begin(), candidates_.end(), [&](Candidate const& candidate) {
    Screening const screening = screening_of(candidate);
    return screening.is_out && screening.rounds == rounds && screening.trial &&
           trials_[*screening.trial].verdict == TrialVerdict::kScreenedOut;
  });
}

/// A search screens once: what is left is verified.
bool Study::has_verified_since_screening() const {
  bool has_screened = false;
  for (Trial const& trial : trials_) {
    has_screened = has_screened || trial.kind == TrialKind::kScreening;
    bool const is_verification =
        trial.kind == TrialKind::kCandidate && trial.verdict != TrialVerdict::kDropped;
    if (has_screened && is_verification) return true;
  }
  return false;
}

double Study::short_pair_seconds() const {
  double seconds = 0;
  size_t pairs = 0;
  for (Trial const& trial : trials_) {
    if (trial.kind != TrialKind::kScreening || trial.pairs.empty()) continue;
    seconds += trial.seconds;
    pairs += trial.pairs.size();
  }
  return pairs == 0 ? options_.short_share * pair_seconds() : seconds / static_cast<double>(pairs);
}

/// As many as the time suffices for, if each takes the pairs that show a gain.
size_t Study::verifiable_candidates() const {
  auto const noise_now = noise();
  size_t const needed = noise_now ? needed_pairs(*noise_now, options_.rule) : 0;
  double const each =
      static_cast<double>(needed == 0 ? options_.rule.most_pairs : needed) * pair_seconds();
  double const left = left_s() - static_cast<double>(confirming_pairs()) * pair_seconds();
  if (each <= 0) return kMostCandidates;
  return static_cast<size_t>(std::clamp(left / each, 0.0, static_cast<double>(kMostCandidates)));
}

/// And afterwards for a verification and the answer.
bool Study::has_time_to_screen(size_t candidates, size_t pairs) const {
  double const screening = static_cast<double>(candidates * pairs) * short_pair_seconds();
  double const rest = static_cast<double>(2 * confirming_pairs()) * pair_seconds();
  return left_s() >= screening + rest;
}

size_t Study::planned_pairs(Trial const& screening) const {
  size_t earlier = 0;
  for (Trial const& trial : trials_)
    if (trial.kind == TrialKind::kScreening && trial.number < screening.number &&
        trial.settings == screening.settings && trial.base == screening.base)
      earlier += 1;
  return size_t{1} << std::min(earlier, kMostRounds);
}

std::optional<Action> Study::screen() {
  if (!options_.screens || has_verified_since_screening()) return std::nullopt;
  std::vector<size_t> pool = screening_pool();
  if (pool.empty()) return std::nullopt;

  auto const rounds_of = [&](size_t i) { return screening_of(candidates_[i]).rounds; };
  auto const [least, most] = std::minmax_element(
      pool.begin(), pool.end(), [&](size_t a, size_t b) { return rounds_of(a) < rounds_of(b); });
  size_t const rounds = rounds_of(*least);
  if (rounds != rounds_of(*most)) return next_of_round(pool, rounds);

  // A round is over, or none has begun.
  size_t const enough = std::max(verifiable_candidates(), kFewestSurvivors);
  if (rounds == 0 && (pool.size() < kFewestScreened || pool.size() <= enough)) return std::nullopt;
  if (rounds > 0 && !has_halved(rounds)) {
    drop_worse_half(pool);
    pool = screening_pool();
  }
  bool const is_worth_more = pool.size() > enough && rounds < kMostRounds &&
                             has_time_to_screen(pool.size(), size_t{1} << rounds);
  return is_worth_more ? next_of_round(pool, rounds) : std::nullopt;
}

/// The first candidate that the round lacks.
std::optional<Action> Study::next_of_round(std::vector<size_t> const& pool, size_t rounds) {
  for (size_t const i : pool)
    if (screening_of(candidates_[i]).rounds == rounds)
      return pair_of(start(TrialKind::kScreening, best(), candidates_[i].settings));
  return std::nullopt;
}

void Study::drop_worse_half(std::vector<size_t> const& pool) {
  std::vector<size_t> ordered = pool;
  std::stable_sort(ordered.begin(), ordered.end(), [&](size_t a, size_t b) {
    return screening_of(candidates_[a]).log_saving > screening_of(candidates_[b]).log_saving;
  });

  for (size_t place = (ordered.size() + 1) / 2; place < ordered.size(); ++place) {
    Screening const screening = screening_of(candidates_[ordered[place]]);
    if (screening.trial)
      end(trials_[*screening.trial], TrialVerdict::kScreenedOut,
          fmt::format("{} others saved more in short pairs", place));
  }
}

}  // namespace stepscope::tune
