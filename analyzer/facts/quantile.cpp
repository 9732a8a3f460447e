#include "analyzer/facts/quantile.h"

#include <algorithm>
#include <array>
#include <bit>

namespace stepscope::analyzer {
namespace {

/// Below, selecting is as fast as counting.
constexpr size_t kFewValues = 512;

/// Buckets of numbers by their highest bits: of each power of two 64, so that those of durations, which differ by factors, are
/// evenly full.
constexpr unsigned kFineBits = 6;
constexpr size_t kBuckets = (64 - kFineBits + 1) << kFineBits;

/// Does not decrease with the number.
constexpr size_t bucket_of(uint64_t number) {
  unsigned const width = static_cast<unsigned>(std::bit_width(number));
  if (width <= kFineBits) return number;
  unsigned const shift = width - kFineBits - 1;  // one bit more than is kept is known to be set
  return (size_t{shift} << kFineBits) + static_cast<size_t>(number >> shift);
}
static_assert(bucket_of(63) == 63 && bucket_of(64) == 64 && bucket_of(127) == 127 && bucket_of(128) == 128);
static_assert(bucket_of(UINT64_MAX) < kBuckets);

/// Of sorted values.
constexpr size_t place_of_quantile(size_t values, size_t percent) { return (values * percent + 99) / 100 - 1; }

int64_t select(std::vector<int64_t>& values, size_t place) {
  auto const at = values.begin() + static_cast<ptrdiff_t>(place);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

/// How many of many values are in each bucket.
class Buckets {
 public:
  Buckets(std::vector<int64_t> const& values, int64_t least) : least_(static_cast<uint64_t>(least)) {
    for (int64_t const value : values) ++counts_[of(value)];
  }
  struct Place {
    size_t bucket, in_bucket;
  };
  /// Of the value that would be at this place if all were sorted.
  [[nodiscard]] Place find(size_t place) const {
    size_t bucket = 0;
    for (; place >= counts_[bucket]; ++bucket) place -= counts_[bucket];
    return {bucket, place};
  }
  [[nodiscard]] size_t of(int64_t value) const { return bucket_of(static_cast<uint64_t>(value) - least_); }
  [[nodiscard]] uint32_t count(size_t bucket) const { return counts_[bucket]; }

 private:
  uint64_t least_;
  std::array<uint32_t, kBuckets> counts_{};
};

}  // namespace

int64_t quantile(std::vector<int64_t>& values, size_t percent) {
  size_t const place = place_of_quantile(values.size(), percent);
  if (values.size() < kFewValues) return select(values, place);
  Buckets const buckets(values, *std::min_element(values.begin(), values.end()));
  auto const [bucket, in_bucket] = buckets.find(place);
  std::vector<int64_t> near;
  near.reserve(buckets.count(bucket));
  for (int64_t const value : values)
    if (buckets.of(value) == bucket) near.push_back(value);
  return select(near, in_bucket);
}

Distribution distribution(std::vector<int64_t>& values) {
  Distribution result;
  auto const [least, most] = std::minmax_element(values.begin(), values.end());
  result.least = *least;
  result.most = *most;
  if (values.size() < kFewValues) {
    result.median = quantile(values, 50);
    result.p95 = quantile(values, 95);
    return result;
  }
  Buckets const buckets(values, result.least);
  Buckets::Place const median = buckets.find(place_of_quantile(values.size(), 50));
  Buckets::Place const p95 = buckets.find(place_of_quantile(values.size(), 95));
  std::vector<int64_t> near_median, near_p95;
  near_median.reserve(buckets.count(median.bucket));
  near_p95.reserve(buckets.count(p95.bucket));
  for (int64_t const value : values) {
    size_t const bucket = buckets.of(value);
    if (bucket == median.bucket) near_median.push_back(value);
    if (bucket == p95.bucket) near_p95.push_back(value);
  }
  result.median = select(near_median, median.in_bucket);
  result.p95 = select(near_p95, p95.in_bucket);
  return result;
}

}  // namespace stepscope::analyzer
