// Calls on host threads and the kernels that carry them.
#include "trace/model/build/collective_merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/model/build/trace_builder.h"

namespace stepscope::model {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

CollectiveDetail all_reduce(uint64_t sequence, uint64_t plan, uint64_t bytes = 100) {
  CollectiveDetail detail;
  detail.op = CollectiveOp::kAllReduce;
  detail.communicator = 0xC0;
  detail.sequence = sequence;
  detail.participants = 4;
  detail.rank = 1;

  detail.bytes = bytes;
  detail.channels = 8;
  detail.plan = plan;
  return detail;
}

KernelDetail grid(uint32_t x, uint32_t y = 1) {
  KernelDetail kernel;
  kernel.grid_x = x;
  kernel.grid_y = y;
  kernel.grid_z = 1;
  return kernel;
}

/// One thread, one stream; kernels are all called "kernel".
class CollectiveMerge : public ::testing::Test {
 protected:
  CollectiveMerge() {
    thread_ = builder_.add_track({TrackKind::kThread, "main", 1, -1, {}, 0});
    other_thread_ = builder_.add_track({TrackKind::kThread, "callbacks", 2, -1, {}, 0});
    stream_ = builder_.add_track({TrackKind::kStream, "stream 7", 7, 0, {}, 0});
  }
  void launch(int64_t start, uint64_t correlation, KernelDetail kernel = grid(8)) {
    builder_.events(thread_).add(EventKind::kLaunch, start, 5, builder_.intern("cuLaunchKernelEx"),
                                 correlation);
    builder_.events(stream_).add(EventKind::kKernel, start + 50, 10, builder_.intern("kernel"),
                                 correlation, kernel);
  }
  void launch_by_name(int64_t start, uint64_t correlation, CollectiveDetail const& detail) {
    builder_.events(thread_).add(EventKind::kLaunch, start, 5, builder_.intern("cuLaunchKernelEx"),
                                 correlation);
    builder_.events(stream_).add(EventKind::kCollective, start + 50, 10,
                                 builder_.intern("ncclDevKernel_AllReduce_Sum_f32_RING_LL"),
                                 correlation, detail);
  }
  void call(int64_t start, CollectiveDetail const& detail) { call(thread_, start, detail); }
  void call(TrackId thread, int64_t start, CollectiveDetail const& detail) {
    call(thread, start, 1, detail);
  }
  void call(TrackId thread, int64_t start, int64_t dur, CollectiveDetail const& detail) {
    builder_.events(thread).add(EventKind::kCollectiveCall, start, dur,
                                builder_.intern("ncclAllReduce"), 0, detail);
  }
  /// Correlations of the stream's collectives.
  std::vector<uint64_t> merge() {
    trace_ = std::move(builder_).finish();
    std::vector<uint64_t> found;
    auto const rows = trace_.rows_of(stream_);
    for (uint32_t row = rows.first; row < rows.last; ++row)
      if (trace_.kind(row) == EventKind::kCollective)
        found.push_back(trace_.columns().correlation[row]);
    return found;
  }
  CollectiveDetail collective(uint64_t correlation) {
    auto const rows = trace_.rows_of(stream_);
    for (uint32_t row = rows.first; row < rows.last; ++row)
      if (trace_.columns().correlation[row] == correlation)
        return trace_.detail<CollectiveDetail>(row);
    return {};
  }
  TraceBuilder builder_;
  TrackId thread_, other_thread_, stream_;
  Trace trace_;
};

TEST_F(CollectiveMerge, the_kernel_launched_just_before_carries_the_call) {
  launch(100, 1);
  launch(200, 2);
  call(210, all_reduce(9, 70));
  launch(300, 3);
  EXPECT_THAT(merge(), ElementsAre(2));
  EXPECT_EQ(collective(2).sequence, 9U);
  EXPECT_EQ(collective(2).bytes, 100U);
  EXPECT_EQ(trace_.log().unmatched_ops, 0U) << "the launch is still linked";
}

TEST_F(CollectiveMerge, gives_the_call_the_kernels_correlation) {
  launch(200, 2);
  call(210, all_reduce(9, 70));
  merge();
  auto const rows = trace_.rows_of(thread_);
  for (uint32_t row = rows.first; row < rows.last; ++row)
    EXPECT_EQ(trace_.columns().correlation[row], 2U);
}

TEST_F(CollectiveMerge, keeps_the_details_of_all_other_rows_in_their_places) {
  for (int i = 0; i < 6; ++i) {
    launch(100 * i, static_cast<uint64_t>(i + 1), grid(10 + static_cast<uint32_t>(i)));
    if (i % 2 == 1)
      call(100 * i + 10, all_reduce(static_cast<uint64_t>(i), static_cast<uint64_t>(70 + i)));
  }

  EXPECT_THAT(merge(), ElementsAre(2, 4, 6));
  auto const rows = trace_.rows_of(stream_);
  for (uint32_t row = rows.first; row < rows.last; ++row) {
    auto const number = static_cast<uint32_t>(trace_.columns().correlation[row] - 1);
    if (trace_.kind(row) == EventKind::kKernel)
      EXPECT_EQ(trace_.detail<KernelDetail>(row).grid_x, 10 + number);
    else
      EXPECT_EQ(trace_.detail<CollectiveDetail>(row).sequence, number);
  }

  EXPECT_THAT(std::get<1>(trace_.events_of(stream_).details), SizeIs(3));
}

TEST_F(CollectiveMerge, calls_of_a_plan_share_one_kernel) {
  launch(100, 1);
  call(110, all_reduce(1, 70, 100));
  call(111, all_reduce(2, 70, 250));
  launch(200, 2);
  call(210, all_reduce(3, 71));
  EXPECT_THAT(merge(), ElementsAre(1, 2));
  EXPECT_EQ(collective(1).bytes, 350U);
  EXPECT_EQ(collective(1).op, CollectiveOp::kAllReduce);
  EXPECT_EQ(collective(1).sequence, 1U);
}

TEST_F(CollectiveMerge, a_plan_without_a_launch_of_its_own_takes_no_other_kernel) {
  launch(100, 1);
  call(110, all_reduce(1, 70));
  call(120, all_reduce(2, 71));                        // no launch between
  call(110 + 2 * kMaxPlanDelayNs, all_reduce(3, 72));  // long after any launch
  call(other_thread_, 115,
       all_reduce(4, 73));  // a replayed graph is reported by a thread that launches nothing
  EXPECT_THAT(merge(), ElementsAre(1));
  EXPECT_EQ(collective(1).sequence, 1U);
}

TEST_F(CollectiveMerge, an_old_launch_is_not_that_of_a_plan) {
  launch(100, 1);
  call(110 + kMaxPlanDelayNs, all_reduce(1, 70));
  EXPECT_THAT(merge(), SizeIs(0));
}

TEST_F(CollectiveMerge, kernels_that_cannot_carry_it_stay_kernels) {
  launch(100, 1, grid(8, 2));
  call(110, all_reduce(1, 70));
  launch(200, 2, grid(7));  // fewer blocks than channels
  call(210, all_reduce(2, 71));
  KernelDetail replayed = grid(8);
  replayed.graph = 5;
  launch(300, 3, replayed);
  call(310, all_reduce(3, 72));

  EXPECT_THAT(merge(), SizeIs(0));
  EXPECT_EQ(trace_.columns().correlation[trace_.rows_of(thread_).first + 1], 0U);
}

TEST_F(CollectiveMerge, a_launch_inside_of_its_call_is_known) {
  CollectiveDetail detail = all_reduce(1, 70);
  detail.launch = CallLaunch::kInside;
  call(thread_, 95, 10, detail);  // the launch is from 100 to 105
  launch(100, 1);

  CollectiveDetail second = all_reduce(2, 70);
  second.launch = CallLaunch::kInside;
  call(thread_, 105, 1, second);
  launch(200, 2);

  EXPECT_THAT(merge(), ElementsAre(1));
  EXPECT_EQ(collective(1).bytes, 200U) << "both calls of the plan";
  EXPECT_EQ(collective(1).launch, CallLaunch::kBefore) << "says something of calls only";
}

TEST_F(CollectiveMerge, a_call_may_begin_a_little_after_its_launch_by_another_clock) {
  CollectiveDetail detail = all_reduce(1, 70);
  detail.launch = CallLaunch::kInside;
  call(thread_, 101, 10, detail);
  launch(100, 1);
  call(thread_, 204, 10, detail);  // only its end lies inside
  launch(200, 2);
  EXPECT_THAT(merge(), ElementsAre(1));
}

TEST_F(CollectiveMerge, a_call_without_a_launch_takes_no_other_kernel) {
  launch(100, 1);
  CollectiveDetail detail = all_reduce(1, 70);
  detail.launch = CallLaunch::kNone;
  call(110, detail);
  launch(200, 2);
  detail.launch = CallLaunch::kInside;
  call(210, detail);  // its launch is lost
  EXPECT_THAT(merge(), SizeIs(0));
}

/// As the tracer writes a kernel that it knows by its name.
CollectiveDetail by_name(uint32_t channels) {
  CollectiveDetail detail;
  detail.op = CollectiveOp::kAllReduce;
  detail.channels = channels;
  detail.launch = CallLaunch::kNone;
  return detail;
}

TEST_F(CollectiveMerge, a_kernel_that_is_known_by_its_name_gets_what_its_call_says) {
  launch_by_name(100, 1, by_name(8));
  call(110, all_reduce(9, 70));
  EXPECT_THAT(merge(), ElementsAre(1));
  EXPECT_EQ(collective(1).sequence, 9U);
  EXPECT_EQ(collective(1).bytes, 100U);
  EXPECT_EQ(trace_.columns().correlation[trace_.rows_of(thread_).first + 1], 1U);
  EXPECT_THAT(trace_.log().notes, SizeIs(0));
}

TEST_F(CollectiveMerge, a_kernel_that_is_known_by_its_name_stays_a_collective_without_a_call) {
  launch_by_name(100, 1, by_name(8));
  call(110, all_reduce(9, 70));
  launch_by_name(200, 2, by_name(7));  // fewer blocks than channels
  call(210, all_reduce(10, 71));
  launch_by_name(300, 3, by_name(0));  // of another grid
  call(310, all_reduce(11, 72));
  CollectiveDetail replayed = by_name(8);
  replayed.graph = 5;
  launch_by_name(400, 4, replayed);
  call(410, all_reduce(12, 73));

  EXPECT_THAT(merge(), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(collective(1).sequence, 9U);
  EXPECT_EQ(collective(1).launch, CallLaunch::kBefore);
  for (uint64_t const correlation : {2, 3, 4}) {
    EXPECT_EQ(collective(correlation).sequence, 0U);
    EXPECT_EQ(collective(correlation).op, CollectiveOp::kAllReduce);
    EXPECT_EQ(collective(correlation).launch, CallLaunch::kNone);
  }
  EXPECT_THAT(trace_.log().notes,
              ElementsAre("3 kernels of NCCL have no size and no partners: the calls that they "
                          "run are not known"));
}

TEST_F(CollectiveMerge, where_nothing_reports_calls_no_kernel_lacks_its_own) {
  launch_by_name(100, 1, by_name(8));
  EXPECT_THAT(merge(), ElementsAre(1));
  EXPECT_THAT(trace_.log().notes, SizeIs(0));
}

TEST_F(CollectiveMerge, kernels_of_nccl_without_a_call_are_told) {
  launch(100, 1);
  call(110, all_reduce(1, 70));

  auto const nccl =
      builder_.intern("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
  for (int64_t const start : {300, 400})
    builder_.events(stream_).add(EventKind::kKernel, start, 10, nccl, static_cast<uint64_t>(start),
                                 grid(8));

  builder_.log().notes = {
      "9 kernels of NCCL are shown as computation: the calls that they run are not known", "else"};

  EXPECT_THAT(merge(), ElementsAre(1));
  EXPECT_THAT(
      trace_.log().notes,
      ElementsAre(
          "else",
          "2 kernels of NCCL are shown as computation: the calls that they run are not known"));
}

TEST_F(CollectiveMerge, kernels_that_carry_their_calls_are_nothing_to_tell) {
  builder_.events(thread_).add(EventKind::kLaunch, 100, 5, builder_.intern("cuLaunchKernelEx"), 1);
  builder_.events(stream_).add(EventKind::kKernel, 150, 10,
                               builder_.intern("ncclDevKernel_AllReduce"), 1, grid(8));
  call(110, all_reduce(1, 70));
  EXPECT_THAT(merge(), ElementsAre(1));
  EXPECT_THAT(trace_.log().notes, SizeIs(0));
}

TEST_F(CollectiveMerge, what_was_merged_before_stays_as_it_is) {
  launch(100, 1);
  call(110, all_reduce(1, 70));
  merge();

  TraceBuilder again;
  for (Track const& track : trace_.tracks()) again.add_track(track);
  auto const rows = trace_.rows_of(stream_);
  again.events(stream_).add(EventKind::kCollective, trace_.start(rows.first), 10, StringId{0}, 1,
                            collective(1));
  again.events(thread_).add(EventKind::kLaunch, 100, 5, StringId{0}, 1);
  again.events(thread_).add(EventKind::kCollectiveCall, 110, 1, StringId{0}, 1, all_reduce(1, 70));
  trace_ = std::move(again).finish();

  EXPECT_EQ(collective(1).sequence, 1U);
  EXPECT_THAT(trace_.details<CollectiveDetail>(), SizeIs(2));
}

TEST(CollectiveMergeCombine, sends_to_and_receives_from_all_are_an_all_to_all) {
  std::vector<CollectiveDetail> calls;
  for (int32_t peer = 0; peer < 4; ++peer) {
    CollectiveDetail detail = all_reduce(0, 70, 25);
    detail.peer = peer;
    detail.op = CollectiveOp::kSend;
    calls.push_back(detail);
    detail.op = CollectiveOp::kReceive;
    calls.push_back(detail);
  }

  EXPECT_EQ(combine(calls).op, CollectiveOp::kAllToAll);
  EXPECT_EQ(combine(calls).bytes, 100U) << "what is sent, once";
  EXPECT_EQ(combine(calls).peer, -1);

  calls.pop_back();
  EXPECT_EQ(combine(calls).op, CollectiveOp::kUnknown) << "a send without its receive";
}

TEST(CollectiveMergeCombine, what_calls_do_not_agree_in_is_unknown) {
  std::vector<CollectiveDetail> calls = {all_reduce(1, 70), all_reduce(2, 70)};
  calls[0].data_type = calls[1].data_type = DataType::kFloat16;
  calls[1].op = CollectiveOp::kBroadcast;
  calls[1].channels = 16;
  calls[1].algorithm = CollectiveAlgorithm::kRing;

  CollectiveDetail const both = combine(calls);
  EXPECT_EQ(both.op, CollectiveOp::kUnknown);
  EXPECT_EQ(both.algorithm, CollectiveAlgorithm::kUnknown);
  EXPECT_EQ(both.data_type, DataType::kFloat16);
  EXPECT_EQ(both.communicator, 0xC0U);
  EXPECT_EQ(both.channels, 16U);
}

// Before, each call looked at each launch: 250,000,000,000 times.
TEST_F(CollectiveMerge, CallsAndLaunchesThatOverlapWithoutEndTakeLinearTime) {
  constexpr int kCount = 500'000;
  CollectiveDetail detail = all_reduce(1, 0);
  detail.launch = CallLaunch::kInside;
  EventBatch& events = builder_.events(thread_);
  for (int i = 0; i < kCount; ++i)
    events.add(EventKind::kCollectiveCall, 1000, 1000, StringId{0}, 0, detail);
  // Their middles lie behind all calls.
  for (int i = 0; i < kCount; ++i)
    events.add(EventKind::kLaunch, 1000, 1'000'000, StringId{0}, static_cast<uint64_t>(i) + 1);
  EXPECT_THAT(merge(), SizeIs(0));
}

}  // namespace
}  // namespace stepscope::model
