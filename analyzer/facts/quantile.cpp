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

int64_t select(std::vector<int64_t>& values, size_t place) {
  auto const at = values.begin() + static_cast<ptrdiff_t>(place);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

int64_t quantile(std::vector<int64_t>& values, size_t percent) {
  size_t place = (values.size() * percent + 99) / 100 - 1;
  if (values.size() < kFewValues) return select(values, place);
  auto const least = static_cast<uint64_t>(*std::min_element(values.begin(), values.end()));
  auto const bucket = [&](int64_t value) { return bucket_of(static_cast<uint64_t>(value) - least); };
  std::array<uint32_t, kBuckets> counts{};
  for (int64_t const value : values) ++counts[bucket(value)];
  size_t wanted = 0;
  for (; place >= counts[wanted]; ++wanted) place -= counts[wanted];
  std::vector<int64_t> in_bucket;
  in_bucket.reserve(counts[wanted]);
  for (int64_t const value : values)
    if (bucket(value) == wanted) in_bucket.push_back(value);
  return select(in_bucket, place);
}

}  // namespace stepscope::analyzer
