// Whether a number changed between two sides, and by how much (DEFINITIONS, "Comparing runs").
// Pure: values in, verdict out.
//
// What is counted as one value decides whether a difference is real: steps of one run are more
// alike than steps of two, and successive steps more than distant ones. So where a side has several
// runs a value is a run (its mean). With one run a side a value is a step, or where successive
// steps are alike a block of them, long enough that successive blocks are not. Where runs were made
// in turn a value is the difference of a pair: what the machine did meanwhile it did to both, and
// it is not in the value.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/compare/statistics.h"

namespace stepscope::analyzer {

enum class Verdict : uint8_t { kSame, kLess, kMore, kUnclear };
/// "same", "less", "more", "unclear": of a number that may be a time or a size.
char const* to_string(Verdict verdict);

/// How the sides were compared.
enum class CompareMethod : uint8_t { kNone, kMannWhitney, kStudent, kSignedRank, kPairedStudent };
/// "none", "mann_whitney", "student", "signed_rank", "paired_student".
char const* to_string(CompareMethod method);

/// What a value stands for.
/// kPair: a run of each side.
enum class CompareUnit : uint8_t { kStep, kBlock, kRun, kPair };
/// "step", "block", "run", "pair".
char const* to_string(CompareUnit unit);

/// With one run a side, fewer steps than this get no verdict.
inline constexpr size_t kFewestComparedSteps = 5;
/// With fewer values on a side ranks cannot tell enough (of 6 and 6 the least p is 0.002), and
/// Student's t is used.
inline constexpr size_t kFewestRankedValues = 7;
/// And of pairs: of 10 the least p is 0.002, where all differ in one direction.
inline constexpr size_t kFewestRankedPairs = 11;
/// The same for pairs with zero or equal differences: the normal distribution, which is used then,
/// has no p of 0.002 for fewer.
inline constexpr size_t kFewestTiedPairs = 14;
/// More values are averaged in blocks: the differences of all pairs are looked at.
inline constexpr size_t kMostComparedValues = 512;
inline constexpr double kCompareConfidence = 0.95;
/// For all metrics of a family together, after Holm's correction.
inline constexpr double kFamilyError = 0.05;
/// Error of one metric, however much it varies. At most 5 of 1,000 pairs in which nothing changed
/// may be reported as changed. 2 are expected; 1 of 60 such thousands would have 6 or more.
inline constexpr double kMetricError = 0.002;

/// How pairs agree.
struct PairAgreement {
  size_t less = 0, more = 0;       ///< pairs whose new run has less or more
  double lowest = 0, highest = 0;  ///< change of a pair, as a share of its base
};

/// What changed of one number.
struct Change {
  CompareMethod method =
      CompareMethod::kNone;  ///< kNone: too few values, no more is known than the means
  CompareUnit unit = CompareUnit::kStep;
  size_t base_values = 0, candidate_values = 0;
  size_t steps_per_value = 1;                ///< of blocks, at least
  double base_mean = 0, candidate_mean = 0;  ///< plain, over runs of the means over their steps
  Shift shift;                               ///< of fresh against base, with kCompareConfidence
  double p = 1;                              ///< two-sided, for this number alone
  std::optional<PairAgreement> agreement;    ///< of pairs whose bases are all above 0
  bool drifts = false;  ///< even the longest blocks are alike in succession: `shift` is widened by
                        ///< as much as they vary
};

/// base[run][step]: in the order of time, finite. Runs without values do not count. Both sides need
/// one value.
Change measure_change(std::span<std::vector<double> const> base,
                      std::span<std::vector<double> const> candidate, RankSums& sums);

/// For interleaved runs: base[i] belongs to candidate[i], as many on both sides. A pair counts if
/// both runs have values; at least one pair must. With too few pairs for ranks, uses Student's t of
/// their differences. If that finds nothing and all values are above 0, takes the logarithms of
/// their ratios. A machine that is slower by a share makes a difference larger by that share.
Change measure_pairs(std::span<std::vector<double> const> base,
                     std::span<std::vector<double> const> candidate);

/// Runs of one program that took turns differ as wholes, by 2.8 % (root mean square) beside
/// compilers (decision 28). A few pairs do not tell how pairs vary, so their intervals are widened
/// by seven times as much.
inline constexpr double kPairSpread = 0.2;
/// For interleaved runs, step by step within each pair: the interval holds those of all pairs, each
/// widened by kPairSpread; p is the largest. Nothing if a pair has too few steps. Used for pairs
/// that measure_pairs() cannot judge.
std::optional<Change> measure_far_apart(std::span<std::vector<double> const> base,
                                        std::span<std::vector<double> const> candidate);

/// Runs a side, or pairs, that would settle a change measured with too few, if more of them vary as
/// these do. 0 if more than kMostNeededRuns would be needed, or if these do not show how far they
/// vary.
size_t needed_runs(Change const& change, double least);
inline constexpr size_t kMostNeededRuns = 50;

/// A typical value changed by more than `least`, and the mean by more than `least` the other way.
bool has_opposed_mean(Change const& change, double least);
/// `adjusted`: p among its family. `least`: the smallest change that matters, ≥ 0.
Verdict judge(Change const& change, double adjusted, double least);

}  // namespace stepscope::analyzer
