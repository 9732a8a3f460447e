// Searches that begin too noisy, or with too little time, to show the smallest gain. What a replay
// predicts to save far more, few pairs still show.
#include <algorithm>

#include "trace/base/format.h"
#include "tune/study.h"

namespace stepscope::tune {

std::optional<Study::FirstNoise> Study::first_noise() const {
  bool const is_measured = !trials_.empty() && trials_.front().kind == TrialKind::kNoise &&
                           trials_.front().verdict == TrialVerdict::kDone &&
                           !trials_.front().pairs.empty();
  if (!is_measured) return std::nullopt;

  Trial const& first = trials_.front();
  FirstNoise of_first;
  of_first.noise = noise_of_equal_pairs(first.pairs);
  of_first.needed = needed_pairs(of_first.noise, options_.rule);

  // What is found is confirmed by as many new pairs.
  size_t const pairs = of_first.needed + std::max(of_first.needed, kFewestConfirming);
  double const pair_s = first.seconds / static_cast<double>(first.pairs.size());
  of_first.seconds = static_cast<double>(pairs) * pair_s;
  of_first.left_s = std::max(options_.time_s - first.seconds, 0.0);
  return of_first;
}

/// The answer stays the same while the search goes on.
bool Study::shows_large_gains_only() const {
  auto const of_first = first_noise();
  return of_first && (of_first->needed == 0 || of_first->left_s < of_first->seconds);
}

/// What the accepted settings save, and the ones that are being measured.
double Study::expected_saving() const {
  double left = 1;
  for (Trial const& trial : trials_) {
    if (trial.kind != TrialKind::kCandidate) continue;
    bool const counts =
        trial.verdict == TrialVerdict::kAccepted || trial.verdict == TrialVerdict::kRunning;
    auto const& saving = trial.measured ? trial.measured : trial.predicted;
    if (counts && saving) left *= 1 - saving->saving;
  }
  return 1 - left;
}

std::optional<double> Study::seconds_to_show(double saving) const {
  auto const noise_now = noise();
  size_t const needed = noise_now ? needed_pairs(*noise_now, options_.rule, saving) : 0;
  if (needed == 0) return std::nullopt;
  return static_cast<double>(needed + pairs_for(saving)) * pair_seconds();
}

/// The open candidate with the largest predicted saving needs the fewest pairs. `has_to_show`: only
/// one that may be taken, and only if pairs can show it.
std::optional<size_t> Study::largest_promise(bool has_to_show) const {
  std::optional<size_t> largest;
  for (size_t i = 0; i < candidates_.size() && is_predicted_; ++i) {
    double const saving = worth(i);
    if (saving <= (largest ? worth(*largest) : options_.rule.min_effect)) continue;
    bool const may_be_taken = options_.allows_numerics || !candidates_[i].changes_numerics;
    if ((may_be_taken || !has_to_show) && is_open(i)) largest = i;
  }

  if (largest && has_to_show && !seconds_to_show(worth(*largest))) return std::nullopt;
  return largest;
}

std::optional<PromisedSetting> Study::promised() const {
  auto const shown = largest_promise(true);
  auto const largest = shown ? shown : largest_promise(false);
  if (!largest) return std::nullopt;
  Candidate const& candidate = candidates_[*largest];
  return PromisedSetting{candidate.settings, worth(*largest), seconds_to_show(worth(*largest)),
                         candidate.changes_numerics && !options_.allows_numerics};
}

std::optional<Action> Study::start_large_gain() {
  auto const chosen = largest_promise(true);
  if (!chosen || *seconds_to_show(worth(*chosen)) > left_s()) return std::nullopt;
  return verify(*chosen);
}

std::string Study::too_noisy_reason() const {
  auto const of_first = first_noise();
  if (!of_first) return {};
  std::string const sigma = fmt::format("{:.1f} %", of_first->noise.sigma * 100);
  std::string const least =
      fmt::format("{:.1f} % (twice --min-effect)", 200 * options_.rule.min_effect);

  if (of_first->needed == 0)
    return fmt::format("equal runs differ by {}: {} pairs do not show a saving of {}", sigma,
                       options_.rule.most_pairs, least);
  return fmt::format(
      "equal runs differ by {}: a saving of {} takes {:.0f} s to be found and confirmed, where "
      "{:.0f} s are left",
      sigma, least, of_first->seconds, of_first->left_s);
}

}  // namespace stepscope::tune
