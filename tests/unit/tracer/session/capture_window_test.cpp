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

/// As its writer thread does once the file is complete.
void write_window(CaptureWindow& window) {
  ASSERT_TRUE(window.is_over());
  window.end();
  ASSERT_TRUE(window.has_next());
  ASSERT_TRUE(window.arm_again());
}

TEST(CaptureWindowTest, opens_as_often_as_the_program_asks) {
  CaptureWindow window{WindowOptions{.from_code = true, .code_repeats = true}};
  window.close_from_code();
  EXPECT_EQ(window.mode(), CaptureMode::kBaseline) << "it was not open";

  for (uint64_t i = 1; i <= 3; ++i) {
    EXPECT_TRUE(window.open_from_code());
    EXPECT_TRUE(window.open_from_code()) << "it is open already";
    EXPECT_EQ(window.openings(), i);
    window.close_from_code();
    EXPECT_EQ(window.mode(), CaptureMode::kEnding);
    write_window(window);
    EXPECT_EQ(window.mode(), CaptureMode::kBaseline);
  }
  EXPECT_EQ(window.take_passed(), 0U);
}

TEST(CaptureWindowTest, opens_once_the_one_before_is_written) {
  CaptureWindow window{WindowOptions{.from_code = true, .code_repeats = true}};
  window.open_from_code();
  window.close_from_code();

  EXPECT_TRUE(window.open_from_code());
  EXPECT_EQ(window.openings(), 1U);
  write_window(window);
  EXPECT_EQ(window.mode(), CaptureMode::kRecording);
  EXPECT_EQ(window.openings(), 2U);
  window.close_from_code();

  // Opened and closed again while the file of the one before is written.
  EXPECT_TRUE(window.open_from_code());
  window.close_from_code();
  write_window(window);
  EXPECT_EQ(window.mode(), CaptureMode::kBaseline);
  EXPECT_EQ(window.take_passed(), 1U);
  EXPECT_EQ(window.take_passed(), 0U);
}

/// Whichever of the two comes first, the window opens.
TEST(CaptureWindowTest, opens_for_a_program_that_asks_while_it_is_armed) {
  for (int round = 0; round < 2000; ++round) {
    CaptureWindow window{WindowOptions{.from_code = true, .code_repeats = true}};
    window.open_from_code();
    window.close_from_code();
    window.end();

    std::thread program([&] { EXPECT_TRUE(window.open_from_code()); });
    EXPECT_TRUE(window.arm_again());
    program.join();

    ASSERT_EQ(window.mode(), CaptureMode::kRecording) << round;
    ASSERT_EQ(window.openings(), 2U) << round;
  }
}

/// Calls that follow each other at once, while its writer thread arms it: the last one counts.
TEST(CaptureWindowTest, is_open_or_not_as_the_program_said_last) {
  for (int round = 0; round < 2000; ++round) {
    CaptureWindow window{WindowOptions{.from_code = true, .code_repeats = true}};
    window.open_from_code();
    window.close_from_code();
    window.end();
    std::thread program([&] {
      window.open_from_code();
      window.close_from_code();
      window.open_from_code();
      window.close_from_code();
    });
    EXPECT_TRUE(window.arm_again());
    program.join();

    if (window.mode() == CaptureMode::kEnding) write_window(window);
    ASSERT_EQ(window.mode(), CaptureMode::kBaseline) << round;
    ASSERT_EQ(window.openings() - 1 + window.take_passed(), 2U) << round;
  }
}

TEST(CaptureWindowTest, opens_and_closes_at_the_time_that_is_asked_for) {
  CaptureWindow window{WindowOptions{.steps = kNoSteps, .on_request = true}};
  EXPECT_FALSE(window.request_time(100, 0, 100)) << "it has begun";
  EXPECT_FALSE(window.request_time(100, 100, 0));
  EXPECT_FALSE(window.request_time(100, 100, INT64_MAX));
  ASSERT_TRUE(window.request_time(100, 100, 100));
  EXPECT_FALSE(window.waits_for_request());
  window.keep_time(199);
  EXPECT_EQ(window.mode(), CaptureMode::kBaseline);

  window.keep_time(200);
  EXPECT_EQ(window.mode(), CaptureMode::kRecording);
  EXPECT_EQ(window.steps(), StepRange()) << "threads with steps take part from their next one on";
  window.keep_time(299);
  EXPECT_FALSE(window.is_over());
  window.keep_time(300);
  write_window(window);
  EXPECT_TRUE(window.waits_for_request());

  ASSERT_TRUE(window.request_time(300, 10, 10));
  window.keep_time(1000);
  EXPECT_EQ(window.mode(), CaptureMode::kRecording) << "late, but there is a file";
  window.keep_time(1001);
  write_window(window);

  ASSERT_TRUE(window.request_time(400, 100, 100));
  window.withdraw_request();
  EXPECT_TRUE(window.waits_for_request());
  window.keep_time(550);
  EXPECT_EQ(window.mode(), CaptureMode::kBaseline);
}

CaptureWindow twice() {
  return CaptureWindow{WindowOptions{.steps = StepRange{1, 2}, .later_steps = {{5, 6}}}};
}

/// All of a window's steps, on one thread that is known already.
void pass(CaptureWindow& window) {
  uint16_t const number = window.number();
  window.thread_begins_step(window.steps().first);
  window.thread_enters_window(number);
  window.thread_begins_step(window.steps().last);
  window.thread_leaves_window(number);
}

