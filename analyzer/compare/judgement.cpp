#include "analyzer/compare/judgement.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "analyzer/compare/paired_statistics.h"
#include "trace/base/check.h"

namespace stepscope::analyzer {
namespace {

using SideValues = std::vector<std::vector<double>>;

/// Successive blocks that correlate less than this vary as independent ones do, but for a few
/// percent.
constexpr double kLooseCorrelation = 0.2;
/// So many standard errors a correlation of steps may be off zero by chance: 1 of 10. A block too
/// long costs little, one too short takes chance for change.
constexpr double kStepErrors = 1.3;
/// The same for blocks: 1 of 20. Longer ones would be few.
constexpr double kBlockErrors = 1.645;
/// Fewer blocks on a side tell too little of how they vary.
constexpr size_t kFewestBlocks = 4;

double plain_mean(std::vector<double> const& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

SideValues runs_with_values(std::span<std::vector<double> const> runs) {
  SideValues kept;
  for (std::vector<double> const& run : runs)
    if (!run.empty()) kept.push_back(run);
  return kept;
}

std::vector<double> run_means(SideValues const& runs) {
  std::vector<double> means;
  means.reserve(runs.size());
  for (std::vector<double> const& run : runs) means.push_back(plain_mean(run));
  return means;
}

/// Squared standard error of the mean over runs, as far as the steps of each run show it.
double error_of_steps(SideValues const& runs) {
  double sum = 0;
  for (std::vector<double> const& run : runs) {
    double const mean = plain_mean(run);
    double squares = 0;
    for (double const value : run) squares += (value - mean) * (value - mean);
    auto const steps = static_cast<double>(run.size());
    if (run.size() > 1) sum += squares / (steps - 1) / steps;
  }

  auto const count = static_cast<double>(runs.size());
  return sum / (count * count);
}

struct BlockPair {
  std::vector<double> base, candidate;
  size_t length = 1;
  bool drifts = false;
};

/// Fewer blocks are not checked for correlation again: half of what such a check finds is chance.
constexpr size_t kFewestCorrelated = 16;

/// Length of blocks for steps that correlate so. The error of a mean of such steps grows by (1 + ρ)
/// / (1 − ρ); blocks are one and a half times as long as it takes to reach that. Successive blocks
/// of an autoregressive process then correlate by 0.17.
size_t length_for(double correlation, size_t steps) {
  double const wanted = std::ceil(1.5 * (1 + correlation) / std::max(1 - correlation, 1e-6));
  return std::min(static_cast<size_t>(wanted), steps);
}

/// The shortest blocks that are not alike in succession.
BlockPair independent_blocks(std::vector<double> const& base,
                             std::vector<double> const& candidate) {
  size_t const fewest = std::min(base.size(), candidate.size()),
               longest = std::max<size_t>(fewest / kFewestBlocks, 1);

  BlockPair blocks;
  while (std::max(base.size(), candidate.size()) / blocks.length > kMostComparedValues)
    blocks.length *= 2;

  for (;;) {
    std::vector<std::vector<double>> const sides = {block_means(base, blocks.length),
                                                    block_means(candidate, blocks.length)};
    blocks.base = sides[0];
    blocks.candidate = sides[1];

    double const correlation = lag_one_correlation(sides);
    double const errors = blocks.length == 1 ? kStepErrors : kBlockErrors;
    double const limit =
        errors / std::sqrt(static_cast<double>(blocks.base.size() + blocks.candidate.size()));
    bool const can_tell =
        blocks.length == 1 || blocks.base.size() + blocks.candidate.size() >= kFewestCorrelated;

    if (blocks.drifts || !can_tell || correlation <= std::max(kLooseCorrelation, limit))
      return blocks;

    size_t const wanted = blocks.length * length_for(correlation, fewest);
    blocks.drifts = wanted > longest;
    blocks.length = std::max(blocks.length, std::min(wanted, longest));
  }
}

/// What drifts within a run may have gone as far again before or after it.
void widen_by_drift(BlockPair const& blocks, Shift& shift) {
  auto const [base_least, base_most] = std::minmax_element(blocks.base.begin(), blocks.base.end());
  auto const [candidate_least, candidate_most] =
      std::minmax_element(blocks.candidate.begin(), blocks.candidate.end());
  double const drift = std::max(*base_most - *base_least, *candidate_most - *candidate_least);
  shift.low = *candidate_least - *base_most - drift;
  shift.high = *candidate_most - *base_least + drift;
}

/// `least_error`: of the difference of the means. A few runs may be alike by chance.
void compare_values(std::vector<double> const& base, std::vector<double> const& candidate,
                    double least_error, RankSums& sums, Change& change) {
  change.base_values = base.size();
  change.candidate_values = candidate.size();

  if (std::min(base.size(), candidate.size()) >= kFewestRankedValues) {
    change.method = CompareMethod::kMannWhitney;
    change.p = mann_whitney(base, candidate, sums).p;
    change.shift = hodges_lehmann(base, candidate, kCompareConfidence, sums);
    return;
  }

  change.method = CompareMethod::kStudent;
  MeanTest test = student(base, candidate, kCompareConfidence);
  if (test.degrees > 0) {
    double const margin = test.shift.high - test.shift.estimate;
    if (margin < student_quantile(1 - kCompareConfidence, test.degrees) * least_error)
      test = student_of(test.shift.estimate, least_error, test.degrees, kCompareConfidence);
  }
  change.p = test.p;
  change.shift = test.shift;
}

std::optional<PairAgreement> agreement_of(std::vector<double> const& base,
                                          std::vector<double> const& candidate) {
  PairAgreement agreement;

  for (size_t i = 0; i < base.size(); ++i) {
    if (base[i] <= 0) return std::nullopt;
    double const share = candidate[i] / base[i] - 1;
    agreement.less += share < 0 ? 1 : 0;
    agreement.more += share > 0 ? 1 : 0;
    agreement.lowest = i == 0 ? share : std::min(agreement.lowest, share);
    agreement.highest = i == 0 ? share : std::max(agreement.highest, share);
  }

  return agreement;
}

/// Student's t of the logarithms of the ratios, as differences of the mean base; none where a value
/// is not above 0.
std::optional<MeanTest> test_ratios(std::vector<double> const& base,
                                    std::vector<double> const& candidate, double base_mean) {
  std::vector<double> logarithms;
  for (size_t i = 0; i < base.size(); ++i) {
    if (base[i] <= 0 || candidate[i] <= 0) return std::nullopt;
    logarithms.push_back(std::log(candidate[i] / base[i]));
  }

  MeanTest test = student_of_pairs(logarithms, kCompareConfidence);
  for (double* const bound : {&test.shift.low, &test.shift.estimate, &test.shift.high})
    *bound = base_mean * std::expm1(*bound);
  return test;
}

void compare_few_pairs(std::vector<double> const& base, std::vector<double> const& candidate,
                       std::vector<double> const& differences, Change& change) {
  MeanTest test = student_of_pairs(differences, kCompareConfidence);
  if (test.p >= kMetricError) {
    auto const of_ratios = test_ratios(base, candidate, change.base_mean);
    if (of_ratios && of_ratios->p < kMetricError) test = *of_ratios;
  }
  change.method = CompareMethod::kPairedStudent;
  change.p = test.p;
  change.shift = test.shift;
}

}  // namespace

char const* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kSame:
      return "same";
    case Verdict::kLess:
      return "less";
    case Verdict::kMore:
      return "more";
    case Verdict::kUnclear:
      break;
  }
  return "unclear";
}

