#include "tracer/core/ring.h"

#include <cstring>
#include <deque>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/sanitized.h"

namespace stepscope::tracer {
namespace {

/// A record of `words` words whose rest counts up from `first`.
bool write_record(Ring& ring, uint16_t words, uint64_t first, uint64_t keep_free = 0) {
  uint64_t* const out = ring.try_reserve(words, keep_free);
  if (out == nullptr) return false;
  RecordHeader const header = {1, 0, words, 0, 0};
  std::memcpy(out, &header, sizeof header);
  for (uint16_t i = 1; i < words; ++i) out[i] = first + i;
  ring.commit(words);
  return true;
}

/// Reads everything up to head(); padding is passed over.
std::vector<std::vector<uint64_t>> read_all(Ring& ring) {
  std::vector<std::vector<uint64_t>> records;
  uint64_t const head = ring.head();
  uint64_t position = ring.tail();

  while (position < head) {
    RecordHeader header{};
    std::memcpy(&header, ring.at(position), sizeof header);
    if (header.words == 0) {
      ADD_FAILURE() << "a record of no words";
      break;
    }
    if (header.type != kPaddingRecord)
      records.emplace_back(ring.at(position) + 1, ring.at(position) + header.words);
    position += header.words;
  }

  ring.release(position);
  return records;
}

TEST(Ring, gives_back_records_in_order_across_many_wrap_arounds) {
  Ring ring(Ring::kMinBytes);
  ASSERT_TRUE(ring.valid());
  std::mt19937 random(7);
  std::deque<std::vector<uint64_t>> twin;
  uint64_t next = 0;

  for (int round = 0; round < 2000; ++round) {
    int const count = static_cast<int>(random() % 40);
    for (int i = 0; i < count; ++i) {
      auto const words = static_cast<uint16_t>(1 + random() % 300);
      if (!write_record(ring, words, next)) continue;
      std::vector<uint64_t> expected;
      for (uint16_t w = 1; w < words; ++w) expected.push_back(next + w);
      twin.push_back(expected);
      next += words;
    }

    for (auto const& record : read_all(ring)) {
      ASSERT_FALSE(twin.empty());
      ASSERT_EQ(record, twin.front());
      twin.pop_front();
    }
    ASSERT_TRUE(twin.empty());
  }

  EXPECT_GT(ring.head(), 100 * ring.capacity_words());
}

TEST(Ring, gives_back_records_in_order_while_it_grows) {
  std::mt19937 random(8);
  for (int trial = 0; trial < (support::kSanitized ? 2 : 15); ++trial) {
    RingBudget budget(Ring::kMinBytes * 256);
    Ring ring(Ring::kMinBytes, Ring::kMinBytes * 64, &budget);
    std::deque<std::vector<uint64_t>> twin;
    uint64_t next = 0;

    for (int round = 0; round < 500; ++round) {
      for (auto count = random() % 100; count > 0; --count) {
        auto const words = static_cast<uint16_t>(1 + random() % 300);
        if (!write_record(ring, words, next)) continue;
        std::vector<uint64_t> expected;
        for (uint16_t w = 1; w < words; ++w) expected.push_back(next + w);
        twin.push_back(expected);
        next += words;
      }

      if (random() % 3 == 0) continue;  // let it fill
      for (auto const& record : read_all(ring)) {
        ASSERT_FALSE(twin.empty());
        ASSERT_EQ(record, twin.front());
        twin.pop_front();
      }
      ASSERT_TRUE(twin.empty());
    }

    EXPECT_GT(ring.capacity_bytes(), Ring::kMinBytes);
    EXPECT_EQ(budget.left() + ring.capacity_bytes(), Ring::kMinBytes * 257);
  }
}

TEST(Ring, takes_memory_where_it_would_be_full_until_it_has_the_most_that_it_may_have) {
  RingBudget budget(Ring::kMinBytes * 100);
  Ring ring(Ring::kMinBytes, Ring::kMinBytes * 4, &budget);
  uint64_t written = 0;
  while (write_record(ring, 7, written)) ++written;
  EXPECT_EQ(written, ring.max_bytes() / sizeof(uint64_t) / 7);
  EXPECT_EQ(read_all(ring).size(), written);
}

TEST(Ring, leaves_half_of_the_budget_to_others) {
  RingBudget budget(Ring::kMinBytes * 3);
  Ring ring(Ring::kMinBytes, Ring::kMinBytes * 64, &budget);
  uint64_t written = 0;
  while (write_record(ring, 7, written)) ++written;
  EXPECT_EQ(ring.capacity_bytes(), 2 * Ring::kMinBytes);
  EXPECT_EQ(budget.left(), 2 * Ring::kMinBytes);
}

/// Size of a ring after many laps behind a consumer that keeps up.
size_t bytes_when_kept_empty(RingBudget& budget) {
  Ring ring(Ring::kMinBytes, size_t{64} << 20, &budget);
  for (uint64_t i = 0; i < (support::kSanitized ? 300'000U : 2'000'000U); ++i) {
    EXPECT_TRUE(write_record(ring, 7, i));
    if (i % 20 == 0) read_all(ring);
  }
  return ring.capacity_bytes();
}

TEST(Ring, is_never_small_when_there_is_plenty_of_memory) {
  RingBudget plenty(size_t{1} << 30);
  EXPECT_EQ(bytes_when_kept_empty(plenty), size_t{4} << 20);
}

TEST(Ring, takes_nothing_when_memory_is_short_and_its_consumer_keeps_up) {
  RingBudget little(Ring::kMinBytes * 63);
  EXPECT_EQ(bytes_when_kept_empty(little), Ring::kMinBytes);
  EXPECT_EQ(little.left(), Ring::kMinBytes * 63);
}

TEST(Ring, refuses_what_does_not_fit_and_goes_on_after_the_consumer) {
  Ring ring(Ring::kMinBytes);
  uint64_t written = 0;
  while (write_record(ring, 8, written)) ++written;
  EXPECT_EQ(written, ring.capacity_words() / 8);
  EXPECT_FALSE(write_record(ring, 1, 0));
  EXPECT_EQ(read_all(ring).size(), written);
  EXPECT_TRUE(write_record(ring, 8, 0));
}

TEST(Ring, keeps_the_room_free_that_was_asked_for) {
  Ring ring(Ring::kMinBytes);
  uint64_t const keep = 100;
  while (write_record(ring, 8, 0, keep)) {
  }
  uint64_t left = 0;
  while (write_record(ring, 1, 0)) ++left;
  EXPECT_GE(left, keep);
  EXPECT_LT(left, keep + 8);
}

TEST(Ring, without_memory_refuses_everything) {
  Ring ring(0);
  EXPECT_FALSE(ring.valid());
  EXPECT_EQ(ring.try_reserve(1, 0), nullptr);
}

TEST(Ring, carries_every_word_from_one_thread_to_another_while_it_grows) {
  RingBudget budget(Ring::kMinBytes * 100);
  Ring ring(Ring::kMinBytes, Ring::kMinBytes * 8, &budget);
  constexpr uint64_t kRecords = 400'000;

  std::thread producer([&] {
    for (uint64_t i = 0; i < kRecords;) {
      if (write_record(ring, static_cast<uint16_t>(2 + i % 5), i * 10))
        ++i;
      else
        std::this_thread::yield();
    }
  });

  uint64_t seen = 0;
  while (seen < kRecords) {
    for (auto const& record : read_all(ring)) {
      ASSERT_EQ(record.size(), 1 + seen % 5);
      ASSERT_EQ(record[0], seen * 10 + 1);
      ++seen;
    }
    std::this_thread::yield();
  }

  producer.join();
  EXPECT_EQ(ring.tail(), ring.head());
}

}  // namespace
}  // namespace stepscope::tracer
