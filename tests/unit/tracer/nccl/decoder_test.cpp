// Events of every version of NCCL's interface → rows.
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tracer/nccl/nccl_fixture.h"
#include "tracer/nccl/message_bytes.h"

namespace stepscope::tracer::nccl {
namespace {

using model::CollectiveAlgorithm;
using model::CollectiveOp;
using model::CollectiveProtocol;
using model::DataType;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr int64_t kThread = 100, kNetworkThread = 200;

// Events as NCCL fills them: zeros, then the known fields.
template <class Event>
Event plain_event(uint64_t type, void* parent) {
  Event event;
  std::memset(static_cast<void*>(&event), 0, sizeof event);
  event.type = static_cast<decltype(event.type)>(type);
  event.parent = parent;
  event.rank = 3;
  return event;
}
template <class Event>
Event group_event() {
  return plain_event<Event>(kGroup, nullptr);
}
template <class Event>
Event collective_event(void* group, char const* function, uint64_t sequence, size_t count) {
  auto event = plain_event<Event>(kCollective, group);
  event.collective.sequence = sequence;
  event.collective.function = function;
  event.collective.count = count;
  event.collective.root = 2;
  event.collective.data_type = "ncclFloat32";
  event.collective.algorithm = "RING";
  event.collective.protocol = "SIMPLE";

  if constexpr (requires { event.collective.group; }) event.collective.group = group;
  return event;
}
template <class Event>
Event network_event(uint64_t type, void* parent, int64_t process = NcclPipeline::kProcess) {
  auto event = plain_event<Event>(type, parent);
  if (type == kProxyOp) event.proxy_op.process = static_cast<pid_t>(process);
  return event;
}

TEST(NcclDecoder, version_1_tells_numbers) {
  NcclPipeline nccl;
  Recorder& thread = *nccl.source.attach(kThread);
  void* const context = nccl.context({});

  auto event =
      plain_event<EventV1>(kCollective, nccl.start(thread, context, group_event<EventV1>()));
  event.collective.communicator = 0xABC;
  event.collective.sequence = 5;
  event.collective.function = 2;  // AllGather
  event.collective.count = 10;
  event.collective.data_type = 9;  // bfloat16
  event.collective.traffic_bytes = 80;
  event.collective.max_channels = 16;
  event.collective.algorithm = 0;
  event.collective.protocol = 1;
  thread.end(to_handle(nccl.start(thread, context, event)));

  auto const rows = nccl.finish();
  ASSERT_THAT(rows, SizeIs(1));
  auto const& detail = rows[0].detail;
  EXPECT_EQ(rows[0].name, "ncclAllGather");
  EXPECT_EQ(rows[0].thread, kThread);
  EXPECT_EQ(detail.op, CollectiveOp::kAllGather);
  EXPECT_EQ(detail.bytes, 80U) << "the ranks are not known, but the traffic is";
  EXPECT_EQ(detail.communicator, 0xABCU);
  EXPECT_EQ(detail.rank, 3);
  EXPECT_EQ(detail.participants, 0U);
  EXPECT_EQ(detail.data_type, DataType::kBfloat16);
  EXPECT_EQ(detail.algorithm, CollectiveAlgorithm::kTree);
  EXPECT_EQ(detail.protocol, CollectiveProtocol::kLl128);
  EXPECT_EQ(detail.channels, 16U);
}

template <class Event>
class NcclNamedVersions : public ::testing::Test {};
using NamedVersions = ::testing::Types<EventV2, EventV3, EventV4, EventV5, EventV6>;
TYPED_TEST_SUITE(NcclNamedVersions, NamedVersions);

TYPED_TEST(NcclNamedVersions, collectives_become_rows_with_everything_that_was_reported) {
  NcclPipeline nccl;
  Recorder& thread = *nccl.source.attach(kThread);
  void* const context = nccl.context({0xABC, 3, 8, "data parallel"});
  void* const group = nccl.start(thread, context, group_event<TypeParam>());

  auto event = collective_event<TypeParam>(group, "AllReduce", 41, 1'000);
  if constexpr (requires { event.collective.channels; })
    event.collective.channels = 24;
  else
    event.collective.max_channels = 24;

  void* const call = nccl.start(thread, context, event);
  ASSERT_NE(call, nullptr);
  thread.end(to_handle(call));
  thread.end(to_handle(group));

  auto const rows = nccl.finish();
  ASSERT_THAT(rows, SizeIs(1));
  auto const& detail = rows[0].detail;
  EXPECT_EQ(rows[0].name, "ncclAllReduce");
  EXPECT_EQ(detail.op, CollectiveOp::kAllReduce);
  EXPECT_EQ(detail.bytes, 4'000U);
  EXPECT_EQ(detail.communicator, 0xABCU);
  EXPECT_EQ(detail.sequence, 41U << 4 | static_cast<uint64_t>(CollectiveOp::kAllReduce));
  EXPECT_EQ(detail.participants, 8U);
  EXPECT_EQ(detail.rank, 3);
  EXPECT_EQ(detail.peer, -1) << "an all-reduce has no root";
  EXPECT_EQ(detail.data_type, DataType::kFloat32);
  EXPECT_EQ(detail.algorithm, CollectiveAlgorithm::kRing);
  EXPECT_EQ(detail.protocol, CollectiveProtocol::kSimple);
  EXPECT_EQ(detail.channels, 24U);
  EXPECT_EQ(detail.plan, to_handle(group));
}

TYPED_TEST(NcclNamedVersions, sends_and_receives_have_a_peer_and_no_sequence) {
  NcclPipeline nccl;
  Recorder& thread = *nccl.source.attach(kThread);
  void* const context = nccl.context({0xABC, 3, 8, ""});

  auto event =
      plain_event<TypeParam>(kPointToPoint, nccl.start(thread, context, group_event<TypeParam>()));
  event.point_to_point.function = "Send";
  event.point_to_point.data_type = "ncclInt8";
  event.point_to_point.count = 99;
  event.point_to_point.peer = 6;
  thread.end(to_handle(nccl.start(thread, context, event)));

  auto const rows = nccl.finish();
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].name, "ncclSend");
  EXPECT_EQ(rows[0].detail.op, CollectiveOp::kSend);
  EXPECT_EQ(rows[0].detail.bytes, 99U);
  EXPECT_EQ(rows[0].detail.peer, 6);
  EXPECT_EQ(rows[0].detail.sequence, 0U);
}

TYPED_TEST(NcclNamedVersions, unknown_names_and_missing_ones_are_unknown) {
  NcclPipeline nccl;
  Recorder& thread = *nccl.source.attach(kThread);
  void* const context = nccl.context({1, 0, 2, ""});

  auto event = collective_event<TypeParam>(nullptr, "Gather", 1, 10);
  event.collective.data_type = nullptr;
  event.collective.algorithm = "SOMETHING_NEW";
  event.collective.protocol = nullptr;
  thread.end(to_handle(nccl.start(thread, context, event)));
  event.collective.function = nullptr;
  thread.end(to_handle(nccl.start(thread, context, event)));

  auto const rows = nccl.finish();
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0].name, "NCCL operation");
  EXPECT_EQ(rows[0].detail.op, CollectiveOp::kUnknown);
  EXPECT_EQ(rows[0].detail.bytes, 0U) << "unknown, not a guess";
  EXPECT_EQ(rows[0].detail.algorithm, CollectiveAlgorithm::kUnknown);
  EXPECT_EQ(rows[1].detail.op, CollectiveOp::kUnknown);
}

