// Searches that begin too noisy, or with too little time, to show the smallest gain. What a replay
// predicts to save far more, few pairs still show.
#include <algorithm>

#include "trace/base/format.h"
#include "tune/study.h"

namespace stepscope::tune {
namespace {

/// What is found by `needed` pairs is confirmed by as many new ones.
double seconds_to_show(size_t needed, Trial const& first) {
  double const pair_s = first.seconds / static_cast<double>(first.pairs.size());
  return static_cast<double>(needed + std::max(needed, kFewestConfirming)) * pair_s;
}

}  // namespace

/// Read from the noise of the default settings alone, so the answer stays the same while the search
/// goes on.
bool Study::shows_large_gains_only() const {
  if (trials_.empty() || trials_.front().verdict != TrialVerdict::kDone) return false;
  Trial const& first = trials_.front();
  if (first.pairs.empty()) return false;

  size_t const needed = needed_pairs(noise_of_equal_pairs(first.pairs), options_.rule);
  if (needed == 0) return true;
  return options_.time_s - first.seconds < seconds_to_show(needed, first);
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

/// The candidate with the largest predicted saving that pairs can show: it needs the fewest of
/// them.
std::optional<size_t> Study::largest_promise() const {
  std::optional<size_t> largest;
  for (size_t i = 0; i < candidates_.size() && is_predicted_; ++i) {
    bool const is_allowed = options_.allows_numerics || !candidates_[i].changes_numerics;
    bool const is_shown =
        worth(i) > options_.rule.min_effect && needed_pairs(*noise(), options_.rule, worth(i)) > 0;
    if (!is_allowed || !is_shown || !is_open(i)) continue;
    if (!largest || worth(i) > worth(*largest)) largest = i;
  }
  return largest;
}

std::optional<Action> Study::start_large_gain() {
  auto const promise = promised();
  if (!promise || promise->seconds > left_s()) return std::nullopt;
  return verify(*largest_promise());
}

std::string Study::too_noisy_reason() const {
  Trial const& first = trials_.front();
  PairNoise const noise_of_first = noise_of_equal_pairs(first.pairs);
  size_t const needed = needed_pairs(noise_of_first, options_.rule);
  std::string const least = fmt::format("{:.1f} %", 200 * options_.rule.min_effect);

  std::string const what =
      needed == 0
          ? fmt::format("{} pairs do not show a saving of {}", options_.rule.most_pairs, least)
          : fmt::format(
                "a saving of {} takes {:.0f} s to be found and confirmed, where {:.0f} s are left",
                least, seconds_to_show(needed, first),
                std::max(options_.time_s - first.seconds, 0.0));
  return fmt::format("equal runs differ by {:.1f} %: {}", noise_of_first.sigma * 100, what);
}

std::optional<PromisedSetting> Study::promised() const {
  auto const largest = largest_promise();
  if (!largest) return std::nullopt;
  double const saving = worth(*largest);
  size_t const pairs = needed_pairs(*noise(), options_.rule, saving) + pairs_for(saving);
  return PromisedSetting{candidates_[*largest].settings, saving,
                         static_cast<double>(pairs) * pair_seconds()};
}

}  // namespace stepscope::tune
