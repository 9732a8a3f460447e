#include "tracer/nvtx/thread_recorder.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tracer/pipeline.h"
#include "tracer/nvtx/unmatched_range_ends.h"

namespace stepscope::tracer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Recorder, drops_whole_ranges_when_its_ring_is_full_and_counts_each_once) {
  Pipeline pipeline({}, Ring::kMinBytes);
  ThreadRecorder& thread = *pipeline.source.attach(1);
  std::mt19937 random(1);
  uint64_t pushed = 0;
  int depth = 0;

  for (int i = 0; i < 200'000; ++i) {  // no thread drains the ring
    if (depth == 0 || (random() % 2 == 0 && depth < 200)) {
      thread.push(named("range"));
      ++pushed;
      ++depth;
    } else {
      thread.pop(kDefaultDomain);
      --depth;
    }
  }
  while (depth-- > 0) thread.pop(kDefaultDomain);

  pipeline.finish();
  EXPECT_GT(thread.dropped(), 0U);
  EXPECT_EQ(pipeline.rows().size() + pipeline.source.dropped(), pushed);
  EXPECT_THAT(pipeline.store.log.notes, IsEmpty());
  EXPECT_EQ(pipeline.store.tracks().at(0).dropped, thread.dropped());
}

/// Pushes until the ring is full; the number of ranges that are open then.
int fill_with_pushes(ThreadRecorder& thread) {
  int pushed = 0;
  for (; thread.dropped() == 0; ++pushed) thread.push(named("open"));
  return pushed;
}

TEST(Recorder, goes_on_recording_inside_ranges_that_are_never_popped_once_its_ring_has_room_again) {
  Pipeline pipeline({}, Ring::kMinBytes);
  ThreadRecorder& thread = *pipeline.source.attach(1);
  auto const open = static_cast<size_t>(fill_with_pushes(thread));
  ASSERT_GT(open, size_t{kBitLevels});

  pipeline.drain();
  for (int i = 0; i < 1000; ++i) {
    thread.push(named("inside"));
    thread.pop(kDefaultDomain);
    if (i % 100 == 0) pipeline.drain();
  }

  pipeline.finish();
  EXPECT_EQ(thread.dropped(), 1U);
  EXPECT_EQ(pipeline.rows().size(), open - 1 + 1000);
}

