// From version 5 of NCCL's interface on: which launch runs a call, derived from NCCL's own order of
// events.
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tracer/nccl/nccl_fixture.h"

namespace stepscope::tracer::nccl {
namespace {

using model::CallLaunch;
using ::testing::SizeIs;

/// A program with a communicator and a thread that enqueues; events in the order in which NCCL
/// makes them.
class NcclLaunchLinks : public ::testing::Test {
 protected:
  using Event = EventV6;
  struct Span {
    int64_t begin = 0, end = 0;
  };

  static Event event_of(uint64_t type, void* parent) {
    Event event;
    std::memset(static_cast<void*>(&event), 0, sizeof event);
    event.type = type;
    event.parent = parent;
    return event;
  }
  void* begin_group() { return nccl.start(*thread, context, event_of(kGroupCall, nullptr)); }
  void* call_all_reduce(void* group, size_t count = 1'000, bool is_captured = false) {
    Event event = event_of(kCollectiveCall, group);
    event.collective_call.function = "AllReduce";
    event.collective_call.count = count;
    event.collective_call.data_type = "ncclFloat32";
    event.collective_call.is_captured = is_captured ? 1 : 0;
    void* const call = nccl.start(*thread, context, event);
    thread->end(to_handle(call));
    return call;
  }
  Span launch(void* group) { return launch(group, context); }
  Span launch(void* group, void* communicator) {
    Span span;
    span.begin = now();
    void* const handle = nccl.start(*thread, communicator, event_of(kKernelLaunch, group));
    thread->end(to_handle(handle));
    span.end = now();
    return span;
  }
  /// What NCCL does of a plan: these calls.
  void report_plan(Recorder& reporter, std::vector<void*> const& calls) {
    report_plan(reporter, calls, context);
  }
  void report_plan(Recorder& reporter, std::vector<void*> const& calls, void* communicator) {
    void* const plan = nccl.start(reporter, communicator, event_of(kGroup, nullptr));
    std::vector<void*> handles;
    for (void* const call : calls) {
      Event event = event_of(kCollective, call);
      event.collective.sequence = ++sequence;
      event.collective.function = "AllReduce";
      event.collective.count = 1'000;
      event.collective.data_type = "ncclFloat32";
      event.collective.channels = 8;
      event.collective.group = plan;
      handles.push_back(nccl.start(reporter, communicator, event));
    }

    for (void* const handle : handles) reporter.end(to_handle(handle));
    reporter.end(to_handle(plan));
  }
  static int64_t now() { return monotonic_ns(); }
  /// Whether the row encloses the launch and lies on the thread that launched.
  void expect_at(CallRow const& row, Span const& span) const {
    EXPECT_EQ(row.thread, kThread);
    EXPECT_EQ(row.detail.launch, CallLaunch::kInside);
    int64_t const start = row.start + origin;
    EXPECT_GE(start, span.begin);
    EXPECT_LE(start, span.end);
    EXPECT_GT(row.dur, 0);
  }

  static constexpr int64_t kThread = 100, kDriverThread = 200;
  NcclPipeline nccl;
  int64_t const origin = -nccl.clock.monotonic_to_trace_ns(0);
  void* context = nccl.context({0xABC, 3, 8, "", 6});
  void* other_context = nccl.context({0xDEF, 0, 8, "", 6});
  Recorder* thread = nccl.source.attach(kThread);
  Recorder* driver_thread = nccl.source.attach(kDriverThread);
  uint64_t sequence = 0;
};

TEST_F(NcclLaunchLinks, a_call_encloses_its_launch) {
  void* const group = begin_group();
  void* const call = call_all_reduce(group);
  Span const span = launch(group);
  report_plan(*thread, {call});
  thread->end(to_handle(group));
  auto const rows = nccl.finish();
  ASSERT_THAT(rows, SizeIs(1));
  expect_at(rows[0], span);
  EXPECT_EQ(rows[0].detail.channels, 8U);
}

TEST_F(NcclLaunchLinks, the_calls_of_a_plan_follow_the_first_which_encloses_the_launch) {
  void* const group = begin_group();
  std::vector<void*> const calls = {call_all_reduce(group), call_all_reduce(group),
                                    call_all_reduce(group)};

  Span const span = launch(group);
  report_plan(*thread, calls);

  auto const rows = nccl.finish();
  ASSERT_THAT(rows, SizeIs(3));
  expect_at(rows[0], span);
  for (size_t i = 1; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].detail.launch, CallLaunch::kInside);
    EXPECT_EQ(rows[i].detail.plan, rows[0].detail.plan);
    EXPECT_LE(rows[i - 1].start + rows[i - 1].dur, rows[i].start);
  }
}

