// Quantiles that occurred: no value between two is made up.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stepscope::analyzer {

/// The ⌈percent/100 · n⌉-th smallest of n ≥ 1 values, which is the smallest that at least `percent` % (1 to 100) do not pass.
/// Reorders the values. O(n).
inline int64_t quantile(std::vector<int64_t>& values, size_t percent) {
  size_t const place = (values.size() * percent + 99) / 100 - 1;
  auto const at = values.begin() + static_cast<std::ptrdiff_t>(place);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace stepscope::analyzer
