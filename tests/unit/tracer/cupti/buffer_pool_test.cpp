#include "tracer/cupti/buffer_pool.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <span>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepscope::tracer {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr size_t kBytes = 64 << 10;

bool is_zero(std::span<uint8_t const> buffer) {
  return std::all_of(buffer.begin(), buffer.end(), [](uint8_t byte) { return byte == 0; });
}

/// CUPTI gives the buffer back; it must not be an overflow buffer.
void complete(BufferPool& pool, std::span<uint8_t> buffer, size_t valid_bytes) {
  EXPECT_THAT(pool.complete(buffer.data(), valid_bytes), IsEmpty());
}

TEST(BufferPool, gives_no_more_memory_than_it_was_granted) {
  BufferPool pool(3 * kBytes, kBytes);
  std::vector<std::span<uint8_t>> buffers;
  for (int i = 0; i < 3; ++i) {
    buffers.push_back(pool.request());
    ASSERT_THAT(buffers.back(), SizeIs(kBytes));
  }
  EXPECT_THAT(pool.request(), IsEmpty());
  EXPECT_EQ(pool.mapped_bytes(), 3 * kBytes);

  complete(pool, buffers[0], 10);
  EXPECT_THAT(pool.request(), IsEmpty());  // until the writer has read it
  auto const taken = pool.take_completed();
  EXPECT_THAT(pool.request(), IsEmpty());

  for (auto const records : taken) pool.give_back(records);
  EXPECT_EQ(pool.request().data(), buffers[0].data());
  EXPECT_EQ(pool.refused(), 3U);
}

TEST(BufferPool, hands_over_what_was_completed_in_its_order_and_no_more_than_a_buffer_holds) {
  BufferPool pool(4 * kBytes, kBytes);
  std::span<uint8_t> const a = pool.request();
  std::span<uint8_t> const b = pool.request();

  complete(pool, b, 8);
  complete(pool, a, kBytes + 100);

  auto const completed = pool.take_completed();
  ASSERT_THAT(completed, SizeIs(2));
  EXPECT_EQ(completed[0].data(), b.data());
  EXPECT_EQ(completed[0].size(), 8U);
  EXPECT_EQ(completed[1].data(), a.data());
  EXPECT_EQ(completed[1].size(), kBytes);
  EXPECT_THAT(pool.take_completed(), IsEmpty());
}

TEST(BufferPool, gives_only_zeroed_buffers) {
  BufferPool pool(2 * kBytes, kBytes);
  std::span<uint8_t> const buffer = pool.request();
  EXPECT_TRUE(is_zero(buffer));
  std::memset(buffer.data(), 0xAB, kBytes);
  complete(pool, buffer, 16);
  for (auto const records : pool.take_completed()) pool.give_back(records);
  ASSERT_EQ(pool.request().data(), buffer.data());
  EXPECT_TRUE(is_zero(buffer));
}

TEST(BufferPool, leaves_memory_that_is_not_its_own_alone) {
  BufferPool pool(2 * kBytes, kBytes);
  std::vector<uint8_t> other(kBytes, 0xAB);
  complete(pool, other, 8);
  EXPECT_THAT(pool.take_completed(), IsEmpty());
  pool.give_back(other);
  EXPECT_EQ(other[0], 0xAB);
  EXPECT_EQ(pool.mapped_bytes(), 0U);
}

TEST(BufferPool, gives_a_small_buffer_instead_of_none_to_who_cannot_do_without) {
  BufferPool pool(2 * kBytes, kBytes);
  pool.never_refuse();
  EXPECT_THAT(pool.request(), SizeIs(kBytes));
  EXPECT_THAT(pool.request(), SizeIs(kBytes));

  std::span<uint8_t> const overflow = pool.request();
  ASSERT_FALSE(overflow.empty());
  EXPECT_LT(overflow.size(), kBytes);
  EXPECT_TRUE(is_zero(overflow));

  std::memset(overflow.data(), 0xAB, 150);  // part of a record that did not fit
  std::span<uint8_t> const records = pool.complete(overflow.data(), 100);
  EXPECT_EQ(records.data(), overflow.data());
  EXPECT_THAT(records, SizeIs(100));
  EXPECT_THAT(pool.take_completed(), IsEmpty());  // the writer does not read it

  pool.reuse(records);
  EXPECT_EQ(pool.request().data(), overflow.data());
  EXPECT_TRUE(is_zero(overflow));
}

