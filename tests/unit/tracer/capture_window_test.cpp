#include "tracer/core/capture_window.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace stepscope::tracer {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

TEST(CaptureWindowTest, is_open_from_the_beginning_when_nothing_else_is_asked_for) {
  CaptureWindow const window{WindowOptions{}};
  EXPECT_FALSE(window.filtered());
  EXPECT_EQ(window.mode(), CaptureMode::kRecording);
  EXPECT_FALSE(window.is_over());
}

TEST(CaptureWindowTest, opens_after_the_delay_counted_from_the_first_round) {
  CaptureWindow window{WindowOptions{.delay_ns = 5 * kSecond}};
  window.keep_time(100 * kSecond);
  window.keep_time(105 * kSecond - 1);
  EXPECT_EQ(window.mode(), CaptureMode::kBaseline);
  window.keep_time(105 * kSecond);
  EXPECT_EQ(window.mode(), CaptureMode::kRecording);
}

TEST(CaptureWindowTest, closes_after_the_duration_counted_from_where_it_opened) {
  CaptureWindow window{WindowOptions{.delay_ns = 5 * kSecond, .duration_ns = 2 * kSecond}};
  for (int64_t now : {0, 5, 6}) window.keep_time(now * kSecond);
  EXPECT_FALSE(window.is_over());
  window.keep_time(7 * kSecond);
  EXPECT_TRUE(window.is_over());
  EXPECT_EQ(window.mode(), CaptureMode::kEnding);
}

TEST(CaptureWindowTest, a_duration_alone_counts_from_the_first_round) {
  CaptureWindow window{WindowOptions{.duration_ns = 2 * kSecond}};
  EXPECT_FALSE(window.filtered());
  EXPECT_TRUE(window.ends_early());
  window.keep_time(50 * kSecond);
  window.keep_time(52 * kSecond - 1);
  EXPECT_FALSE(window.is_over());
  window.keep_time(52 * kSecond);
  EXPECT_TRUE(window.is_over());
}

TEST(CaptureWindowTest, a_duration_ends_steps_that_take_longer) {
  CaptureWindow window{WindowOptions{.steps = StepRange{3, 100}, .duration_ns = kSecond}};
  window.keep_time(0);
  window.keep_time(50 * kSecond);
  EXPECT_FALSE(window.is_over()) << "it has not opened";
  window.thread_begins_annotating();
  window.thread_enters_window();
  window.keep_time(51 * kSecond);
  window.keep_time(52 * kSecond);
  EXPECT_TRUE(window.is_over());
}

TEST(CaptureWindowTest, never_opens_again) {
  CaptureWindow window{WindowOptions{.from_code = true}};
  EXPECT_TRUE(window.open());
  EXPECT_FALSE(window.open());

  window.close();
  EXPECT_FALSE(window.open());
  EXPECT_EQ(window.mode(), CaptureMode::kEnding);

  window.stop();
  EXPECT_FALSE(window.open());
  window.close();
  EXPECT_EQ(window.mode(), CaptureMode::kStopped);
}

TEST(CaptureWindowTest, that_is_closed_before_it_opened_is_over) {
  CaptureWindow window{WindowOptions{.from_code = true}};
  window.close();
  EXPECT_TRUE(window.is_over());
  EXPECT_FALSE(window.open());
}

TEST(CaptureWindowTest, remembers_when_it_was_closed_first) {
  CaptureWindow window{WindowOptions{.from_code = true}};
  window.open();
  EXPECT_EQ(window.end_ns(), INT64_MAX);

  int64_t const before = monotonic_ns();
  window.close();
  int64_t const end = window.end_ns();
  EXPECT_GE(end, before);
  EXPECT_LE(end, monotonic_ns());

  window.close();
  EXPECT_EQ(window.end_ns(), end);
}

TEST(CaptureWindowTest, by_steps_ends_with_the_last_thread) {
  CaptureWindow window{StepRange{1, 2}};
  window.thread_begins_annotating();
  window.thread_begins_annotating();

  window.thread_enters_window();
  window.thread_leaves_window();
  int64_t const between = monotonic_ns();
  EXPECT_FALSE(window.is_over());

  window.thread_leaves_window();
  EXPECT_TRUE(window.is_over());
  EXPECT_GE(window.end_ns(), between);
}

TEST(CaptureWindowTest, tells_who_waits_for_it_once_however_many_threads_open_it) {
  CaptureWindow window{WindowOptions{.from_code = true}};
  std::atomic<int> calls = 0, opened = 0;
  window.when_entered([&] { ++calls; });
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] { opened += static_cast<int>(window.open()); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(opened, 1);
}

}  // namespace
}  // namespace stepscope::tracer
