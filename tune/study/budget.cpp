// What the time of a search suffices for: pairs of runs take as long as those before.
#include <algorithm>

#include "tune/study.h"

namespace stepscope::tune {

double Study::spent_s() const {
  double seconds = 0;
  for (Trial const& trial : trials_) seconds += trial.seconds;
  return seconds;
}

double Study::enough_s() const {
  size_t const each = pairs_for(2 * options_.rule.min_effect);
  double const all_s = static_cast<double>((untried().size() + 1) * each) * pair_seconds();
  return std::max(spent_s() + all_s, enough_for_one_s());
}

double Study::enough_for_one_s() const {
  auto const promise = promised();
  if (promise && promise->seconds && !promise->changes_numerics)
    return spent_s() + *promise->seconds;

  size_t const each = pairs_for(2 * options_.rule.min_effect);
  double const one_s = spent_s() + static_cast<double>(2 * each) * pair_seconds();
  auto const first = first_noise();
  return first ? std::max(one_s, trials_.front().seconds + first->seconds) : one_s;
}

double Study::left_s() const { return std::max(options_.time_s - spent_s(), 0.0); }

double Study::pair_seconds() const {
  double seconds = 0;
  size_t pairs = 0;
  for (Trial const& trial : trials_) {
    if (trial.pairs.empty() || trial.kind == TrialKind::kScreening) continue;
    seconds += trial.seconds;
    pairs += trial.pairs.size();
  }
  return pairs == 0 ? 0 : seconds / static_cast<double>(pairs);
}

size_t Study::pairs_for(double saving) const {
  auto const noise_now = noise();
  size_t const needed = noise_now ? needed_pairs(*noise_now, options_.rule, saving) : 0;
  size_t const most = std::max(options_.rule.most_pairs, kFewestConfirming);
  return needed == 0 ? most : std::clamp(needed, kFewestConfirming, most);
}

size_t Study::confirming_pairs() const {
  double const least = 2 * options_.rule.min_effect;
  return pairs_for(shows_large_gains_only() ? std::max(least, expected_saving()) : least);
}

bool Study::has_time_for(size_t pairs) const {
  return left_s() >= static_cast<double>(pairs) * pair_seconds();
}

}  // namespace stepscope::tune