TEST(Recorder, keeps_no_room_free_for_the_pops_of_a_program_that_forgets_them) {
  Pipeline pipeline({}, Ring::kMinBytes);
  ThreadRecorder& thread = *pipeline.source.attach(1);

  for (int i = 0; i < 100'000; ++i) {
    thread.push(named("never popped"));
    thread.push(named("popped"));
    thread.pop(kDefaultDomain);
    if (i % 100 == 0) pipeline.drain();
  }

  pipeline.finish();
  EXPECT_EQ(pipeline.source.dropped(), 0U);
  auto const names = pipeline.names();
  EXPECT_EQ(std::count(names.begin(), names.end(), "popped"), 100'000);
  // 64 outer levels and 65,536 deep ones are kept, one of them for "popped".
  EXPECT_THAT(pipeline.store.log.notes,
              ElementsAre(HasSubstr("65599 ranges were still open"),
                          HasSubstr("34401 ranges were pushed and not popped")));
}

TEST(Recorder, never_ends_a_deep_range_where_the_pop_of_another_was_lost) {
  Pipeline pipeline({}, Ring::kMinBytes);
  ThreadRecorder& thread = *pipeline.source.attach(1);

  for (int i = 0; i < kBitLevels; ++i) thread.push(named("outer"));
  thread.push(named("lost"));
  while (thread.dropped() == 0) thread.mark(named("filling"));
  thread.pop(kDefaultDomain);         // has no room
  thread.push(named("has no room"));  // on the same level

  pipeline.drain();
  thread.pop(kDefaultDomain);
  thread.push(named("whole"));
  thread.pop(kDefaultDomain);

  pipeline.finish();
  auto const names = pipeline.names();
  EXPECT_EQ(std::count(names.begin(), names.end(), "lost"), 0);
  EXPECT_EQ(std::count(names.begin(), names.end(), "whole"), 1);
  EXPECT_EQ(pipeline.source.dropped(), 3U)
      << "a mark, the range whose pop was lost, and the one whose push was";
}

TEST(Recorder, leaves_out_deep_ranges_whose_pops_were_the_last_that_was_lost) {
  Pipeline pipeline({}, Ring::kMinBytes);
  ThreadRecorder& thread = *pipeline.source.attach(1);

  for (int i = 0; i < kBitLevels; ++i) thread.push(named("outer"));
  thread.push(named("lost"));
  while (thread.dropped() == 0) thread.mark(named("filling"));
  thread.pop(kDefaultDomain);

  pipeline.finish();
  auto const names = pipeline.names();
  EXPECT_EQ(std::count(names.begin(), names.end(), "lost"), 0);
  EXPECT_THAT(pipeline.store.log.notes, ElementsAre(HasSubstr("64 ranges were still open")));
}

TEST(Recorder, keeps_room_for_the_ends_of_the_ranges_that_its_thread_started) {
  Pipeline pipeline({}, Ring::kMinBytes);
  ThreadRecorder& thread = *pipeline.source.attach(1);

  constexpr size_t kRanges = 60'000;
  std::vector<uint64_t> ranges;
  for (size_t i = 0; i < kRanges; ++i) ranges.push_back(thread.start(named("range")));
  for (uint64_t const range : ranges) thread.end(kDefaultDomain, range);

  pipeline.finish();
  EXPECT_GT(pipeline.rows().size(), 300U);
  EXPECT_EQ(pipeline.rows().size() + pipeline.source.dropped(), kRanges);
  EXPECT_THAT(pipeline.store.log.notes, IsEmpty());
}

/// Ranges started on one thread whose ends find no room on another.
class LostEndsTest : public ::testing::TestWithParam<size_t> {};

TEST_P(LostEndsTest, leave_no_range_that_seems_to_go_on) {
  Pipeline pipeline({}, 4 * Ring::kMinBytes);
  ThreadRecorder& starter = *pipeline.source.attach(1);
  ThreadRecorder& ender = *pipeline.source.attach(2);

  std::vector<uint64_t> ranges;
  for (size_t i = 0; i < GetParam(); ++i) {
    ranges.push_back(starter.start(named("lost")));
    if (i % 100 == 0) pipeline.drain();
  }

  while (ender.dropped() == 0) ender.mark(named("filling"));
  for (uint64_t const range : ranges) ender.end(kDefaultDomain, range);
  uint64_t const later = starter.start(named("later"));
  pipeline.drain();
  ender.end(kDefaultDomain, later);

  pipeline.finish();
  auto const names = pipeline.names();
  EXPECT_EQ(std::count(names.begin(), names.end(), "lost"), 0);
  EXPECT_EQ(std::count(names.begin(), names.end(), "later"), 1);
  EXPECT_EQ(pipeline.source.dropped(), 1 + ranges.size());
  EXPECT_THAT(pipeline.store.log.notes, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(FewAndMany, LostEndsTest,
                         ::testing::Values(1, UnmatchedRangeEnds::kRemembered,
                                           5 * UnmatchedRangeEnds::kRemembered));

TEST(Recorder, takes_a_burst_of_half_the_buffer_whatever_its_size_while_no_thread_drains) {
  if (!Ring::addresses_cost_nothing())
    GTEST_SKIP() << "addresses are limited here, so that rings stay small";

  for (size_t const megabytes : {8, 32}) {
    Pipeline pipeline({}, megabytes << 20);
    ThreadRecorder& thread = *pipeline.source.attach(1);
    constexpr size_t kRangeBytes = 24;
    for (size_t i = 0; i < (megabytes << 20) / 2 / kRangeBytes - 100; ++i) {
      thread.push_text(kDefaultDomain, "range");
      thread.pop(kDefaultDomain);
    }

    EXPECT_EQ(thread.dropped(), 0U) << megabytes << " MB";
    pipeline.finish();
  }
}

TEST(Recorder, without_memory_for_a_ring_counts_every_event) {
  Pipeline pipeline({}, 1000);
  ThreadRecorder& thread = *pipeline.source.attach(1);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(thread.push(named("range")), 0);
    EXPECT_EQ(thread.pop(kDefaultDomain), 0);
  }
  pipeline.finish();
  EXPECT_EQ(pipeline.source.dropped(), 10U);
  EXPECT_THAT(pipeline.rows(), IsEmpty());
}

}  // namespace
}  // namespace stepscope::tracer