TEST(BufferPool, that_the_writer_left_keeps_only_what_cupti_still_holds_and_then_nothing) {
  BufferPool pool(8 * kBytes, kBytes);
  std::span<uint8_t> const held = pool.request();
  complete(pool, pool.request(), 8);
  pool.prepare();
  EXPECT_GT(pool.mapped_bytes(), 2 * kBytes);

  pool.writer_leaves();
  EXPECT_EQ(pool.mapped_bytes(), kBytes);
  EXPECT_THAT(pool.request(), IsEmpty());

  held[0] = 1;  // CUPTI writes into it
  complete(pool, held, 8);
  EXPECT_EQ(pool.mapped_bytes(), 0U);
  EXPECT_THAT(pool.take_completed(), IsEmpty());
}

TEST(BufferPool, that_cupti_left_keeps_what_the_writer_reads) {
  BufferPool pool(8 * kBytes, kBytes);
  complete(pool, pool.request(), 8);
  complete(pool, pool.request(), 8);
  auto const taken = pool.take_completed();
  std::span<uint8_t> const last = pool.request();
  complete(pool, last, 8);

  pool.cupti_leaves();
  for (auto const records : taken) {
    records[0] = 1;  // decoded meanwhile
    pool.give_back(records);
  }

  auto const rest = pool.take_completed();
  ASSERT_THAT(rest, SizeIs(1));
  EXPECT_EQ(rest[0].data(), last.data());
  pool.give_back(rest[0]);
  pool.writer_leaves();
  EXPECT_EQ(pool.mapped_bytes(), 0U);
}

TEST(BufferPool, never_unmaps_twice_what_the_writer_gives_back_late) {
  BufferPool pool(4 * kBytes, kBytes);
  complete(pool, pool.request(), 8);
  auto const taken = pool.take_completed();
  pool.cupti_leaves();
  pool.writer_leaves();
  EXPECT_EQ(pool.mapped_bytes(), 0U);
  // The program may own that memory by now: the pool neither writes nor unmaps it.
  pool.give_back(taken[0]);
}

TEST(BufferPool, lets_go_of_overflow_buffers_too) {
  BufferPool pool(2 * kBytes, kBytes);
  pool.never_refuse();
  std::vector<std::span<uint8_t>> buffers;
  for (int i = 0; i < 5; ++i) buffers.push_back(pool.request());

  pool.reuse(pool.complete(buffers[4].data(), 8));
  std::span<uint8_t> const counted = pool.complete(buffers[3].data(), 8);

  pool.writer_leaves();
  EXPECT_FALSE(pool.request().empty());  // still
  pool.cupti_leaves();
  counted[0] = 1;  // the thread that counts its records still has it
  pool.reuse(counted);
  EXPECT_EQ(pool.mapped_bytes(), 0U);
}

TEST(BufferPool, serves_many_threads_while_the_writer_empties_it) {
  constexpr int kThreads = 4, kRequests = 2'000;
  BufferPool pool(8 * kBytes, kBytes);
  std::atomic<int> running{kThreads};
  std::atomic<uint64_t> completed{0}, refused{0};

  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < kRequests; ++i) {
        std::span<uint8_t> const buffer = pool.request();
        if (buffer.empty()) {
          ++refused;
          continue;
        }
        buffer[0] = 1;
        complete(pool, buffer, 1);
        ++completed;
      }
      --running;
    });
  }

  uint64_t seen = 0;
  for (bool last = false; !last;) {
    last = running == 0;
    pool.prepare();
    for (auto const records : pool.take_completed()) {
      seen += records[0];
      pool.give_back(records);
    }
  }

  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(seen, completed);
  EXPECT_EQ(completed + refused, uint64_t{kThreads} * kRequests);
  EXPECT_EQ(pool.refused(), refused);
  EXPECT_LE(pool.mapped_bytes(), 8 * kBytes);
}

}  // namespace
}  // namespace stepscope::tracer