char const* to_string(CompareMethod method) {
  constexpr std::array kNames = {"none", "mann_whitney", "student", "signed_rank",
                                 "paired_student"};
  return kNames[static_cast<size_t>(method)];
}

char const* to_string(CompareUnit unit) {
  constexpr std::array kNames = {"step", "block", "run", "pair"};
  return kNames[static_cast<size_t>(unit)];
}

Change measure_change(std::span<std::vector<double> const> base,
                      std::span<std::vector<double> const> candidate, RankSums& sums) {
  SideValues const of_base = runs_with_values(base), of_candidate = runs_with_values(candidate);
  STEPSCOPE_CHECK(!of_base.empty() && !of_candidate.empty());
  std::vector<double> const base_means = run_means(of_base),
                            candidate_means = run_means(of_candidate);

  Change change;
  change.base_mean = plain_mean(base_means);
  change.candidate_mean = plain_mean(candidate_means);

  if (of_base.size() > 1 || of_candidate.size() > 1) {
    change.unit = CompareUnit::kRun;
    double const least_error = std::sqrt(error_of_steps(of_base) + error_of_steps(of_candidate));
    compare_values(base_means, candidate_means, least_error, sums, change);
    return change;
  }

  change.base_values = of_base[0].size();
  change.candidate_values = of_candidate[0].size();
  change.shift.estimate = change.shift.low = change.shift.high =
      change.candidate_mean - change.base_mean;
  if (std::min(change.base_values, change.candidate_values) < kFewestComparedSteps) return change;

  BlockPair const blocks = independent_blocks(of_base[0], of_candidate[0]);
  change.unit = blocks.length > 1 ? CompareUnit::kBlock : CompareUnit::kStep;
  change.steps_per_value = blocks.length;
  change.drifts = blocks.drifts;
  compare_values(blocks.base, blocks.candidate, 0, sums, change);
  if (blocks.drifts) widen_by_drift(blocks, change.shift);
  return change;
}