TYPED_TEST(NcclNamedVersions, event_types_that_were_not_asked_for_are_not_recorded) {
  NcclPipeline nccl;
  Recorder& thread = *nccl.source.attach(kThread);
  void* const context = nccl.context({1, 0, 2, ""});
  for (uint64_t const type : {1 << 5, 1 << 6, 1 << 7})
    EXPECT_EQ(nccl.start(thread, context, plain_event<TypeParam>(type, nullptr)), nullptr);
  EXPECT_THAT(nccl.finish(), SizeIs(0));
}

TYPED_TEST(NcclNamedVersions, network_waits_are_summed_over_the_operations_of_a_call) {
  NcclPipeline nccl;
  Recorder& thread = *nccl.source.attach(kThread);
  Recorder& network = *nccl.source.attach(kNetworkThread);
  void* const context = nccl.context({1, 0, 2, ""});
  void* const call =
      nccl.start(thread, context, collective_event<TypeParam>(nullptr, "AllReduce", 1, 10));
  thread.end(to_handle(call));

  for (int channel = 0; channel < 2; ++channel) {
    void* const op = nccl.start(network, context, network_event<TypeParam>(kProxyOp, call));
    ASSERT_NE(op, nullptr);
    void* const step = nccl.start(network, context, network_event<TypeParam>(kProxyStep, op));
    ASSERT_NE(step, nullptr);
    for (int const state : {kSendGpuWait, kSendPeerWait, kSendWait}) {
      network.wait(to_handle(step), wait_of(state));
      int64_t const until = monotonic_ns() + 20'000;
      while (monotonic_ns() < until) {
      }
    }
    network.end(to_handle(step));
    network.end(to_handle(op));
  }

  auto const rows = nccl.finish();
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_GE(rows[0].detail.gpu_wait_ns, 40'000U);
  EXPECT_GE(rows[0].detail.peer_wait_ns, 40'000U);
  EXPECT_GE(rows[0].detail.network_wait_ns, 40'000U);
}

TYPED_TEST(NcclNamedVersions, operations_of_another_process_belong_to_no_call_of_ours) {
  NcclPipeline nccl;
  Recorder& thread = *nccl.source.attach(kThread);
  void* const context = nccl.context({1, 0, 2, ""});
  void* const call =
      nccl.start(thread, context, collective_event<TypeParam>(nullptr, "AllReduce", 1, 10));
  EXPECT_EQ(nccl.start(thread, context,
                       network_event<TypeParam>(kProxyOp, call, NcclPipeline::kProcess + 1)),
            nullptr);
}

TEST(NcclDecoder, calls_of_a_plan_follow_each_other_without_overlap) {
  NcclPipeline nccl;
  Recorder& thread = *nccl.source.attach(kThread);
  void* const context = nccl.context({1, 0, 2, ""});

  void* const group = nccl.start(thread, context, group_event<EventV4>());
  std::vector<void*> calls;
  for (uint64_t i = 0; i < 4; ++i)
    calls.push_back(
        nccl.start(thread, context, collective_event<EventV4>(group, "AllReduce", i, 1)));
  for (void* const call : calls) thread.end(to_handle(call));  // NCCL ends them together
  thread.end(to_handle(group));

  auto const rows = nccl.finish();
  ASSERT_THAT(rows, SizeIs(4));
  for (size_t i = 0; i + 1 < rows.size(); ++i)
    EXPECT_LE(rows[i].start + rows[i].dur, rows[i + 1].start);
  for (CallRow const& row : rows) EXPECT_EQ(row.detail.plan, to_handle(group));
}

TEST(NcclDecoder, a_network_operation_may_be_drained_before_its_call) {
  NcclPipeline nccl;
  Recorder& network = *nccl.source.attach(kNetworkThread);  // the first ring to be drained
  Recorder& thread = *nccl.source.attach(kThread);
  void* const context = nccl.context({1, 0, 2, ""});

  void* const call =
      nccl.start(thread, context, collective_event<EventV5>(nullptr, "AllReduce", 1, 10));
  void* const op = nccl.start(network, context, network_event<EventV5>(kProxyOp, call));
  void* const step = nccl.start(network, context, network_event<EventV5>(kProxyStep, op));
  network.wait(to_handle(step), Wait::kNetwork);
  network.end(to_handle(step));
  network.end(to_handle(op));
  thread.end(to_handle(call));

  auto const rows = nccl.finish();
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_GT(rows[0].detail.network_wait_ns, 0U);
}

TEST(NcclDecoder, a_call_waits_for_its_network_operations_but_not_for_ever) {
  NcclPipeline nccl;
  Recorder& thread = *nccl.source.attach(kThread);
  void* const context = nccl.context({1, 0, 2, ""});
  void* const call =
      nccl.start(thread, context, collective_event<EventV5>(nullptr, "AllReduce", 1, 10));
  nccl.start(thread, context, network_event<EventV5>(kProxyOp, call));
  thread.end(to_handle(call));

  Decoder decoder(nccl.communicators);
  int64_t const now = monotonic_ns();
  ClockFit const clock({0, 0});
  Ring& ring = thread.ring();
  decoder.decode(0, kThread, {ring.at(0), ring.head()}, clock);
  decoder.end_round(now + 2 * OpenCall::kSettleNs, nccl.store);
  EXPECT_EQ(decoder.open_calls(), 1U) << "its network operation is open";
  decoder.end_round(now + 2 * OpenCall::kLatestNs, nccl.store);
  EXPECT_EQ(decoder.open_calls(), 0U) << "a trace must show collectives that hang";
}

TEST(NcclDecoder, only_the_steps_that_were_asked_for_are_recorded) {
  NcclPipeline nccl(StepRange{2, 3});
  Recorder& thread = *nccl.source.attach(kThread);
  void* const context = nccl.context({1, 0, 2, ""});
  auto const event = collective_event<EventV4>(nullptr, "AllReduce", 1, 10);
  EXPECT_EQ(nccl.start(thread, context, event), nullptr) << "before the first step";

  nccl.window.thread_begins_annotating();
  nccl.window.thread_enters_window();
  EXPECT_NE(nccl.start(thread, context, event), nullptr);

  nccl.window.stop();
  EXPECT_EQ(nccl.start(thread, context, event), nullptr);
  EXPECT_THAT(nccl.finish(), SizeIs(1));
}

TEST(NcclDecoder, what_does_not_fit_the_ring_is_counted) {
  NcclPipeline nccl;
  Recorder& thread = *nccl.source.attach(kThread);
  void* const context = nccl.context({1, 0, 2, ""});
  auto const event = collective_event<EventV4>(nullptr, "AllReduce", 1, 10);

  uint64_t recorded = 0;
  uint64_t lost = 0;
  while (lost < 5) {
    if (nccl.start(thread, context, event) != nullptr)
      ++recorded;
    else
      ++lost;
  }

  EXPECT_THAT(nccl.finish(), SizeIs(recorded));
  EXPECT_EQ(nccl.source.dropped(), lost);
}

TEST(NcclDecoder, a_thread_that_exits_is_forgotten_and_its_calls_are_kept) {
  NcclPipeline nccl;
  void* const context = nccl.context({1, 0, 2, ""});

  for (int i = 0; i < 3; ++i) {
    Recorder& thread = *nccl.source.attach(kThread + i);
    thread.end(to_handle(
        nccl.start(thread, context, collective_event<EventV4>(nullptr, "AllReduce", 1, 10))));
    thread.close();
    nccl.drain();
  }

  EXPECT_THAT(nccl.finish(), SizeIs(3));
}

TEST(NcclDecoder, nothing_is_written_after_the_end) {
  NcclPipeline nccl;
  Recorder& thread = *nccl.source.attach(kThread);
  void* const context = nccl.context({1, 0, 2, ""});
  void* const call =
      nccl.start(thread, context, collective_event<EventV4>(nullptr, "AllReduce", 1, 10));
  void* const op = nccl.start(thread, context, network_event<EventV4>(kProxyOp, call));

  nccl.window.stop();
  uint64_t const head = thread.ring().head();
  thread.end(to_handle(op));
  thread.end(to_handle(call));
  EXPECT_EQ(thread.ring().head(), head) << "its memory was given back";
}

TEST(NcclDecoder, threads_that_come_after_the_end_get_no_ring) {
  NcclPipeline nccl;
  nccl.window.stop();

  Recorder* const thread = nccl.source.attach(kThread);
  ASSERT_NE(thread, nullptr) << "else it would ask again at each event";
  EXPECT_FALSE(thread->ring().valid());
  EXPECT_EQ(nccl.source.attach(kThread + 1), thread);

  void* const context = nccl.context({1, 0, 2, ""});
  EXPECT_EQ(nccl.start(*thread, context, collective_event<EventV4>(nullptr, "AllReduce", 1, 10)),
            nullptr);
  thread->close();
  EXPECT_THAT(nccl.finish(), SizeIs(0));
}

TEST(NcclDecoder, says_which_interface_reported) {
  auto const reported = [](int version) {
    NcclPipeline nccl;
    if (version > 0) nccl.context({1, 0, 2, "", version});
    nccl.finish();
    for (auto const& [name, text] : nccl.store.info.facts)
      if (name == "nccl profiler") return text;
    return std::string();
  };

  EXPECT_EQ(reported(0), "") << "the program made no communicator";
  EXPECT_THAT(reported(4), HasSubstr("interface 4, 1 communicators; below interface 5"));
  EXPECT_EQ(reported(5), "interface 5, 1 communicators");
}

TEST(NcclMessageBytes, are_the_whole_array_where_ncclcounts_a_share) {
  Call call;
  call.count = 100;
  call.data_type = DataType::kFloat16;
  auto const bytes = [&](CollectiveOp op, uint32_t ranks) {
    call.op = op;
    return message_bytes(call, ranks);
  };

  for (auto const op : {CollectiveOp::kAllReduce, CollectiveOp::kBroadcast, CollectiveOp::kReduce,
                        CollectiveOp::kSend})
    EXPECT_EQ(bytes(op, 8), 200U);

  for (auto const op :
       {CollectiveOp::kAllGather, CollectiveOp::kReduceScatter, CollectiveOp::kAllToAll})
    EXPECT_EQ(bytes(op, 8), 1'600U);

  EXPECT_EQ(bytes(CollectiveOp::kAllGather, 0), 0U) << "unknown";
}

}  // namespace
}  // namespace stepscope::tracer::nccl
