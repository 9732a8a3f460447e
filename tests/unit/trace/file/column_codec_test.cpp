#include <algorithm>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "trace/file/codec/column_table.h"

namespace stepscope::file {
namespace {

constexpr uint8_t kScope = 3;

base::ByteWriter payload_of(ColumnEncoder const& encoder) {
  base::ByteWriter out;
  put_columns(encoder, out);
  return out;
}

/// What column `number` of a payload decodes to.
std::vector<uint64_t> decoded(base::ByteSpan payload, size_t rows, int number = 0,
                              std::span<int64_t const> dur = {}) {
  ColumnTable columns;
  EXPECT_TRUE(columns.parse(payload));
  std::vector<uint64_t> values(rows, 12345);
  EXPECT_TRUE(columns.decode(kScope, number, values, dur));
  return values;
}

size_t expect_round_trip(std::vector<uint64_t> const& values) {
  ColumnEncoder encoder;
  encoder.put(kScope, 0, values);
  encoder.put_sparse(kScope, 1, values);
  base::ByteWriter const payload = payload_of(encoder);
  EXPECT_EQ(decoded(payload.span(), values.size(), 0), values);
  EXPECT_EQ(decoded(payload.span(), values.size(), 1), values);
  encoder.clear();
  encoder.put(kScope, 0, values);
  return payload_of(encoder).size();
}

size_t expect_times_round_trip(std::vector<int64_t> const& start, std::vector<int64_t> const& dur) {
  ColumnEncoder encoder;
  encoder.put_times(kScope, 0, 1, start, dur);
  base::ByteWriter const payload = payload_of(encoder);
  auto const as_signed = [](std::vector<uint64_t> const& values) {
    return std::vector<int64_t>(values.begin(), values.end());
  };
  EXPECT_EQ(as_signed(decoded(payload.span(), dur.size(), 1)), dur);
  EXPECT_EQ(as_signed(decoded(payload.span(), start.size(), 0, dur)), start);
  return payload.size();
}

/// Marks a column by what it decodes to, too.
void expect_marks(ColumnEncoder const& encoder, size_t rows, std::vector<char> const& wanted) {
  base::ByteWriter const payload = payload_of(encoder);
  std::vector<uint64_t> const values = decoded(payload.span(), rows);

  ColumnTable columns;
  ASSERT_TRUE(columns.parse(payload.span()));
  std::vector<uint8_t> marks(rows, 77);
  size_t count = 99;
  ASSERT_TRUE(columns.mark(kScope, 0, wanted, marks, count));

  size_t expected = 0;
  for (uint64_t const value : values)
    expected += wanted[std::min<size_t>(value, wanted.size() - 1)] != 0 ? 1 : 0;
  EXPECT_EQ(count, expected);
  if (expected == 0) return;

  for (size_t row = 0; row < rows; ++row)
    EXPECT_EQ(marks[row], wanted[std::min<size_t>(values[row], wanted.size() - 1)]);
}

/// Request 0 wants no name, 1 all but the last, 2 and 3 about one of 20; 3 wants the last one, too.
std::vector<char> requested_names(int request, std::mt19937_64& random) {
  std::vector<char> wanted(300, request == 1 ? 1 : 0);
  if (request >= 2)
    for (char& each : wanted) each = random() % 20 == 0 ? 1 : 0;
  wanted.back() = request == 3 ? 1 : 0;
  return wanted;
}

TEST(ColumnCodec, MarksTheRowsWhoseValuesAreWanted) {
  std::mt19937_64 random(11);
  // One value, few, more than a byte holds, and more than there are names.
  for (uint64_t const different : std::initializer_list<uint64_t>{1, 2, 100, 256, 257, 3000}) {
    for (int request = 0; request < 4; ++request) {
      std::vector<uint32_t> ids;
      for (int i = 0; i < 5000; ++i) ids.push_back(static_cast<uint32_t>(random() % different));
      std::vector<char> const wanted = requested_names(request, random);
      SCOPED_TRACE(fmt::format("{} values, request {}", different, request));

      ColumnEncoder encoder;
      encoder.put_dictionary(kScope, 0, ids);
      expect_marks(encoder, ids.size(), wanted);

      encoder.clear();
      encoder.put(kScope, 0, std::vector<uint64_t>(ids.begin(), ids.end()));
      expect_marks(encoder, ids.size(), wanted);
    }
  }
}

TEST(ColumnCodec, MarksAColumnThatIsNotThereAsZeros) {
  ColumnTable columns;
  std::vector<uint8_t> marks(3);
  size_t count = 0;
  ASSERT_TRUE(columns.mark(kScope, 0, std::vector<char>{1, 0}, marks, count));
  EXPECT_EQ(count, 3U);
}

TEST(ColumnCodec, ARowThatStandsForNoEntryOfTheDictionaryIsDamage) {
  for (uint8_t const width : {uint8_t{1}, uint8_t{2}}) {
    // Entries 5 and 6; the rows say 0, 1 and 2.
    ColumnHead head{kScope, 0, ColumnCoding::kDictionary, width, 2};
    head.dictionary_bytes = 2;

    base::ByteWriter data;
    data.put_varint(5);
    data.put_varint(6);
    for (uint8_t plane = 0; plane < width; ++plane) {
      head.planes[plane] = {PlaneCoding::kRaw, 3};
      for (uint8_t row = 0; row < 3; ++row) data.put(static_cast<uint8_t>(plane == 0 ? row : 0));
    }

    ColumnDecoder decoder;
    std::vector<uint8_t> marks(3);
    size_t count = 0;
    EXPECT_FALSE(
        decoder.mark(head, data.span(), std::vector<char>{0, 0, 0, 0, 0, 0, 1, 0}, marks, count));

    EXPECT_TRUE(decoder.mark(head, data.span(), std::vector<char>{1, 0}, marks, count))
        << "nothing of it is wanted";
    EXPECT_EQ(count, 0U);
  }
}

/// Shape 0 is small numbers, 1 negative ones, 2 growing ones, 3 growing ones among zeros.
uint64_t shaped_value(int shape, int index, uint64_t small, uint64_t sum) {
  switch (shape) {
    case 0:
      return small;
    case 1:
      return 0 - small;
    case 2:
      return sum;
    default:
      return index % 3 == 0 ? sum : 0;
  }
}

TEST(ColumnCodec, RoundTripsEveryWidthAndSign) {
  std::mt19937_64 random(1);
  for (int bits = 0; bits <= 64; ++bits) {
    for (int shape = 0; shape < 4; ++shape) {
      std::vector<uint64_t> values;
      uint64_t sum = random();
      for (int i = 0; i < 100 + bits; ++i) {
        uint64_t const small = bits == 0 ? 0 : random() >> (64 - bits);
        sum += small;
        values.push_back(shaped_value(shape, i, small, sum));
      }

      SCOPED_TRACE(fmt::format("{} bits, shape {}", bits, shape));
      expect_round_trip(values);
    }
  }
}

TEST(ColumnCodec, RoundTripsEmptyAndExtremeColumns) {
  expect_round_trip({});
  expect_round_trip({0, UINT64_MAX, 1, 1ULL << 63, (1ULL << 63) - 1});
  expect_round_trip({1ULL << 63, 1, 0, 1ULL << 63});  // a difference whose zigzag has all bits set
  expect_times_round_trip({}, {});
  expect_times_round_trip({INT64_MIN, INT64_MAX, 0, INT64_MIN}, {INT64_MAX, INT64_MIN, -1, 0});
}

TEST(ColumnCodec, AConstantColumnTakesNoSpacePerRow) {
  EXPECT_LE(expect_round_trip(std::vector<uint64_t>(10'000, 1'700'000'000)), 16U);
  EXPECT_LE(
      expect_times_round_trip(std::vector<int64_t>(10'000, 5), std::vector<int64_t>(10'000, 7)),
      32U);
}

TEST(ColumnCodec, RegularRisingValuesTakeNoSpacePerRow) {
  std::vector<uint64_t> values;
  for (uint64_t i = 0; i < 10'000; ++i) values.push_back((1ULL << 60) + i * 50);
  EXPECT_LE(expect_round_trip(values), 48U);
}

TEST(ColumnCodec, OpsThatFollowEachOtherAreStoredAsGaps) {
  std::mt19937_64 random(2);
  std::vector<int64_t> start;
  std::vector<int64_t> dur;
  int64_t time = 1'000'000;
  for (int i = 0; i < 10'000; ++i) {
    start.push_back(time);
    dur.push_back(static_cast<int64_t>(random() % 60'000));
    time += dur.back() + 900;
  }

  EXPECT_LE(expect_times_round_trip(start, dur),
            10'000U * 2 + 100);  // the durations' two noisy bytes, nothing for the starts
}

TEST(ColumnCodec, TimesInMicrosecondsLoseTheirZeros) {
  std::mt19937_64 random(3);
  std::vector<int64_t> start;
  std::vector<int64_t> dur;
  int64_t time = 123'456'789;  // the trace's origin need not be a multiple
  for (int i = 0; i < 10'000; ++i) {
    start.push_back(time);
    dur.push_back(static_cast<int64_t>(random() % 200) * 1000);
    time += static_cast<int64_t>(random() % 200) * 1000;
  }

  EXPECT_LE(expect_times_round_trip(start, dur), 10'000U * 2 + 200);
  dur.back() += 1;  // one exception: still exact
  expect_times_round_trip(start, dur);
}

TEST(ColumnCodec, NamesAreStoredByFirstUse) {
  std::vector<uint32_t> names;
  for (uint32_t i = 0; i < 5000; ++i) names.push_back(1'000'000 + i % 7 * 1000);

  ColumnEncoder encoder;
  // A block must not see what another one left in the encoder. A file's first bytes are not
  // compressed (kNotWorthAContext).
  for (int repeat = 0; repeat < 3; ++repeat) {
    encoder.clear();
    encoder.put_dictionary(kScope, 0, names);
    encoder.put_dictionary(kScope, 1, std::vector<uint32_t>{4, 4});
    encoder.put_dictionary(kScope, 2, {});

    base::ByteWriter const payload = payload_of(encoder);
    EXPECT_EQ(decoded(payload.span(), names.size()),
              std::vector<uint64_t>(names.begin(), names.end()));
    EXPECT_EQ(decoded(payload.span(), 2, 1), (std::vector<uint64_t>{4, 4}));
    EXPECT_TRUE(decoded(payload.span(), 0, 2).empty());
    if (repeat > 0) {
      EXPECT_LE(payload.size(), 200U);
    }
  }
}

TEST(ColumnCodec, AColumnThatIsNotThereIsZero) {
  ColumnEncoder encoder;
  encoder.put(kScope, 0, std::vector<uint64_t>{1, 2});
  EXPECT_EQ(decoded(payload_of(encoder).span(), 2, 9), (std::vector<uint64_t>{0, 0}));
}

TEST(ColumnCodec, DamagedBytesAreRefused) {
  std::vector<uint64_t> values;
  for (uint64_t i = 0; i < 300; ++i) values.push_back(i * i % 1000);

  ColumnEncoder encoder;
  encoder.put(kScope, 0, values);
  encoder.put_dictionary(kScope, 1, std::vector<uint32_t>{1, 2, 1});
  base::ByteWriter const payload = payload_of(encoder);

  ColumnTable columns;
  for (size_t cut = 0; cut < payload.size(); ++cut)
    EXPECT_FALSE(columns.parse(payload.span().first(cut))) << cut;

  ASSERT_TRUE(columns.parse(payload.span()));
  std::vector<uint64_t> other_size(values.size() + 1);
  EXPECT_FALSE(columns.decode(kScope, 0, other_size));
}

/// decode_ids() and decode_bytes() say of any payload what decode() says.
void expect_small_alike(base::ByteSpan payload, size_t rows) {
  ColumnTable columns;
  if (!columns.parse(payload)) return;
  for (int const number : {0, 1, 2}) {
    std::vector<uint64_t> values(rows);
    std::vector<uint32_t> ids(rows), expected_ids(rows);
    std::vector<uint8_t> bytes(rows), expected_bytes(rows);
    bool const good = columns.decode(kScope, number, values);
    ASSERT_EQ(columns.decode_ids(kScope, number, ids), good);

    bool const are_bytes = std::all_of(values.begin(), values.end(),
                                       [](uint64_t value) { return value <= UINT8_MAX; });
    ASSERT_EQ(columns.decode_bytes(kScope, number, bytes), good && are_bytes);

    if (!good) continue;
    for (size_t i = 0; i < rows; ++i) {
      expected_ids[i] = static_cast<uint32_t>(values[i]);
      expected_bytes[i] = static_cast<uint8_t>(values[i]);
    }

    ASSERT_EQ(ids, expected_ids);
    if (are_bytes) {
      ASSERT_EQ(bytes, expected_bytes);
    }
  }
}

TEST(ColumnCodec, SmallNumbersAreThoseOfDecodingWhole) {
  std::mt19937_64 random(7);
  for (uint64_t const different :
       {uint64_t{1}, uint64_t{2}, uint64_t{19}, uint64_t{200}, uint64_t{300}, UINT64_MAX}) {
    for (size_t const rows : {size_t{0}, size_t{1}, size_t{7}, size_t{500}}) {
      std::vector<uint64_t> values(rows);
      std::vector<uint32_t> names(rows);
      for (size_t i = 0; i < rows; ++i) {
        values[i] = random() % different;
        names[i] = static_cast<uint32_t>(values[i] % 100'000);
      }

      ColumnEncoder encoder;
      encoder.put(kScope, 0, values);
      encoder.put_dictionary(kScope, 1, names);
      base::ByteWriter const payload = payload_of(encoder);
      expect_small_alike(payload.span(), rows);

      std::vector<std::byte> damaged(payload.span().begin(), payload.span().end());
      for (size_t at = 0; at < damaged.size(); at += 1 + damaged.size() / 50) {
        damaged[at] ^= std::byte{0x15};
        expect_small_alike(damaged, rows);
        damaged[at] ^= std::byte{0x15};
      }
    }
  }
}

TEST(ColumnCodec, AHeadThatSaysTheImpossibleIsRefused) {
  auto const parses = [](std::vector<uint8_t> const& bytes) {
    return ColumnTable().parse(std::as_bytes(std::span(bytes)));
  };
  EXPECT_TRUE(parses({1, 0, 0, 0, 0, 5, 1}));      // one constant column
  EXPECT_FALSE(parses({1, 0, 0, 7, 0, 5, 1}));     // a coding that does not exist
  EXPECT_FALSE(parses({1, 0, 0, 1, 9, 5, 1}));     // nine-byte integers
  EXPECT_FALSE(parses({1, 0, 0, 1, 1, 0, 1, 3}));  // a plane coding that does not exist
  EXPECT_FALSE(parses({200, 1}));                  // more columns than bytes
  EXPECT_FALSE(parses({1, 0, 0, 0, 0, 5, 1, 0}));  // bytes that belong to no column
}

}  // namespace
}  // namespace stepscope::file
