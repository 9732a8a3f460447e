// Statistics of two sides: whether they differ (Mann-Whitney's U, Student's t) and by how much
// (Hodges and Lehmann's shift, the difference of means). Holm's correction keeps the errors of many
// tests together within bounds. Pure functions over finite numbers; they know nothing of traces. As
// in R: wilcox.test(x, y), wilcox.test(y, x, conf.int = TRUE), t.test(y, x, var.equal = TRUE),
// p.adjust(p, "holm").
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <vector>

namespace stepscope::analyzer {

/// The distribution of U where nothing differs and no two values are equal: n · m + 1
/// probabilities. O(n² m²) for n, m ≤ kMostExact, once.
class RankSumDistribution {
 public:
  RankSumDistribution(size_t n, size_t m);
  [[nodiscard]] bool is_of(size_t n, size_t m) const { return n == n_ && m == m_; }
  /// P(U ≤ u), u ≤ n · m.
  [[nodiscard]] double cumulative(size_t u) const { return cumulative_[u]; }
  /// The smallest u with P(U ≤ u) ≥ p.
  [[nodiscard]] size_t quantile(double p) const;

 private:
  size_t n_, m_;
  std::vector<double> cumulative_;
};
/// With as many values on a side the normal distribution is as good; R draws the same line.
inline constexpr size_t kMostExact = 49;

/// Makes each distribution once: most metrics of a comparison have as many values.
class RankSums {
 public:
  RankSumDistribution const& of(size_t n, size_t m);

 private:
  std::deque<RankSumDistribution> known_;
};

struct RankTest {
  double u = 0;        ///< pairs (x, y) with x > y, those with x = y half
  double p = 1;        ///< two-sided
  bool exact = false;  ///< else the normal approximation, corrected for ties and continuity
};
/// Mann and Whitney, 1947. Exact where no two values are equal and neither side has more than
/// kMostExact. Neither may be empty.
RankTest mann_whitney(std::span<double const> x, std::span<double const> y, RankSums& sums);

/// How much larger y is than x, with the bounds of its confidence interval.
struct Shift {
  double estimate = 0, low = 0, high = 0;
};
/// Hodges and Lehmann, 1963: the median of all differences y − x, and the interval of Moses, by the
/// exact distribution where mann_whitney() uses it. Both sides need one value; with too few (R
/// warns then) the interval is that of all differences. O(n · m).
Shift hodges_lehmann(std::span<double const> x, std::span<double const> y, double confidence,
                     RankSums& sums);

struct MeanTest {
  Shift shift;
  double p = 1;
  double degrees = 0;  ///< of freedom; 0: nothing tells how far values vary, and the interval is
                       ///< that of all numbers
};
/// Student's t with one variance for both sides: one of them may have a single value. Where no
/// value varies p is 0 or 1.
MeanTest student(std::span<double const> x, std::span<double const> y, double confidence);
/// The same of an estimate whose standard error is known with so many degrees of freedom.
MeanTest student_of(double estimate, double error, double degrees, double confidence);

/// P(|T| > |t|), `degrees` > 0.
double student_two_sided(double t, double degrees);
/// t with P(|T| > t) = p, 0 < p < 1.
double student_quantile(double p, double degrees);
/// z with P(Z ≤ z) = p, 0 < p < 1.
double normal_quantile(double p);

/// Holm, 1979: p-values in the order given, each as it counts among all of them. Each in 0 … 1.
std::vector<double> holm(std::span<double const> p);

/// Correlation of each value with the next within its run, over all runs, each about its own mean,
/// corrected for what short runs lose by that (Kendall, 1954). 0 where nothing varies.
double lag_one_correlation(std::span<std::vector<double> const> runs);
/// Means of blocks of at least `length` successive values: as many as fit, of nearly equal length,
/// over all values. Fewer values than `length`: one block.
std::vector<double> block_means(std::span<double const> values, size_t length);

}  // namespace stepscope::analyzer
