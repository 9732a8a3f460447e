// Decoded as the format's text says it, one bit after the other.
#include "trace/columns/files/parquet_encoding.h"

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace stepscope::columns {
namespace {

/// Reads a stream of bytes, and of bits within them.
class Reader {
 public:
  explicit Reader(std::string const& bytes) : bytes_(bytes) {}

  [[nodiscard]] bool at_end() const { return at_ >= bytes_.size(); }
  uint64_t varint() {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      auto const byte = next();
      value |= uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
  }
  int64_t zigzag() {
    uint64_t const raw = varint();
    return static_cast<int64_t>(raw >> 1U) ^ -static_cast<int64_t>(raw & 1U);
  }
  uint8_t next() { return static_cast<uint8_t>(bytes_.at(at_++)); }
  /// `count` numbers of so many bits; bytes are whole afterwards.
  std::vector<uint64_t> packed(size_t count, uint32_t bits) {
    std::vector<uint64_t> numbers;
    size_t place = at_ * 8;

    for (size_t i = 0; i < count; ++i) {
      uint64_t number = 0;
      for (uint32_t bit = 0; bit < bits; ++bit, ++place)
        number |= uint64_t{static_cast<uint8_t>(bytes_.at(place / 8)) >> (place % 8) & 1U} << bit;
      numbers.push_back(number);
    }

    EXPECT_EQ(place % 8, 0U);
    at_ = place / 8;
    return numbers;
  }

 private:
  std::string const& bytes_;
  size_t at_ = 0;
};

std::vector<uint32_t> decode_hybrid(std::string const& bytes, uint32_t bits, size_t count) {
  Reader reader(bytes);
  std::vector<uint32_t> values;
  while (!reader.at_end()) {
    uint64_t const header = reader.varint();
    if ((header & 1U) != 0) {
      for (uint64_t const value : reader.packed((header >> 1U) * 8, bits))
        values.push_back(static_cast<uint32_t>(value));
      continue;
    }
    uint32_t value = 0;
    for (uint32_t shift = 0; shift < bits; shift += 8) value |= uint32_t{reader.next()} << shift;
    values.insert(values.end(), header >> 1U, value);
  }

  EXPECT_GE(values.size(), count);
  EXPECT_LT(values.size(), count + 8) << "only the last group may be filled up";
  values.resize(count);
  return values;
}

std::vector<int64_t> decode_deltas(std::string const& bytes) {
  Reader reader(bytes);
  uint64_t const block = reader.varint(), miniblocks = reader.varint(), count = reader.varint();
  EXPECT_EQ(block % 128, 0U);
  EXPECT_EQ(block / miniblocks % 32, 0U);

  auto value = static_cast<uint64_t>(reader.zigzag());
  std::vector<int64_t> values;
  if (count > 0) values.push_back(static_cast<int64_t>(value));
  while (values.size() < count) {
    auto const least = static_cast<uint64_t>(reader.zigzag());
    std::vector<uint32_t> widths;
    for (uint64_t i = 0; i < miniblocks; ++i) widths.push_back(reader.next());
    for (uint32_t const width : widths) {
      if (values.size() >= count) {
        EXPECT_EQ(width, 0U) << "a miniblock without values has no bits";
        continue;
      }
      for (uint64_t const above : reader.packed(block / miniblocks, width)) {
        if (values.size() >= count) break;
        value += least + above;
        values.push_back(static_cast<int64_t>(value));
      }
    }
  }

  EXPECT_TRUE(reader.at_end());
  return values;
}

TEST(ParquetHybrid, GivesBackRunsAndWhatIsBetween) {
  std::mt19937_64 random(1);
  for (uint32_t const bits : {1U, 2U, 3U, 7U, 8U, 9U, 15U, 31U, 32U}) {
    uint64_t const greatest = (uint64_t{1} << bits) - 1;
    for (size_t const count : {0U, 1U, 7U, 8U, 9U, 63U, 1000U}) {
      std::vector<uint32_t> values;
      while (values.size() < count) {
        // Runs of all lengths around 8, where it changes from packing to runs.
        size_t const run = random() % 4 == 0 ? random() % 40 + 1 : 1;
        values.insert(values.end(), run, static_cast<uint32_t>(random() & greatest));
      }
      values.resize(count);

      std::string bytes;
      append_hybrid(bytes, values, bits);
      EXPECT_EQ(decode_hybrid(bytes, bits, count), values) << bits << " bits, " << count;
    }
  }
}

TEST(ParquetHybrid, ALongRunTakesAFewBytes) {
  std::string bytes;
  append_hybrid(bytes, std::vector<uint32_t>(1'000'000, 5), 3);
  EXPECT_LE(bytes.size(), 4U);
}

TEST(ParquetDeltas, GiveBackNumbersOfAllSizes) {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(),
                    kGreatest = std::numeric_limits<int64_t>::max();
  std::mt19937_64 random(2);

  for (size_t const count : {0U, 1U, 2U, 31U, 32U, 33U, 128U, 129U, 130U, 1000U}) {
    for (unsigned const shift : {63U, 60U, 33U, 10U, 0U}) {
      std::vector<int64_t> values;
      for (size_t i = 0; i < count; ++i) values.push_back(static_cast<int64_t>(random()) >> shift);
      std::string bytes;
      append_deltas(bytes, values);
      EXPECT_EQ(decode_deltas(bytes), values) << count << " of " << 64 - shift << " bits";
    }
  }

  std::vector<int64_t> const edges = {kLeast, kGreatest, 0, kGreatest, kLeast, -1, kLeast};
  std::string bytes;
  append_deltas(bytes, edges);
  EXPECT_EQ(decode_deltas(bytes), edges);
}

TEST(ParquetDeltas, NumbersInEvenStepsTakeNextToNothing) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < 12'800; ++i) values.push_back(1'000'000 + 7 * i);
  std::string bytes;
  append_deltas(bytes, values);
  EXPECT_LT(bytes.size(), 700U);
}

}  // namespace
}  // namespace stepscope::columns
