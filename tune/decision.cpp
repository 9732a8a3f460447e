#include "tune/decision.h"

#include <algorithm>
#include <cmath>

#include "analyzer/compare/judgement.h"
#include "analyzer/compare/statistics.h"
#include "trace/base/check.h"

namespace stepscope::tune {
namespace {

/// A machine without any noise: nothing divides by zero, and nothing is decided sooner.
constexpr double kLeastSigma = 1e-6;

double log_saving(PairCosts const& pair) { return std::log(pair.base / pair.candidate); }

double mean_log_saving(std::span<PairCosts const> pairs) {
  double sum = 0;
  for (PairCosts const& pair : pairs) sum += log_saving(pair);
  return sum / static_cast<double>(pairs.size());
}

analyzer::Change change_of(std::span<PairCosts const> pairs, double PairCosts::*base,
                           double PairCosts::*candidate) {
  std::vector<std::vector<double>> of_base, of_candidate;
  for (PairCosts const& pair : pairs) {
    of_base.push_back({pair.*base});
    of_candidate.push_back({pair.*candidate});
  }
  return analyzer::measure_pairs(of_base, of_candidate);
}

Saving saving_of(analyzer::Change const& change) {
  return {-change.shift.estimate / change.base_mean, -change.shift.high / change.base_mean,
          -change.shift.low / change.base_mean};
}

analyzer::Verdict verdict_of(analyzer::Change const& change, double adjusted, double min_effect) {
  return analyzer::judge(change, adjusted, min_effect * change.base_mean);
}

/// Whether the smallest gain that counts would have shown more than these pairs do.
bool is_futile(std::span<PairCosts const> pairs, DecisionRule const& rule, PairNoise const& noise) {
  PairNoise const joined = joined_noise(noise, pairs);
  double const most = -std::log(1 - rule.min_effect);
  double const margin = analyzer::student_quantile(2 * kFutilityError, joined.degrees) *
                        joined.sigma / std::sqrt(static_cast<double>(pairs.size()));
  return mean_log_saving(pairs) + margin < most;
}

bool are_all_steps_slower(std::span<PairCosts const> pairs, DecisionRule const& rule) {
  analyzer::Change const change = change_of(pairs, &PairCosts::base_all, &PairCosts::candidate_all);
  return change.base_mean > 0 &&
         verdict_of(change, change.p, rule.min_effect) == analyzer::Verdict::kMore;
}

}  // namespace

PairNoise noise_of_equal_pairs(std::span<PairCosts const> pairs) {
  STEPSCOPE_CHECK(!pairs.empty());
  double squares = 0;
  for (PairCosts const& pair : pairs) squares += log_saving(pair) * log_saving(pair);
  auto const count = static_cast<double>(pairs.size());
  return {std::max(std::sqrt(squares / count), kLeastSigma), count};
}

PairNoise joined_noise(PairNoise const& noise, std::span<PairCosts const> pairs) {
  if (pairs.size() < 2) return noise;
  double const mean = mean_log_saving(pairs);
  double squares = noise.sigma * noise.sigma * noise.degrees;
  for (PairCosts const& pair : pairs)
    squares += (log_saving(pair) - mean) * (log_saving(pair) - mean);
  double const degrees = noise.degrees + static_cast<double>(pairs.size() - 1);
  return {std::max(std::sqrt(squares / degrees), kLeastSigma), degrees};
}

size_t needed_pairs(PairNoise const& noise, DecisionRule const& rule) {
  return needed_pairs(noise, rule, 2 * rule.min_effect);
}

size_t needed_pairs(PairNoise const& noise, DecisionRule const& rule, double saving) {
  for (size_t pairs = kFewestPairs; pairs <= rule.most_pairs; ++pairs) {
    double const error = noise.sigma / std::sqrt(static_cast<double>(pairs));
    auto const degrees = static_cast<double>(pairs - 1);
    double const half =
        analyzer::student_quantile(1 - analyzer::kCompareConfidence, degrees) * error;
    double const p = analyzer::student_two_sided(saving / error, degrees);
    if (half <= saving - rule.min_effect && p < analyzer::kMetricError) return pairs;
  }
  return 0;
}

PairJudgement measure_saving(std::span<PairCosts const> pairs) {
  STEPSCOPE_CHECK(!pairs.empty());
  analyzer::Change const change = change_of(pairs, &PairCosts::base, &PairCosts::candidate);
  return {PairDecision::kGoOn, saving_of(change), change.p};
}

PairJudgement judge_pairs(std::span<PairCosts const> pairs, DecisionRule const& rule,
                          PairNoise const& noise, std::span<double const> others) {
  STEPSCOPE_CHECK(!pairs.empty() && rule.min_effect > 0 && rule.min_effect < 1);
  analyzer::Change const change = change_of(pairs, &PairCosts::base, &PairCosts::candidate);
  PairJudgement judgement{PairDecision::kGoOn, saving_of(change), change.p};
  if (pairs.size() < kFewestPairs) return judgement;

  std::vector<double> family(others.begin(), others.end());
  family.push_back(change.p);
  double const adjusted = analyzer::holm(family).back();
  if (verdict_of(change, adjusted, rule.min_effect) == analyzer::Verdict::kLess) {
    bool const is_mixed = are_all_steps_slower(pairs, rule);
    judgement.decision = is_mixed ? PairDecision::kSlowSteps : PairDecision::kFaster;
  } else if (is_futile(pairs, rule, noise)) {
    judgement.decision = PairDecision::kNoGain;
  } else if (pairs.size() >= rule.most_pairs) {
    judgement.decision = PairDecision::kUnclear;
  }
  return judgement;
}

}  // namespace stepscope::tune
