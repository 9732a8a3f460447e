// When pairs of runs decide about a setting: the sequential rule of `stepscope compare --paired`
// (DEFINITIONS, "Tuning"). Pure: costs in, decision out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tune/trial.h"

namespace stepscope::tune {

/// Pairs that noise is measured with, and the fewest that decide anything.
inline constexpr size_t kNoisePairs = 3;
inline constexpr size_t kFewestPairs = 3;
/// The fewest pairs of the answer, however calm the machine is.
inline constexpr size_t kFewestConfirming = 4;
/// A gain of at least the smallest that counts is given up by mistake in this share of looks.
inline constexpr double kFutilityError = 0.05;

struct DecisionRule {
  double min_effect = 0.02;  ///< smallest saving that counts, a share above 0
  size_t most_pairs = 16;    ///< of one candidate
};

/// How far the two runs of a pair differ where nothing was changed.
struct PairNoise {
  double sigma = 0;    ///< standard deviation of the logarithm of their ratio
  double degrees = 0;  ///< of freedom, with which it is known
};
/// Pairs of the same settings are expected to differ by 0. Needs one pair.
PairNoise noise_of_equal_pairs(std::span<PairCosts const> pairs);
/// With what the pairs of a candidate vary about their own mean.
PairNoise joined_noise(PairNoise const& noise, std::span<PairCosts const> pairs);

/// Pairs after which `saving`, above `rule.min_effect`, is expected to be shown: the half 95 %
/// interval is the difference of both then. 0: more than rule.most_pairs.
size_t needed_pairs(PairNoise const& noise, DecisionRule const& rule, double saving);
/// For the smallest saving that a search looks for: twice `rule.min_effect`.
size_t needed_pairs(PairNoise const& noise, DecisionRule const& rule);

enum class PairDecision : uint8_t {
  kGoOn,
  kFaster,     ///< p < 0.002, and the whole 95 % interval saves more than the smallest that counts
  kNoGain,     ///< futile: were the smallest gain there, so little would have been seen in 5 %
  kUnclear,    ///< no pairs are left
  kSlowSteps,  ///< faster, but all steps together are slower beyond doubt
};
struct PairJudgement {
  PairDecision decision = PairDecision::kGoOn;
  Saving saving;
  double p = 1;
};

/// Saving and p of pairs, as `stepscope compare --paired` has them. Needs one pair.
PairJudgement measure_saving(std::span<PairCosts const> pairs);

/// What these pairs say. `others`: p of the candidates that were judged before (Holm).
PairJudgement judge_pairs(std::span<PairCosts const> pairs, DecisionRule const& rule,
                          PairNoise const& noise, std::span<double const> others);

}  // namespace stepscope::tune
