#include "tracer/cupti/buffer_pool.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stepscope::tracer {
namespace {

using testing::IsEmpty;
using testing::NotNull;
using testing::SizeIs;

constexpr size_t kBytes = 64 << 10;

bool is_zero(uint8_t const* buffer) {
  return std::all_of(buffer, buffer + kBytes, [](uint8_t byte) { return byte == 0; });
}

TEST(BufferPool, gives_no_more_memory_than_it_was_granted) {
  BufferPool pool(3 * kBytes, kBytes);
  std::vector<uint8_t*> buffers;
  for (int i = 0; i < 3; ++i) {
    buffers.push_back(pool.request());
    ASSERT_THAT(buffers.back(), NotNull());
  }
  EXPECT_EQ(pool.request(), nullptr);
  EXPECT_EQ(pool.mapped_bytes(), 3 * kBytes);
  pool.complete(buffers[0], 10);
  EXPECT_EQ(pool.request(), nullptr);  // until the writer has read it
  for (auto const records : pool.take_completed()) pool.give_back(records);
  EXPECT_EQ(pool.request(), buffers[0]);
}

TEST(BufferPool, hands_over_what_was_completed_in_its_order_and_no_more_than_a_buffer_holds) {
  BufferPool pool(4 * kBytes, kBytes);
  uint8_t* const a = pool.request();
  uint8_t* const b = pool.request();
  pool.complete(b, 8);
  pool.complete(a, kBytes + 100);
  auto const completed = pool.take_completed();
  ASSERT_THAT(completed, SizeIs(2));
  EXPECT_EQ(completed[0].data(), b);
  EXPECT_EQ(completed[0].size(), 8U);
  EXPECT_EQ(completed[1].data(), a);
  EXPECT_EQ(completed[1].size(), kBytes);
  EXPECT_THAT(pool.take_completed(), IsEmpty());
}

TEST(BufferPool, gives_only_zeroed_buffers) {
  BufferPool pool(2 * kBytes, kBytes);
  uint8_t* const buffer = pool.request();
  EXPECT_TRUE(is_zero(buffer));
  std::memset(buffer, 0xAB, kBytes);
  pool.complete(buffer, 16);
  for (auto const records : pool.take_completed()) pool.give_back(records);
  ASSERT_EQ(pool.request(), buffer);
  EXPECT_TRUE(is_zero(buffer));
}

TEST(BufferPool, ignores_buffers_that_are_not_its_own) {
  BufferPool pool(2 * kBytes, kBytes);
  std::vector<uint8_t> other(kBytes);
  pool.complete(other.data(), 8);
  EXPECT_THAT(pool.take_completed(), IsEmpty());
}

TEST(BufferPool, that_is_closed_keeps_only_what_cupti_still_holds_and_then_nothing) {
  BufferPool pool(8 * kBytes, kBytes);
  uint8_t* const held = pool.request();
  pool.complete(pool.request(), 8);
  pool.prepare();
  EXPECT_GT(pool.mapped_bytes(), 2 * kBytes);
  pool.close(false);
  EXPECT_EQ(pool.mapped_bytes(), kBytes);
  EXPECT_EQ(pool.request(), nullptr);
  pool.complete(held, 8);
  EXPECT_EQ(pool.mapped_bytes(), 0U);
  EXPECT_THAT(pool.take_completed(), IsEmpty());
}

TEST(BufferPool, lets_go_of_everything_when_cupti_did) {
  BufferPool pool(8 * kBytes, kBytes);
  EXPECT_THAT(pool.request(), NotNull());
  pool.close(true);
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
        uint8_t* const buffer = pool.request();
        if (buffer == nullptr) {
          ++refused;
          continue;
        }
        buffer[0] = 1;
        pool.complete(buffer, 1);
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
  EXPECT_LE(pool.mapped_bytes(), 8 * kBytes);
}

}  // namespace
}  // namespace stepscope::tracer
