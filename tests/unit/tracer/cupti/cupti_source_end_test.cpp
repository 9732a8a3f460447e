// How a capture of CUDA ends: what it waits for, and which thread takes CUPTI down and when. It
// never delays the exit of a program.
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tracer/cupti/cupti_source_fixture.h"

namespace stepscope::tracer {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

TEST_F(CuptiSourceTest, takes_cupti_down_when_the_next_cuda_call_returns_and_not_before) {
  ask_to_finalize();
  source->driver_starts();
  ASSERT_TRUE(fake.play(launches(1, 1)));
  finish();

  EXPECT_EQ(fake.count("Finalize"), 0U);
  fake.program_calls(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
  EXPECT_EQ(fake.count("Finalize"), 1U);
  fake.program_calls(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
  EXPECT_EQ(fake.count("Finalize"), 1U);
  EXPECT_FALSE(fake.request());  // no memory of ours is given any more
}

TEST_F(CuptiSourceTest, is_not_taken_down_before_the_last_buffer_was_read) {
  ask_to_finalize();
  source->driver_starts();
  ASSERT_TRUE(fake.request());
  ASSERT_TRUE(fake.request());

  size_t tracks_then = 0;
  // The program goes on: it calls CUDA whenever CUPTI is called, within the last flush, too.
  fake.inside = [&](std::string const& call) {
    if (call == "ActivityFlushAll forced") fake.complete(launches(1, 2));
    if (call == "EnableDomain") tracks_then = store.tracks().size();
    if (call != "Finalize") fake.program_calls(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
  };

  finish();
  EXPECT_EQ(tracks_then, 2U);
  EXPECT_EQ(names().size(), 4U);

  fake.inside = {};
  fake.program_calls(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
  EXPECT_EQ(fake.count("Finalize"), 1U);
}

TEST_F(CuptiSourceTest, is_not_taken_down_while_the_writer_still_asks_for_calls) {
  ask_to_finalize();
  source->driver_starts();
  // A thread in a loop of calls: it returns from one whenever CUPTI reports one.
  fake.inside = [&](std::string const& call) {
    if (call == "EnableDomain") fake.program_calls(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
  };
  finish();

  EXPECT_EQ(fake.count("EnableDomain"), 2U);
  EXPECT_EQ(fake.count("Finalize"), 0U);
  fake.program_calls(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
  EXPECT_LT(fake.position("Unsubscribe"), fake.position("Finalize"));
}

TEST_F(CuptiSourceTest, is_not_taken_down_in_the_middle_of_a_call_of_the_runtime) {
  ask_to_finalize();
  source->driver_starts();
  int64_t const before = monotonic_ns();
  finish();

  fake.program_enters(CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020);
  while (monotonic_ns() - before < 2 * CuptiSource::kDriverOnlyNs)
    fake.program_calls(CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent);
  EXPECT_EQ(fake.count("Finalize"), 0U);
  fake.program_leaves(CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020);
  EXPECT_EQ(fake.count("Finalize"), 1U);
}

TEST_F(CuptiSourceTest, is_taken_down_by_a_call_of_the_driver_where_the_runtime_is_not_used) {
  ask_to_finalize();
  source->driver_starts();
  int64_t const before = monotonic_ns();
  finish();
  while (fake.count("Finalize") == 0) fake.program_calls(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
  EXPECT_GT(monotonic_ns() - before, CuptiSource::kDriverOnlyNs);
}

/// It entered before callbacks were there, and its own calls of the driver go on.
TEST_F(CuptiSourceTest, is_not_taken_down_in_a_call_of_the_runtime_that_it_knows_by_a_record) {
  ask_to_finalize();
  source->driver_starts();
  drain();
  ASSERT_TRUE(fake.play(launches(1, 1)));
  int64_t const before = monotonic_ns();
  finish();

  while (monotonic_ns() - before < 2 * CuptiSource::kDriverOnlyNs)
    fake.program_calls(CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent);
  EXPECT_EQ(fake.count("Finalize"), 0U);
}

TEST_F(CuptiSourceTest, leaves_an_old_cupti_in_the_process_but_at_rest) {
  version = cupti::k12v5;
  fake.crashes_without_buffer = true;
  ask_to_finalize();
  source->driver_starts();
  ASSERT_TRUE(fake.play(launches(1, 1)));
  finish();

  EXPECT_THAT(fake.enabled(), IsEmpty());
  EXPECT_EQ(fake.count("Unsubscribe"), 1U);

  fake.program_calls(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
  EXPECT_EQ(fake.count("Finalize"), 0U);
  EXPECT_THAT(store.info.facts, Contains(Pair("cuda end", HasSubstr("stays in the process"))));
  EXPECT_TRUE(fake.request());  // it may still ask
}

TEST_F(CuptiSourceTest, leaves_cupti_in_the_process_unless_asked_to_take_it_down) {
  source->driver_starts();
  EXPECT_TRUE(fake.wants_zeroed_buffers());
  EXPECT_EQ(fake.thread_id_type(), CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  ASSERT_TRUE(fake.play(launches(1, 1)));
  finish();
  fake.program_calls(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);

  EXPECT_EQ(fake.count("Finalize"), 0U);
  EXPECT_FALSE(fake.has_subscriber());
  EXPECT_THAT(fake.enabled(), IsEmpty());
  EXPECT_EQ(fake.enabled_functions(), 0U);
  EXPECT_THAT(store.info.facts, Contains(Pair("cuda end", HasSubstr("stays in the process"))));
}

TEST_F(CuptiSourceTest, leaves_cupti_as_a_later_tool_expects_it) {
  source->driver_starts();
  finish();
  EXPECT_FALSE(fake.wants_zeroed_buffers());
  EXPECT_EQ(fake.thread_id_type(), CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT);

  // CUPTI's clock without a callback: years ahead of that since the system's start.
  constexpr uint64_t kSome2020 = 1'577'836'800'000'000'000;
  EXPECT_GT(fake.timestamp(), kSome2020);
}

/// Does what a session's writer thread does, on a thread of its own.
class RoundWriter {
 public:
  explicit RoundWriter(std::function<void()> round)
      : thread_([this, round = std::move(round)] {
          while (!done_) round();
        }) {}
  ~RoundWriter() {
    done_ = true;
    thread_.join();
  }
  RoundWriter(RoundWriter const&) = delete;
  RoundWriter& operator=(RoundWriter const&) = delete;

 private:
  std::atomic<bool> done_{false};
  std::thread thread_;
};

TEST_F(CuptiSourceTest, is_emptied_by_the_writer_when_the_program_exits_and_then_left_alone) {
  source->driver_starts();
  ASSERT_TRUE(fake.request());

  {
    RoundWriter const writer([this] { drain(); });
    source->program_exits();
  }
  EXPECT_EQ(fake.count("ActivityFlushAll forced"), 1U);

  size_t const calls = fake.calls().size();
  finish();
  fake.program_calls(CUPTI_RUNTIME_TRACE_CBID_cudaDeviceReset_v3020);
  EXPECT_EQ(fake.calls().size(), calls);
  EXPECT_THAT(fake.enabled(),
              testing::Not(IsEmpty()));  // disabling may deadlock, and the process ends anyway
}

TEST_F(CuptiSourceTest, counts_what_it_had_no_room_for_when_the_exit_handler_empties_cupti) {
  version = cupti::k12v4;
  source->driver_starts();
  drain();
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(fake.request());
  ASSERT_TRUE(fake.request());  // an overflow buffer
  fake.inside = [this](std::string const& call) {
    if (call == "ActivityFlushAll forced") fake.complete_last(launches(1, 3));
  };

  {
    RoundWriter const writer([this] { drain(); });
    source->program_exits();
  }
  finish();
  EXPECT_EQ(source->dropped(), 6U);
}

TEST_F(CuptiSourceTest, counts_what_it_had_no_room_for_in_the_round_in_which_the_program_exits) {
  version = cupti::k12v4;
  source->driver_starts();
  drain();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(fake.request());  // the last is an overflow buffer
  std::thread exiting;
  fake.inside = [&](std::string const& call) {
    if (call != "ActivityFlushAll" || exiting.joinable()) return;
    exiting = std::thread([this] { source->program_exits(); });
    while (!source->is_exiting()) std::this_thread::yield();
    fake.complete_last(launches(1, 3));
  };

  {
    RoundWriter const writer([this] { drain(); });
    while (!source->is_exiting()) std::this_thread::yield();
    source->program_exits();  // returns when the other one may, too
  }
  exiting.join();
  finish();
  EXPECT_EQ(source->dropped(), 6U);
}

TEST_F(CuptiSourceTest, is_emptied_after_a_crash_but_only_when_the_rest_was_written) {
  source->driver_starts();
  ASSERT_TRUE(fake.request());
  ASSERT_TRUE(fake.complete_last(launches(1, 3)));
  drain();
  ASSERT_TRUE(fake.play(launches(10, 2)));

  source->program_crashes();
  drain();  // the driver may hang: what does not need it comes first
  EXPECT_EQ(fake.count("ActivityFlushAll forced"), 0U);

  source->finish(store, 1'000'000);
  source->release();
  EXPECT_EQ(fake.count("ActivityFlushAll forced"), 1U);
  EXPECT_THAT(fake.enabled(), testing::Not(IsEmpty()));  // disabling may deadlock
  EXPECT_EQ(names().size(), 10U);
}

TEST_F(CuptiSourceTest, that_was_not_recording_is_left_alone_after_a_crash) {
  source->program_crashes();
  finish();
  EXPECT_THAT(fake.calls(), IsEmpty());
}

/// Hangs in that call of CUPTI until the test ends.
class Hang {
 public:
  Hang(FakeCupti& fake, std::string const& call) : fake_(fake), call_(call) {
    fake.inside = [this](std::string const& made) {
      while (made == call_ && hangs_) std::this_thread::yield();
    };
  }
  void await() const {
    while (fake_.count(call_) == 0) std::this_thread::yield();
  }
  void end() { hangs_ = false; }

 private:
  FakeCupti& fake_;
  std::string const call_;
  std::atomic<bool> hangs_{true};
};

/// A limit that a busy machine keeps, and that a hang exceeds.
constexpr int64_t kSoonNs = 60'000'000'000;

TEST_F(CuptiSourceTest, does_not_keep_an_exiting_program_from_its_end_when_cupti_hangs) {
  source->driver_starts();
  Hang hang(fake, "ActivityFlushAll");
  RoundWriter const writer([this] { drain(); });
  hang.await();

  int64_t const before = monotonic_ns();
  source->lock_for_fork();  // a fork does not wait for CUPTI
  source->unlock_after_fork();
  source->program_exits();
  EXPECT_LT(monotonic_ns() - before, kSoonNs);
  hang.end();
}

TEST_F(CuptiSourceTest,
       does_not_keep_an_exiting_program_from_its_end_when_cupti_hangs_while_capture_ends) {
  source->driver_starts();
  Hang hang(fake, "ActivityDisable " + std::to_string(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
  std::thread writer([this] { finish(); });
  hang.await();

  int64_t const before = monotonic_ns();
  source->lock_for_fork();
  source->unlock_after_fork();
  EXPECT_FALSE(fake.enabled().contains(CUPTI_ACTIVITY_KIND_RUNTIME));  // kernels are disabled last
  source->program_exits();
  EXPECT_LT(monotonic_ns() - before, kSoonNs);

  hang.end();
  writer.join();
}

TEST_F(CuptiSourceTest, has_read_the_last_records_when_the_exit_handler_is_over) {
  source->driver_starts();
  drain();
  ASSERT_TRUE(fake.request());

  fake.inside = [this](std::string const& call) {
    if (call == "ActivityFlushAll forced") fake.complete(launches(1, 2));
  };

  {
    RoundWriter const writer([this] { drain(); });
    source->program_exits();
    EXPECT_EQ(fake.buffers_read(), 1U);
  }
  EXPECT_EQ(names().size(), 4U);

  ASSERT_TRUE(fake.play(
      launches(3, 1)));  // CUPTI's destructors deliver the rest: its memory is not to be trusted
  finish();
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(CuptiSourceTest, is_waited_for_by_the_exit_handler_when_it_is_just_ending) {
  ask_to_finalize();
  source->driver_starts();
  drain();
  std::atomic<bool> is_ending = false, may_go_on = false, has_gone_on = false;
  fake.inside = [&](std::string const& call) {
    if (call != "EnableDomain" || is_ending.exchange(true)) return;
    while (!may_go_on) std::this_thread::yield();
    has_gone_on = true;
  };

  std::thread writer([this] { finish(); });
  while (!is_ending) std::this_thread::yield();
  std::thread other([&] {  // not before the exit handler is under way
    while (!source->is_exiting()) std::this_thread::yield();
    may_go_on = true;
  });

  source->program_exits();
  EXPECT_TRUE(has_gone_on);
  EXPECT_EQ(fake.count("EnableDomain"), 2U);
  writer.join();
  other.join();
}

TEST_F(CuptiSourceTest, leaves_a_buffer_that_cupti_holds_where_it_is_while_the_program_exits) {
  source->driver_starts();
  {
    RoundWriter const writer([this] { drain(); });
    source->program_exits();
  }
  ASSERT_TRUE(fake.request());  // by a call that was under way
  finish();
  fake.complete(launches(1, 1));  // CUPTI writes into it
}

TEST_F(CuptiSourceOfSteps, waits_for_the_kernels_that_they_launched) {
  source->driver_starts();
  window.thread_begins_annotating();
  window.thread_enters_window();

  ASSERT_TRUE(fake.play(RecordBuffer().add(
      runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, {0, 5}, 1))));
  next_round();

  window.thread_leaves_window();
  for (int round = 0; round < 5; ++round) {
    next_round();
    EXPECT_FALSE(source->idle());
  }

  ASSERT_TRUE(fake.play(RecordBuffer().add(kernel("k", {10, 20}, 1))));
  next_round();
  EXPECT_TRUE(source->idle());
}

TEST_F(CuptiSourceOfSteps,
       are_all_of_the_trace_though_the_program_goes_on_while_their_kernels_end) {
  source->driver_starts();
  window.thread_begins_annotating();
  window.thread_enters_window();
  constexpr auto kLaunch = CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000;
  auto const now = [] { return static_cast<uint64_t>(monotonic_ns()) - kOrigin; };

  uint64_t const inside = now();
  window.thread_leaves_window();
  uint64_t const behind = now() + 1;

  ASSERT_TRUE(fake.play(RecordBuffer()
                            .add(runtime_call(kLaunch, {inside, inside}, 1))
                            .add(runtime_call(kLaunch, {behind, behind}, 2))
                            .add(kernel("behind", {behind, behind}, 2))));
  next_round();
  EXPECT_FALSE(source->idle());

  ASSERT_TRUE(fake.play(RecordBuffer()
                            .add(kernel("inside", {behind, behind}, 1))
                            .add(kernel("behind", {behind, behind}, 3))));

  finish();
  EXPECT_THAT(names(), testing::UnorderedElementsAre("cudaLaunchKernel", "inside"));
}

TEST_F(CuptiSourceOfSteps, waits_for_buffers_that_have_not_come_yet) {
  source->driver_starts();
  window.thread_begins_annotating();
  window.thread_enters_window();
  window.thread_leaves_window();
  drain();
  EXPECT_FALSE(source->idle());
  next_round();
  next_round();
  EXPECT_TRUE(source->idle());
}

TEST_F(CuptiSourceOfSteps, waits_for_all_nodes_of_a_graph) {
  source->driver_starts();
  window.thread_begins_annotating();
  window.thread_enters_window();

  ASSERT_TRUE(fake.play(RecordBuffer().add(
      runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000, {0, 5}, 1))));
  next_round();

  window.thread_leaves_window();
  for (uint64_t node = 1; node < 6; ++node) {
    auto record = kernel("node", {node * 10, node * 10 + 5}, 1);
    record.graphId = 2;
    record.graphNodeId = node;
    ASSERT_TRUE(fake.play(RecordBuffer().add(record)));
    next_round();
    EXPECT_FALSE(source->idle());
  }

  next_round();
  next_round();
  EXPECT_TRUE(source->idle());
}

}  // namespace
}  // namespace stepscope::tracer
