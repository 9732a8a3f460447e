// Places where a series of numbers changes its level: E-divisive with a permutation test, with
// distances |x − y|. Source: Matteson and James, "A nonparametric approach for multiple change
// point analysis of multivariate data", 2014. Pure: numbers in, places out.
//
// Two neighbouring pieces A and B of m and n values have Q = m n / (m + n) · (2 E|a − b| − E|a −
// a'| − E|b − b'|). Q is large where their distributions differ. The pieces with most Q, over all
// that begin where a known segment does, are the candidate for the next change. It counts if hardly
// any shuffling of the values within the known segments has as much.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace stepscope::analyzer {

/// One or two slow runs are outliers and no level.
inline constexpr size_t kFewestOfLevel = 3;
/// More are not looked at: time and memory grow with their square.
inline constexpr size_t kMostSeriesValues = 512;
/// Chance that a series in which nothing changes is reported to change.
inline constexpr double kChangePointError = 0.01;
/// p has steps of 1 / (permutations + 1).
inline constexpr size_t kPermutations = 999;

struct SplitPlace {
  size_t at = 0;   ///< first of the second piece, from the begin of the segment
  size_t end = 0;  ///< and its end: the level may end before the segment does
  double q = 0;
};
/// The split of one segment with most Q; the first of equal ones. None: it is shorter than two
/// levels. O(n²) for n values.
std::optional<SplitPlace> best_split(std::span<double const> segment);

struct SeriesChange {
  size_t at = 0;  ///< index of the first value of the new level
  double p = 1;   ///< of the permutation test
};
/// In the order of the series, at most kMostSeriesValues finite numbers. The same series has the
/// same answer everywhere: the shuffles come from `seed` alone.
std::vector<SeriesChange> find_changes(std::span<double const> series, uint64_t seed = 1);

}  // namespace stepscope::analyzer