TEST_F(NcclLaunchLinks, plans_of_one_group_have_a_launch_each) {
  void* const group = begin_group();
  void* const first = call_all_reduce(group);
  void* const second = call_all_reduce(group);

  Span const first_span = launch(group);
  report_plan(*thread, {first});
  Span const second_span = launch(group);
  report_plan(*thread, {second});

  auto const rows = nccl.finish();
  ASSERT_THAT(rows, SizeIs(2));
  expect_at(rows[0], first_span);
  expect_at(rows[1], second_span);
}

TEST_F(NcclLaunchLinks, what_a_thread_of_the_driver_reports_belongs_to_the_thread_that_launched) {
  // A communicator with a live CUDA graph: NCCL reports plans when the stream reaches them.
  void* const group = begin_group();
  void* const first = call_all_reduce(group);
  void* const second = call_all_reduce(group);
  void* const third = call_all_reduce(group);

  Span const first_span = launch(group);
  Span const second_span = launch(group);
  report_plan(*driver_thread, {first, second});
  report_plan(*driver_thread, {third});

  auto const rows = nccl.finish();
  ASSERT_THAT(rows, SizeIs(3));
  expect_at(rows[0], first_span);
  EXPECT_EQ(rows[1].thread, kThread);
  EXPECT_EQ(rows[1].detail.sequence >> 4, 2U);
  EXPECT_LE(rows[1].start, rows[2].start);
  expect_at(rows[2], second_span);
}

TEST_F(NcclLaunchLinks, a_launch_that_may_be_of_several_plans_is_of_none) {
  void* const group = begin_group();
  void* const call = call_all_reduce(group);
  launch(group);
  launch(group);
  report_plan(*driver_thread, {call});  // NCCL did not report the other plan
  auto const rows = nccl.finish();
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].detail.launch, CallLaunch::kNone);
  EXPECT_EQ(rows[0].thread, kDriverThread);
}

TEST_F(NcclLaunchLinks, communicators_of_a_group_are_kept_apart) {
  void* const group = begin_group();
  void* const call = call_all_reduce(group);
  Event event = event_of(kCollectiveCall, group);
  event.collective_call.function = "AllReduce";
  void* const other_call = nccl.start(*thread, other_context, event);

  Span const other_span = launch(group, other_context);
  Span const span = launch(group);
  report_plan(*thread, {other_call}, other_context);
  report_plan(*thread, {call});

  auto const rows = nccl.finish();
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0].detail.communicator, 0xDEFU);
  expect_at(rows[0], other_span);
  EXPECT_EQ(rows[1].detail.communicator, 0xABCU);
  expect_at(rows[1], span);
}

TEST_F(NcclLaunchLinks, a_call_about_which_nccl_reports_nothing_else_is_at_its_launch) {
  void* const group = begin_group();
  call_all_reduce(group, 1'000);
  call_all_reduce(group, 500);
  Span const span = launch(group);

  auto const rows = nccl.finish();
  ASSERT_THAT(rows, SizeIs(2));
  expect_at(rows[0], span);
  EXPECT_EQ(rows[0].detail.bytes + rows[1].detail.bytes, 6'000U);
  EXPECT_EQ(rows[0].detail.plan, rows[1].detail.plan);
  EXPECT_NE(rows[0].detail.plan, 0U);
  EXPECT_EQ(rows[0].detail.communicator, 0xABCU);
  EXPECT_EQ(rows[0].detail.rank, 3) << "the call itself says 0 on every rank";
  EXPECT_EQ(rows[0].detail.sequence, 0U);
}

TEST_F(NcclLaunchLinks, a_call_without_a_launch_is_where_it_was_made) {
  void* const group = begin_group();
  int64_t const before = now();
  call_all_reduce(group);  // of a communicator of one rank: a copy
  auto const rows = nccl.finish();
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].detail.launch, CallLaunch::kNone);
  EXPECT_GE(rows[0].start + origin, before);
  EXPECT_EQ(rows[0].detail.plan, 0U);
}

