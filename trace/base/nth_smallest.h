// The n-th smallest of many numbers, as std::nth_element puts it into its place, two to four times
// as fast: numbers are moved without a branch that depends on them, which of numbers in no order is
// guessed wrong every other time.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <span>

namespace stepscope::base {
namespace nth_smallest_parts {

/// Below this many sampling costs more than it saves.
constexpr size_t kSampledFrom = 1024;
/// Numbers of a sample, and how many places of it the pivot lies beside where the n-th should be:
/// about two standard deviations, so that it is mostly among the few on its near side.
constexpr size_t kSample = 127, kAside = 11;
/// So few are sorted out by the library.
constexpr size_t kFew = 12;

/// Brings those that belong to the front; returns how many they are.
template <class Value, class Belongs>
size_t gather(std::span<Value> values, Belongs belongs) {
  size_t count = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    Value const value = values[i];
    values[i] = values[count];
    values[count] = value;
    count += belongs(value) ? 1 : 0;
  }
  return count;
}

template <class Value>
Value pivot_of(std::span<Value> values, size_t n) {
  size_t const size = values.size();
  if (size < kSampledFrom) {
    Value const low = std::min(values[0], values[size / 2]),
                high = std::max(values[0], values[size / 2]);
    return std::max(low, std::min(high, values[size - 1]));
  }
  std::array<Value, kSample> sample;
  for (size_t i = 0; i < kSample; ++i) sample[i] = values[i * size / kSample];
  size_t const there = n * kSample / size;
  // On the far side, so that the larger part is done with.
  size_t const place =
      n < size / 2 ? std::min(there + kAside, kSample - 1) : there - std::min(there, kAside);
  std::nth_element(sample.begin(), sample.begin() + static_cast<std::ptrdiff_t>(place),
                   sample.end());
  return sample[place];
}

}  // namespace nth_smallest_parts

/// The value that stands at `n` when all are sorted; it is put there, none before it is greater,
/// none behind it is less. `n` is less than their number, none is NaN. O(numbers), at worst
/// O(numbers · log numbers).
template <class Value>
Value nth_smallest(std::span<Value> values, size_t n) {
  // What is in no good order for it takes a few rounds more than its logarithm.
  int rounds = 2 * static_cast<int>(std::bit_width(values.size()));
  while (values.size() > nth_smallest_parts::kFew && rounds-- > 0) {
    Value const pivot = nth_smallest_parts::pivot_of(values, n);
    size_t const less =
        nth_smallest_parts::gather(values, [&](Value value) { return value < pivot; });
    if (n < less) {
      values = values.first(less);
      continue;
    }
    values = values.subspan(less);
    n -= less;
    size_t const same =
        nth_smallest_parts::gather(values, [&](Value value) { return !(pivot < value); });
    if (n < same) return pivot;
    values = values.subspan(same);
    n -= same;
  }
  auto const place = values.begin() + static_cast<std::ptrdiff_t>(n);
  std::nth_element(values.begin(), place, values.end());
  return *place;
}

}  // namespace stepscope::base