Change measure_pairs(std::span<std::vector<double> const> base,
                     std::span<std::vector<double> const> candidate) {
  STEPSCOPE_CHECK(base.size() == candidate.size());
  std::vector<double> of_base, of_candidate, differences;
  for (size_t i = 0; i < base.size(); ++i) {
    if (base[i].empty() || candidate[i].empty()) continue;
    of_base.push_back(plain_mean(base[i]));
    of_candidate.push_back(plain_mean(candidate[i]));
    differences.push_back(of_candidate.back() - of_base.back());
  }
  STEPSCOPE_CHECK(!differences.empty());

  Change change;
  change.unit = CompareUnit::kPair;
  change.base_values = change.candidate_values = differences.size();
  change.base_mean = plain_mean(of_base);
  change.candidate_mean = plain_mean(of_candidate);

  SignedRankTest const ranked = signed_rank(differences, kCompareConfidence);
  if (differences.size() >= (ranked.exact ? kFewestRankedPairs : kFewestTiedPairs)) {
    change.method = CompareMethod::kSignedRank;
    change.p = ranked.p;
    change.shift = ranked.shift;
  } else {
    compare_few_pairs(of_base, of_candidate, differences, change);
  }

  change.agreement = agreement_of(of_base, of_candidate);
  return change;
}

std::optional<Change> measure_far_apart(std::span<std::vector<double> const> base,
                                        std::span<std::vector<double> const> candidate) {
  STEPSCOPE_CHECK(base.size() == candidate.size() && !base.empty());
  for (size_t i = 0; i < base.size(); ++i)
    if (base[i].empty() || candidate[i].empty()) return std::nullopt;

  double const base_mean = plain_mean(run_means(runs_with_values(base)));
  std::optional<Change> all;
  RankSums sums;
  for (size_t i = 0; i < base.size(); ++i) {
    Change one = measure_change(base.subspan(i, 1), candidate.subspan(i, 1), sums);
    if (one.method == CompareMethod::kNone || one.base_mean <= 0) return std::nullopt;

    // Pairs of a slow machine have larger differences: all are brought to the mean base.
    double const scale = base_mean / one.base_mean;
    one.shift.low = one.shift.low * scale - kPairSpread * base_mean;
    one.shift.high = one.shift.high * scale + kPairSpread * base_mean;
    if (!all) {
      all = one;
      continue;
    }
    all->p = std::max(all->p, one.p);
    all->shift.low = std::min(all->shift.low, one.shift.low);
    all->shift.high = std::max(all->shift.high, one.shift.high);
  }
  return all;
}

size_t needed_runs(Change const& change, double least) {
  bool const are_pairs = change.method == CompareMethod::kPairedStudent;
  size_t const fewest = std::min(change.base_values, change.candidate_values),
               sides = are_pairs ? 1 : 2;
  if (!are_pairs && change.method != CompareMethod::kStudent) return 0;
  double const degrees =
      static_cast<double>(change.base_values + (are_pairs ? 0 : change.candidate_values)) -
      static_cast<double>(sides);
  double const half = (change.shift.high - change.shift.low) / 2;
  if (degrees < 1 || !std::isfinite(half) || half <= 0) return 0;

  double const error = half / student_quantile(1 - kCompareConfidence, degrees),
               shift = std::abs(change.shift.estimate);
  for (size_t runs = fewest + 1; runs <= kMostNeededRuns; ++runs) {
    double const more_degrees = static_cast<double>(sides * (runs - 1));
    double const less_error =
        error * std::sqrt(static_cast<double>(fewest) / static_cast<double>(runs));
    double const margin = less_error * student_quantile(1 - kCompareConfidence, more_degrees);
    if (shift + margin <= least) return runs;
    if (shift - margin > least &&
        student_two_sided(shift / less_error, more_degrees) < kMetricError)
      return runs;
  }
  return 0;
}

bool has_opposed_mean(Change const& change, double least) {
  double const of_mean = change.candidate_mean - change.base_mean;
  return (change.shift.low > least && of_mean < -least) ||
         (change.shift.high < -least && of_mean > least);
}

Verdict judge(Change const& change, double adjusted, double least) {
  if (change.method == CompareMethod::kNone) return Verdict::kUnclear;
  if (change.shift.low >= -least && change.shift.high <= least) return Verdict::kSame;
  if (adjusted >= kFamilyError || change.p >= kMetricError) return Verdict::kUnclear;
  if (has_opposed_mean(change, least)) return Verdict::kUnclear;
  if (change.shift.low > least) return Verdict::kMore;
  return change.shift.high < -least ? Verdict::kLess : Verdict::kUnclear;
}

}  // namespace stepscope::analyzer
