// Quantiles that occurred: no value between two is made up.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace stepscope::analyzer {

/// The ⌈percent/100 · n⌉-th smallest of n ≥ 1 values, which is the smallest that at least `percent`
/// % (1 to 100) do not pass. May reorder the values. O(n).
int64_t quantile(std::span<int64_t> values, size_t percent);

/// The value at fraction q (0 to 1) of n ≥ 1 sorted values, nearest rank.
int64_t quantile_of_sorted(std::span<int64_t const> sorted, double q);

/// The median of n ≥ 1 values as DEFINITIONS has it: of an even number the lower of the two in the
/// middle. Reorders the values. O(n).
template <class Values>
auto lower_median(Values& values) {
  auto const middle = values.begin() + static_cast<ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

struct Distribution {
  int64_t least = 0, median = 0, p95 = 0, most = 0;
};
/// The least and the greatest of n ≥ 1 values, and their quantile() of 50 and of 95 %. May reorder
/// the values. O(n), and faster than four calls.
Distribution distribution(std::span<int64_t> values);

}  // namespace stepscope::analyzer
