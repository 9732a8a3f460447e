// Quantiles that occurred: no value between two is made up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace stepscope::analyzer {

/// The ⌈percent/100 · n⌉-th smallest of n ≥ 1 values, which is the smallest that at least `percent` % (1 to 100) do not pass.
/// May reorder the values. O(n).
int64_t quantile(std::vector<int64_t>& values, size_t percent);

}  // namespace stepscope::analyzer