TEST(CaptureWindowTest, is_armed_again_for_the_next_steps_until_there_are_none) {
  CaptureWindow window = twice();
  window.thread_begins_annotating();
  pass(window);
  ASSERT_TRUE(window.is_over());
  window.end();
  ASSERT_TRUE(window.arm_again());

  EXPECT_EQ(window.mode(), CaptureMode::kBaseline);
  EXPECT_FALSE(window.is_over());
  EXPECT_EQ(window.end_ns(), INT64_MAX);
  EXPECT_EQ(window.steps(), (StepRange{5, 6}));
  EXPECT_EQ(window.number(), 1);

  pass(window);
  EXPECT_TRUE(window.is_over());
  EXPECT_EQ(window.openings(), 2U);
  window.end();
  EXPECT_FALSE(window.arm_again());
}

TEST(CaptureWindowTest, passes_over_steps_that_have_gone_by) {
  CaptureWindow window{
      WindowOptions{.steps = StepRange{1, 2}, .later_steps = {{5, 6}, {9, 9}, {20, INT64_MAX}}}};
  window.thread_begins_annotating();
  pass(window);
  window.thread_begins_step(9);
  window.end();
  ASSERT_TRUE(window.arm_again());
  EXPECT_EQ(window.steps(), (StepRange{20, INT64_MAX}));

  CaptureWindow every{WindowOptions{.steps = StepRange{500, 504}, .every_steps = 500}};
  every.thread_begins_annotating();
  pass(every);
  every.thread_begins_step(12'345);
  every.end();
  ASSERT_TRUE(every.arm_again());
  EXPECT_EQ(every.steps(), (StepRange{12'500, 12'504}));

  // In the midst of a window that would have begun: what is left of it is recorded.
  pass(every);
  every.thread_begins_step(13'002);
  every.end();
  ASSERT_TRUE(every.arm_again());
  EXPECT_EQ(every.steps(), (StepRange{13'000, 13'004}));
}

TEST(CaptureWindowTest, has_no_next_steps_beyond_the_largest_number) {
  WindowOptions const every{.steps = StepRange{500, 504}, .every_steps = INT64_MAX - 4};
  EXPECT_FALSE(every.steps_behind({500, 504}, 0));
  EXPECT_FALSE(every.steps_behind({500, 504}, INT64_MAX));
}

TEST(CaptureWindowTest, is_asked_for_steps_again_and_again) {
  CaptureWindow window{WindowOptions{.steps = kNoSteps, .on_request = true}};
  window.thread_begins_annotating();
  EXPECT_FALSE(window.request({7, 9})) << "no step was marked yet";
  window.thread_begins_step(7);
  EXPECT_TRUE(window.waits_for_request());
  EXPECT_FALSE(window.request({7, 9})) << "it has begun";
  EXPECT_FALSE(window.request({8, 9})) << "it may have begun";
  EXPECT_TRUE(window.waits_for_request());

  EXPECT_TRUE(window.request({9, 10}));
  EXPECT_FALSE(window.waits_for_request());
  window.withdraw_request();
  EXPECT_TRUE(window.waits_for_request());
  EXPECT_TRUE(window.request({9, 10}));
  pass(window);
  EXPECT_EQ(window.openings(), 1U);
  window.end();
  ASSERT_TRUE(window.arm_again());

  EXPECT_TRUE(window.waits_for_request());
  EXPECT_EQ(window.number(), 1);
  EXPECT_TRUE(window.request({20, 20}));
  pass(window);
  EXPECT_EQ(window.openings(), 2U);
}

TEST(CaptureWindowTest, counts_threads_for_the_window_that_they_know_of) {
  CaptureWindow window = twice();
  window.thread_begins_annotating();
  window.thread_begins_annotating();
  window.thread_leaves_window(0);
  window.thread_leaves_window(0);
  window.thread_exits(0, true);  // it is past the window: this is over without it
  ASSERT_TRUE(window.is_over());
  window.end();
  ASSERT_TRUE(window.arm_again());

  window.thread_leaves_window(0);  // late news of the first window
  EXPECT_FALSE(window.is_over());
  EXPECT_EQ(window.end_ns(), INT64_MAX);
  window.thread_enters_window(0);
  EXPECT_EQ(window.mode(), CaptureMode::kBaseline);

  window.thread_leaves_window(1);
  EXPECT_TRUE(window.is_over()) << "one thread is left, and it is done";
}

TEST(CaptureWindowTest, a_thread_that_exits_later_is_no_part_of_the_next_window) {
  CaptureWindow window = twice();
  window.thread_begins_annotating();
  window.thread_begins_annotating();
  window.thread_leaves_window(0);
  window.thread_leaves_window(0);
  window.end();
  ASSERT_TRUE(window.arm_again());

  window.thread_exits(0, true);  // as it knows the window that is over
  window.thread_leaves_window(1);
  EXPECT_TRUE(window.is_over());
}

TEST(CaptureWindowTest, that_was_stopped_is_not_armed_again) {
  CaptureWindow window = twice();
  window.thread_begins_annotating();
  pass(window);
  window.stop();
  EXPECT_FALSE(window.arm_again());
  EXPECT_EQ(window.mode(), CaptureMode::kStopped);
}

}  // namespace
}  // namespace stepscope::tracer
