// The real library as NCCL uses it: dlopen, dlsym("ncclProfiler_v<N>"), init, events, finalize,
// dlclose; each in a process of its own.
#include <array>
#include <cstdlib>
#include <cstring>
#include <functional>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/paths.h"
#include "tests/unit/tracer/child_program.h"
#include "trace/model/details.h"
#include "tracer/core/clock.h"
#include "tracer/nccl/abi.h"

namespace stepscope::tracer::nccl {
namespace {

using ::testing::Contains;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::string const kLibrary = support::build_path("lib/libstepscope-tracer.so");
constexpr uint64_t kHash = 0xFEED'0000'1234;
constexpr size_t kCollectives = 5;
constexpr int64_t kNetworkNs = 50'000;

template <class Plugin>
Plugin const* find_plugin(char const* symbol) {
  void* const library = ::dlopen(kLibrary.c_str(), RTLD_NOW | RTLD_LOCAL);
  return library != nullptr ? static_cast<Plugin const*>(::dlsym(library, symbol)) : nullptr;
}

int init(PluginV1 const& plugin, void** context, int* mask) { return plugin.init(context, mask); }
int init(PluginV2 const& plugin, void** context, int* mask) { return plugin.init(context, mask); }
int init(PluginV3 const& plugin, void** context, int* mask) { return plugin.init(context, mask); }
int init(PluginV4 const& plugin, void** context, int* mask) {
  return plugin.init(context, mask, "pipeline", kHash, 1, 4, 2, nullptr);
}
int init(PluginV5 const& plugin, void** context, int* mask) {
  return plugin.init(context, kHash, mask, nullptr, 1, 4, 2, nullptr);
}
int init(PluginV6 const& plugin, void** context, int* mask) {
  return plugin.init(context, kHash, mask, "tensor parallel", 1, 4, 2, nullptr);
}

/// The events that the plugin may request from that version of NCCL.
template <class Event>
constexpr int whole_mask() {
  uint64_t mask = kGroup | kCollective | kPointToPoint | kProxyOp | kProxyStep;
  if constexpr (requires(Event event) { event.collective_call; })
    mask |= kGroupCall | kCollectiveCall | kPointToPointCall | kKernelLaunch;
  if constexpr (requires(Event event) { event.copy_engine; }) mask |= kCopyEngine;
  return static_cast<int>(mask);
}

template <class Event>
Event plain_event(uint64_t type, void* parent) {
  Event event;
  std::memset(static_cast<void*>(&event), 0, sizeof event);
  event.type = static_cast<decltype(event.type)>(type);
  event.parent = parent;
  return event;
}

template <class Event>
Event all_reduce(void* group, void* program_call, uint64_t sequence) {
  auto event = plain_event<Event>(kCollective, group);
  if constexpr (requires { event.collective_call; }) event.parent = program_call;
  event.rank = 2;
  event.collective.sequence = sequence;
  event.collective.count = 1'000;

  if constexpr (std::is_same_v<Event, EventV1>) {
    event.collective.function = 4;
    event.collective.data_type = 7;
  } else {
    event.collective.function = "AllReduce";
    event.collective.data_type = "ncclFloat32";
    event.collective.algorithm = "RING";
    event.collective.protocol = "LL";
  }

  if constexpr (requires { event.collective.communicator; }) event.collective.communicator = kHash;
  if constexpr (requires { event.collective.group; }) event.collective.group = group;
  return event;
}

/// Reports the program's call and its launch in versions that have them; returns the call's handle.
template <class Plugin, class Event>
void* call_and_launch(Plugin const& plugin, void* context) {
  if constexpr (requires(Event event) { event.collective_call; }) {
    std::array<void*, 3> handles{};  // group, call, launch
    auto const group = plain_event<Event>(kGroupCall, nullptr);
    plugin.start_event(context, &handles[0], &group);

    auto call = plain_event<Event>(kCollectiveCall, handles[0]);
    call.collective_call.function = "AllReduce";
    call.collective_call.count = 1'000;
    call.collective_call.data_type = "ncclFloat32";
    plugin.start_event(context, &handles[1], &call);
    plugin.stop_event(handles[1]);

    auto const launch = plain_event<Event>(kKernelLaunch, handles[0]);
    plugin.start_event(context, &handles[2], &launch);
    plugin.stop_event(handles[2]);
    plugin.stop_event(handles[0]);
    return handles[1];
  } else {
    return nullptr;
  }
}

/// Reports a plan of one collective as NCCL does; false when it gets no handle.
template <class Init, class Event>
bool enqueue_all_reduce(Plugin<Init, Event> const& plugin, void* context, uint64_t sequence) {
  void* const program_call = call_and_launch<Plugin<Init, Event>, Event>(plugin, context);

  auto const plan = plain_event<Event>(kGroup, nullptr);
  void* plan_handle = nullptr;
  void* handle = nullptr;
  plugin.start_event(context, &plan_handle, &plan);

  auto const event = all_reduce<Event>(plan_handle, program_call, sequence);
  plugin.start_event(context, &handle, &event);
  plugin.stop_event(handle);
  plugin.stop_event(plan_handle);
  return handle != nullptr;
}

/// A send and the transfer that a network thread makes for it.
template <class Init, class Event>
bool send_over_network(Plugin<Init, Event> const& plugin, void* context) {
  auto send = plain_event<Event>(kPointToPoint, nullptr);
  send.rank = 2;
  send.point_to_point.count = 250;
  send.point_to_point.peer = 3;
  if constexpr (std::is_same_v<Event, EventV1>) {
    send.point_to_point.function = 6;
    send.point_to_point.data_type = 7;
  } else {
    send.point_to_point.function = "Send";
    send.point_to_point.data_type = "ncclFloat32";
  }

  std::array<void*, 3> handles{};  // send, operation, step
  plugin.start_event(context, &handles[0], &send);
  plugin.stop_event(handles[0]);

  auto operation = plain_event<Event>(kProxyOp, handles[0]);
  operation.proxy_op.process = ::getpid();
  plugin.start_event(context, &handles[1], &operation);

  auto const step = plain_event<Event>(kProxyStep, handles[1]);
  plugin.start_event(context, &handles[2], &step);
  plugin.record_state(handles[2], kSendWait, nullptr);
  for (int64_t const until = monotonic_ns() + kNetworkNs; monotonic_ns() < until;) {
  }

  plugin.stop_event(handles[2]);
  plugin.stop_event(handles[1]);
  return handles[2] != nullptr;
}

/// What NCCL does in a program with one communicator; a process' exit status.
template <class Init, class Event>
int use(Plugin<Init, Event> const* plugin) {
  void* context = nullptr;
  int mask = 0;
  if (plugin == nullptr || init(*plugin, &context, &mask) != kSuccess) return 10;
  if (context == nullptr || mask != whole_mask<Event>()) return 11;
  for (uint64_t i = 0; i < kCollectives; ++i)
    if (!enqueue_all_reduce(*plugin, context, i)) return 12;
  if (!send_over_network(*plugin, context)) return 13;
  return plugin->finalize(context) == kSuccess ? 0 : 14;
}

class NcclPlugin : public ::testing::Test {
 protected:
  void SetUp() override {
    if (char const* const reason = why_no_injection()) GTEST_SKIP() << reason;
  }
  /// Runs it in a process that records into the folder; its exit status.
  int in_child(std::function<int()> const& work, Environment const& environment = {}) const {
    pid_t const child = ::fork();
    if (child == 0) {
      ::setenv("STEPSCOPE_OUTPUT", folder.path().c_str(), 1);
      for (auto const& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
      if (environment.contains("STEPSCOPE_OUTPUT") && environment.at("STEPSCOPE_OUTPUT").empty())
        ::unsetenv("STEPSCOPE_OUTPUT");
      std::exit(work());  // NOLINT(concurrency-mt-unsafe): the child has one thread
    }
    return wait_for(child);
  }
  std::vector<model::CollectiveDetail> recorded_calls() const {
    auto const traces = read_traces(folder.path());
    EXPECT_THAT(traces, SizeIs(1));
    std::vector<model::CollectiveDetail> calls;
    for (auto const& [name, trace] : traces)
      for (uint32_t row = 0; row < trace.event_count(); ++row)
        if (trace.kind(row) == model::EventKind::kCollectiveCall)
          calls.push_back(trace.detail<model::CollectiveDetail>(row));
    return calls;
  }
  /// What use() plays, as that version of the interface reports it.
  void expect_all_recorded(int version) const {
    auto const calls = recorded_calls();
    ASSERT_THAT(calls, SizeIs(kCollectives + 1));
    for (size_t i = 0; i < kCollectives; ++i) {
      EXPECT_EQ(calls[i].op, model::CollectiveOp::kAllReduce);
      EXPECT_EQ(calls[i].bytes, 4'000U);
      EXPECT_EQ(calls[i].communicator, kHash);
      EXPECT_EQ(calls[i].rank, 2);
      EXPECT_EQ(calls[i].sequence >> 4, i);
      EXPECT_NE(calls[i].plan, 0U);
      EXPECT_EQ(calls[i].launch,
                version < 5 ? model::CallLaunch::kBefore : model::CallLaunch::kInside);
    }

    model::CollectiveDetail const& send = calls.back();
    EXPECT_EQ(send.op, model::CollectiveOp::kSend);
    EXPECT_EQ(send.bytes, 1'000U);
    EXPECT_EQ(send.peer, 3);
    EXPECT_GE(send.network_wait_ns, static_cast<uint64_t>(kNetworkNs));
    EXPECT_EQ(send.gpu_wait_ns, 0U);

    for (auto const& [name, trace] : read_traces(folder.path()))
      EXPECT_THAT(
          trace.info().facts,
          Contains(Pair("nccl profiler", StartsWith(fmt::format("interface {}, 1 ", version)))));
  }
  TestFolder folder;
};

TEST_F(NcclPlugin, version_1_is_recorded) {
  ASSERT_EQ(in_child([] { return use(find_plugin<PluginV1>("ncclProfiler_v1")); }), 0);
  expect_all_recorded(1);
}
TEST_F(NcclPlugin, version_2_is_recorded) {
  ASSERT_EQ(in_child([] { return use(find_plugin<PluginV2>("ncclProfiler_v2")); }), 0);
  expect_all_recorded(2);
}
TEST_F(NcclPlugin, version_3_is_recorded) {
  ASSERT_EQ(in_child([] { return use(find_plugin<PluginV3>("ncclProfiler_v3")); }), 0);
  expect_all_recorded(3);
}
TEST_F(NcclPlugin, version_4_is_recorded) {
  ASSERT_EQ(in_child([] { return use(find_plugin<PluginV4>("ncclProfiler_v4")); }), 0);
  expect_all_recorded(4);
}
TEST_F(NcclPlugin, version_5_is_recorded) {
  ASSERT_EQ(in_child([] { return use(find_plugin<PluginV5>("ncclProfiler_v5")); }), 0);
  expect_all_recorded(5);
}
TEST_F(NcclPlugin, version_6_is_recorded) {
  ASSERT_EQ(in_child([] { return use(find_plugin<PluginV6>("ncclProfiler_v6")); }), 0);
  expect_all_recorded(6);
}

TEST_F(NcclPlugin, collectives_of_copy_engines_are_recorded) {
  ASSERT_EQ(in_child([] {
              auto const* const plugin = find_plugin<PluginV6>("ncclProfiler_v6");
              void* context = nullptr;
              void* handle = nullptr;
              int mask = 0;
              if (plugin == nullptr || init(*plugin, &context, &mask) != kSuccess) return 10;

              auto event = plain_event<EventV6>(kCopyEngine, nullptr);
              event.copy_engine.sequence = 3;
              event.copy_engine.function = "AllGather";
              event.copy_engine.count = 10;
              event.copy_engine.data_type = "ncclFloat32";
              plugin->start_event(context, &handle, &event);
              plugin->stop_event(handle);
              return handle != nullptr ? 0 : 11;
            }),
            0);

  auto const calls = recorded_calls();
  ASSERT_THAT(calls, SizeIs(1));
  EXPECT_EQ(calls[0].op, model::CollectiveOp::kAllGather);
  EXPECT_EQ(calls[0].bytes, 160U);
  EXPECT_EQ(calls[0].communicator, kHash);
}

TEST_F(NcclPlugin, a_newer_nccl_finds_no_newer_interface_and_takes_this_one) {
  EXPECT_EQ(find_plugin<PluginV6>("ncclProfiler_v7"), nullptr);
  EXPECT_NE(find_plugin<PluginV6>("ncclProfiler_v6"), nullptr);
}

TEST_F(NcclPlugin, asks_for_nothing_when_nothing_is_recorded) {
  auto const is_off = [] {
    auto const* const plugin = find_plugin<PluginV5>("ncclProfiler_v5");
    void* context = nullptr;
    int mask = 0;
    return init(*plugin, &context, &mask) == kSuccess && context == nullptr && mask == 0 ? 0 : 1;
  };
  EXPECT_EQ(in_child(is_off, {{"STEPSCOPE_OUTPUT", ""}}), 0);
  EXPECT_EQ(in_child(is_off, {{"STEPSCOPE_NCCL", "off"}}), 0);
}

TEST_F(NcclPlugin, asks_for_no_network_events_where_the_user_wants_none) {
  EXPECT_EQ(in_child(
                [] {
                  void* context = nullptr;
                  int mask = 0;
                  init(*find_plugin<PluginV4>("ncclProfiler_v4"), &context, &mask);
                  return mask == (kGroup | kCollective | kPointToPoint) ? 0 : 1;
                },
                {{"STEPSCOPE_NCCL", "calls"}}),
            0);
}

TEST_F(NcclPlugin, bears_null_arguments_and_calls_after_its_end) {
  EXPECT_EQ(in_child([] {
              auto const* const plugin = find_plugin<PluginV5>("ncclProfiler_v5");
              auto const event = all_reduce<EventV5>(nullptr, nullptr, 0);
              void* handle = nullptr;
              int mask = 0;

              plugin->init(nullptr, 0, &mask, nullptr, 0, 0, 0, nullptr);
              plugin->init(&handle, 0, nullptr, nullptr, 0, 0, 0, nullptr);
              plugin->start_event(nullptr, nullptr, nullptr);
              plugin->start_event(nullptr, &handle, nullptr);
              plugin->stop_event(nullptr);
              plugin->record_state(nullptr, kSendWait, nullptr);
              plugin->finalize(nullptr);

              plugin->start_event(nullptr, &handle, &event);  // before any init
              void* context = nullptr;
              plugin->init(&context, kHash, &mask, nullptr, 1, 4, 2, nullptr);
              plugin->start_event(context, &handle, &event);
              plugin->finalize(context);

              plugin->stop_event(handle);
              plugin->stop_event(handle);
              plugin->record_state(handle, 99, nullptr);
              plugin->finalize(context);
              return 0;
            }),
            0);
  EXPECT_THAT(recorded_calls(), SizeIs(1)) << "what was begun before the end";
}

TEST_F(NcclPlugin, a_communicator_of_a_parent_goes_on_in_its_fork) {
  EXPECT_EQ(in_child([] {
              auto const* const plugin = find_plugin<PluginV5>("ncclProfiler_v5");
              void* context = nullptr;
              int mask = 0;
              init(*plugin, &context, &mask);
              pid_t const fork = ::fork();
              if (fork != 0) return wait_for(fork);

              void* handle = nullptr;
              auto const event = all_reduce<EventV5>(nullptr, nullptr, 7);
              plugin->start_event(context, &handle, &event);  // no session here yet: not recorded

              void* other = nullptr;
              init(*plugin, &other, &mask);
              plugin->start_event(context, &handle, &event);
              plugin->stop_event(handle);
              return handle != nullptr ? 0 : 1;
            }),
            0);

  size_t calls = 0;
  for (auto const& [name, trace] : read_traces(folder.path()))
    for (uint32_t row = 0; row < trace.event_count(); ++row) {
      if (trace.kind(row) != model::EventKind::kCollectiveCall) continue;
      ++calls;
      EXPECT_EQ(trace.detail<model::CollectiveDetail>(row).communicator, kHash);
    }
  EXPECT_EQ(calls, 1U);
}

}  // namespace
}  // namespace stepscope::tracer::nccl
