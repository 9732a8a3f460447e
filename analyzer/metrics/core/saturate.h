// Sums of durations that hostile times cannot overflow: they stop at the largest number.
#pragma once

#include <cstdint>
#include <limits>

namespace stepscope::analyzer {

/// Both ≥ 0.
inline void add_saturated(int64_t& sum, int64_t ns) {
  if (__builtin_add_overflow(sum, ns, &sum)) sum = std::numeric_limits<int64_t>::max();
}
inline void add_saturated(uint64_t& sum, uint64_t count) {
  if (__builtin_add_overflow(sum, count, &sum)) sum = std::numeric_limits<uint64_t>::max();
}
inline int64_t saturated_sum(int64_t a, int64_t b) {
  add_saturated(a, b);
  return a;
}

}  // namespace stepscope::analyzer
