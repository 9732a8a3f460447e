#include "analyzer/metrics/core/quantile.h"

#include <algorithm>
#include <cmath>

#include "trace/base/check.h"
#include "trace/base/column.h"

namespace stepscope::analyzer {
namespace {

/// Below, selecting is as fast as asking a sample first.
constexpr size_t kFewValues = 512;

/// The index of a quantile among sorted values.
constexpr size_t place_of_quantile(size_t values, size_t percent) {
  return (values * percent + 99) / 100 - 1;
}

int64_t select(std::span<int64_t> values, size_t place) {
  auto const at = values.begin() + static_cast<ptrdiff_t>(place);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

/// A part of many values, taken evenly but not at regular distances: what programs do repeats
/// itself.
base::Column<int64_t> sample_of(std::span<int64_t const> values) {
  constexpr size_t kMostSampled = 1024, kOneOf = 64;
  constexpr uint64_t kStep =
      0x9E3779B97F4A7C15;  // 2^64 over the golden ratio: its multiples lie evenly
  base::Column<int64_t> sample(
      std::min(kMostSampled, std::max(kFewValues / 4, values.size() / kOneOf)));

  uint64_t position = 0;
  for (int64_t& value : sample) {
    // The upper half of the position as a part of all values: there are fewer than 2^32.
    value = values[static_cast<size_t>((position >> 32) * values.size() >> 32)];
    position += kStep;
  }

  return sample;
}

/// The values near a quantile, found in one pass without a branch: those between two of a sample
/// that almost surely enclose it.
class NearQuantile {
 public:
  NearQuantile(std::span<int64_t> sample, size_t values, size_t percent)
      : place_(place_of_quantile(values, percent)), near_(values) {
    auto const sampled = static_cast<double>(sample.size()),
               share = static_cast<double>(percent) / 100;
    // Four standard deviations of a random sample to each side: where that is not enough, all are
    // selected from.
    double const margin = 4 * std::sqrt(sampled * share * (1 - share)) + 1;
    double const lowest = sampled * share - margin, highest = sampled * share + margin;
    if (lowest >= 0) least_ = select(sample, static_cast<size_t>(lowest));
    if (highest < sampled) most_ = select(sample, static_cast<size_t>(highest));
  }
  void add(int64_t value) {
    below_ += value < least_ ? 1 : 0;
    near_[count_] = value;
    count_ += static_cast<size_t>(value >= least_) & static_cast<size_t>(value <= most_);
  }
  /// When all have been added. `all` may be reordered.
  int64_t find(std::span<int64_t> all) {
    if (place_ < below_ || place_ - below_ >= count_) return select(all, place_);
    return select(std::span(near_).first(count_), place_ - below_);
  }

 private:
  size_t place_;
  int64_t least_ = INT64_MIN, most_ = INT64_MAX;
  size_t below_ = 0, count_ = 0;
  base::Column<int64_t> near_;
};

}  // namespace

int64_t quantile(std::span<int64_t> values, size_t percent) {
  if (values.size() < kFewValues) return select(values, place_of_quantile(values.size(), percent));
  auto sample = sample_of(values);
  NearQuantile near(sample, values.size(), percent);
  for (int64_t const value : values) near.add(value);
  return near.find(values);
}

int64_t quantile_of_sorted(std::span<int64_t const> sorted, double q) {
  STEPSCOPE_CHECK(!sorted.empty());
  auto const rank = static_cast<size_t>(std::ceil(q * static_cast<double>(sorted.size())));
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

Distribution distribution(std::span<int64_t> values) {
  Distribution result;
  if (values.size() < kFewValues) {
    auto const [least, most] = std::minmax_element(values.begin(), values.end());
    result.least = *least;
    result.most = *most;
    result.median = quantile(values, 50);
    result.p95 = quantile(values, 95);
    return result;
  }

  auto sample = sample_of(values);
  NearQuantile median(sample, values.size(), 50), p95(sample, values.size(), 95);

  int64_t least = values.front(), most = values.front();
  for (int64_t const value : values) {
    least = std::min(least, value);
    most = std::max(most, value);
    median.add(value);
    p95.add(value);
  }

  result.least = least;
  result.most = most;
  result.median = median.find(values);
  result.p95 = p95.find(values);
  return result;
}

}  // namespace stepscope::analyzer
