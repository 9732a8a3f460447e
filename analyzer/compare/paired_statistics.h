// Statistics of pairs: whether differences of values that belong together are about 0 (Wilcoxon's
// signed ranks, Student's t), and how large they typically are (Hodges and Lehmann's pseudomedian,
// their mean). Pure functions over finite numbers. As in R: wilcox.test(differences, conf.int =
// TRUE), t.test(differences).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "analyzer/compare/statistics.h"

namespace stepscope::analyzer {

/// The distribution of V, the sum of the ranks of positive differences, where these are as often
/// negative and no two are equal: n (n + 1) / 2 + 1 probabilities. O(n³), n ≤ kMostExact.
class SignedRankDistribution {
 public:
  explicit SignedRankDistribution(size_t n);
  /// P(V ≤ v), v ≤ n (n + 1) / 2.
  [[nodiscard]] double cumulative(size_t v) const { return cumulative_[v]; }
  /// The smallest v with P(V ≤ v) ≥ p.
  [[nodiscard]] size_t quantile(double p) const;

 private:
  std::vector<double> cumulative_;
};

struct SignedRankTest {
  double v = 0;  ///< the sum of the ranks of positive differences, equal ones share theirs; those
                 ///< of 0 are left out
  double p = 1;  ///< two-sided
  bool exact = false;  ///< else the normal approximation, corrected for ties and continuity
  /// The median of the means of all pairs of differences, each with itself too, and Tukey's
  /// interval of them, by the exact distribution where `exact`. With too few differences it is that
  /// of all.
  Shift shift;
};
/// Wilcoxon, 1945. Exact where no two differences are equal but for their sign, none is 0 and there
/// are no more than kMostExact. Needs one difference. O(n²).
SignedRankTest signed_rank(std::span<double const> differences, double confidence);

/// Student's t of their mean. A single difference has an interval of all numbers; if none varies, p
/// is 0 or 1.
MeanTest student_of_pairs(std::span<double const> differences, double confidence);

}  // namespace stepscope::analyzer