TEST_F(NcclLaunchLinks, what_a_graph_captured_ran_nothing) {
  for (int const replays : {1, 2}) {
    void* const group = begin_group();
    void* const call = call_all_reduce(group, 1'000, true);
    launch(group);
    for (int i = 0; i < replays; ++i) report_plan(*driver_thread, {call});
  }

  auto const rows = nccl.finish();
  ASSERT_THAT(rows, SizeIs(3));
  for (CallRow const& row : rows) {
    EXPECT_EQ(row.detail.launch, CallLaunch::kNone);
    EXPECT_EQ(row.thread, kDriverThread);
  }
}

TEST_F(NcclLaunchLinks, a_captured_call_that_never_runs_is_no_row) {
  void* const group = begin_group();
  call_all_reduce(group, 1'000, true);
  launch(group);
  EXPECT_THAT(nccl.finish(), SizeIs(0));
}

TEST_F(NcclLaunchLinks, collectives_of_copy_engines_have_no_kernel_and_numbers_of_their_own) {
  void* const group = begin_group();
  void* const call = call_all_reduce(group);

  Event event = event_of(kCopyEngine, call);
  event.copy_engine.sequence = 5;
  event.copy_engine.function = "AllGather";
  event.copy_engine.count = 100;
  event.copy_engine.data_type = "ncclBfloat16";
  thread->end(to_handle(nccl.start(*thread, context, event)));

  auto const rows = nccl.finish();
  ASSERT_THAT(rows, SizeIs(1)) << "it stands for the program's call";
  EXPECT_EQ(rows[0].name, "ncclAllGather");
  EXPECT_EQ(rows[0].detail.launch, CallLaunch::kNone);
  EXPECT_EQ(rows[0].detail.bytes, 8U * 200);
  EXPECT_EQ(rows[0].detail.communicator, 0xABCU);
  EXPECT_EQ(rows[0].detail.sequence,
            uint64_t{1} << 63 | 5U << 4 | static_cast<uint64_t>(model::CollectiveOp::kAllGather));
}

TEST_F(NcclLaunchLinks, a_group_that_began_before_the_capture_is_reported_as_by_older_versions) {
  void* const call = call_all_reduce(nullptr);
  EXPECT_EQ(call, nullptr);
  EXPECT_EQ(nccl.start(*thread, context, event_of(kKernelLaunch, nullptr)), nullptr);
  report_plan(*thread, {call});
  auto const rows = nccl.finish();
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].detail.launch, CallLaunch::kBefore);
}

TEST_F(NcclLaunchLinks, a_group_waits_for_what_nccl_reports_but_not_for_ever) {
  void* const group = begin_group();
  void* const call = call_all_reduce(group);
  launch(group);

  Decoder decoder(nccl.communicators);
  ClockFit const clock({0, 0});
  int64_t const time = monotonic_ns();
  Ring& ring = thread->ring();
  uint64_t const decoded = ring.head();

  decoder.decode(0, kThread, {ring.at(0), decoded}, clock);
  decoder.end_round(time + 2 * OpenCall::kSettleNs, nccl.store);
  EXPECT_THAT(nccl.store.tracks(), SizeIs(0)) << "NCCL may still report what it does for the call";

  report_plan(*thread, {call});
  decoder.decode(0, kThread, {ring.at(decoded), ring.head() - decoded}, clock);
  decoder.end_round(time + 4 * OpenCall::kSettleNs, nccl.store);
  EXPECT_EQ(decoder.open_calls(), 0U);
  EXPECT_THAT(nccl.store.tracks(), SizeIs(1));
  EXPECT_EQ(decoder.open_groups(), 0U) << "memory is bounded";
}

TEST_F(NcclLaunchLinks, what_was_never_reported_is_written_in_the_end) {
  void* const group = begin_group();
  call_all_reduce(group);
  launch(group);
  Decoder decoder(nccl.communicators);
  Ring& ring = thread->ring();
  decoder.decode(0, kThread, {ring.at(0), ring.head()}, ClockFit({0, 0}));
  decoder.end_round(monotonic_ns() + 2 * OpenCall::kLatestNs, nccl.store);
  EXPECT_THAT(nccl.store.tracks(), SizeIs(1));
  EXPECT_EQ(decoder.open_groups(), 0U);
}

}  // namespace
}  // namespace stepscope::tracer::nccl
