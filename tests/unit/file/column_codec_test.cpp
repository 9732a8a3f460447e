#include "trace/file/column_codec.h"

#include <random>

#include <gtest/gtest.h>

namespace stepscope::file {
namespace {

std::vector<uint64_t> round_trip(std::vector<uint64_t> const& values, size_t* bytes = nullptr) {
  base::ByteWriter out;
  encode_column(values, out);
  if (bytes != nullptr) *bytes = out.size();
  base::ByteReader in(out.span());
  std::vector<uint64_t> result;
  EXPECT_TRUE(decode_column(in, values.size(), result));
  EXPECT_EQ(in.remaining(), 0U);
  base::ByteReader skipping(out.span());
  EXPECT_TRUE(skip_column(skipping));
  EXPECT_EQ(skipping.remaining(), 0U);
  return result;
}

TEST(ColumnCodec, RoundTripsEveryWidthAndSign) {
  std::mt19937_64 random(1);
  for (int bits = 0; bits <= 64; ++bits) {
    for (int shape = 0; shape < 3; ++shape) {
      std::vector<uint64_t> values;
      uint64_t sum = random();
      for (int i = 0; i < 100; ++i) {
        uint64_t const small = bits == 0 ? 0 : random() >> (64 - bits);
        sum += small;
        values.push_back(shape == 0 ? small : shape == 1 ? 0 - small : sum);
      }
      EXPECT_EQ(round_trip(values), values) << bits << " bits, shape " << shape;
    }
  }
}

TEST(ColumnCodec, RoundTripsEmptyAndExtremeColumns) {
  EXPECT_TRUE(round_trip({}).empty());
  std::vector<uint64_t> const extremes = {0, UINT64_MAX, 1, 1ULL << 63, (1ULL << 63) - 1};
  EXPECT_EQ(round_trip(extremes), extremes);
}

TEST(ColumnCodec, AConstantColumnTakesNoSpacePerRow) {
  size_t bytes = 0;
  round_trip(std::vector<uint64_t>(10'000, 1'700'000'000), &bytes);
  EXPECT_LE(bytes, 16U);
}

TEST(ColumnCodec, RisingTimestampsAreStoredAsDifferences) {
  std::vector<uint64_t> times;
  for (uint64_t i = 0; i < 1000; ++i) times.push_back((1ULL << 60) + i * 50);
  size_t bytes = 0;
  EXPECT_EQ(round_trip(times, &bytes), times);
  EXPECT_LE(bytes, 1000U + 16);  // one byte a difference
}

TEST(ColumnCodec, DamagedBytesAreRefused) {
  base::ByteWriter out;
  encode_column(std::vector<uint64_t>{1, 2, 300}, out);
  std::vector<uint64_t> values;
  for (size_t cut = 0; cut < out.size(); ++cut) {
    base::ByteReader in(out.span().first(cut));
    EXPECT_FALSE(decode_column(in, 3, values)) << cut;
  }
  base::ByteReader wrong_count(out.span());
  EXPECT_FALSE(decode_column(wrong_count, 4, values));
  base::ByteWriter wide;
  wide.put(uint8_t{1});
  wide.put(uint8_t{9});  // nine-byte integers do not exist
  wide.put(uint32_t{0});
  base::ByteReader in(wide.span());
  EXPECT_FALSE(decode_column(in, 0, values));
}

}  // namespace
}  // namespace stepscope::file
