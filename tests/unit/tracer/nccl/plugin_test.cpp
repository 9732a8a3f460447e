// The real library as NCCL uses it: dlopen, dlsym("ncclProfiler_v<N>"), init, events, finalize,
// dlclose; each in a process of its own.
#include <sys/wait.h>

#include "tests/unit/tracer/nccl/plugin_fixture.h"

namespace stepscope::tracer::nccl {
namespace {

using ::testing::SizeIs;

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
