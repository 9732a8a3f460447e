#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/unit/tracer/cupti/cupti_source_fixture.h"
#include "tracer/core/process/process_info.h"
#include "tracer/cupti/activities.h"

namespace stepscope::tracer {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

TEST_F(CuptiSourceTest, does_nothing_in_a_program_that_does_not_use_cuda) {
  finish();
  EXPECT_THAT(fake.calls(), IsEmpty());
  EXPECT_THAT(store.info.facts, IsEmpty());
  EXPECT_EQ(source->problem(), "");
}

TEST_F(CuptiSourceTest, sets_the_clock_and_the_buffers_before_it_asks_for_anything) {
  source->driver_starts();

  size_t const first_enabled =
      fake.position("ActivityEnable " + std::to_string(kActivities[0].kind));
  for (char const* const call :
       {"Subscribe", "SetThreadIdType", "ActivityRegisterTimestampCallback", "ActivitySetAttribute",
        "ActivityRegisterCallbacks"})
    EXPECT_LT(fake.position(call), first_enabled) << call;
  EXPECT_EQ(fake.position("Subscribe"), 0U);

  for (Activity const& activity : kActivities)
    EXPECT_TRUE(fake.enabled().contains(activity.kind)) << activity.kind;
  EXPECT_FALSE(
      fake.enabled().contains(CUPTI_ACTIVITY_KIND_KERNEL));  // would run one kernel at a time
}

TEST_F(CuptiSourceTest, has_cupti_use_the_clock_of_the_trace) {
  source->driver_starts();
  auto const before = static_cast<uint64_t>(monotonic_ns());
  uint64_t const now = fake.timestamp();
  EXPECT_GE(now, before);
  EXPECT_LE(now, static_cast<uint64_t>(monotonic_ns()));
}

TEST_F(CuptiSourceTest, asks_for_the_functions_that_say_something) {
  source->driver_starts();
  EXPECT_TRUE(fake.runtime_function_enabled(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000));
  EXPECT_FALSE(fake.runtime_function_enabled(CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020));
  EXPECT_TRUE(fake.driver_function_enabled(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
  EXPECT_FALSE(fake.driver_function_enabled(CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent));
}

TEST_F(CuptiSourceTest, records_what_cupti_completes_and_uses_its_buffers_again) {
  source->driver_starts();
  constexpr uint32_t kPlays = 20, kLaunches = 5;
  for (uint32_t play = 0; play < kPlays; ++play) {
    ASSERT_TRUE(fake.play(launches(1 + play * kLaunches, kLaunches)));
    drain();
  }
  finish();

  auto const all = names();
  EXPECT_EQ(std::count(all.begin(), all.end(), "k"), kPlays * kLaunches);
  EXPECT_EQ(std::count(all.begin(), all.end(), "cudaLaunchKernel"), kPlays * kLaunches);
  EXPECT_EQ(fake.requested_bytes(), kBufferBytes);
  EXPECT_EQ(source->dropped(), 0U);
  EXPECT_EQ(source->problem(), "");
}

TEST_F(CuptiSourceTest, refuses_buffers_beyond_its_memory_and_counts_what_cupti_dropped_then) {
  source->driver_starts();
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(fake.request());
  EXPECT_FALSE(fake.request());
  fake.dropped = 123;
  finish();
  EXPECT_EQ(source->dropped(), 123U);
  EXPECT_THAT(std::string(source->buffer_setting()), HasSubstr("--cuda-buffer-mb"));
}

TEST_F(CuptiSourceTest, knows_of_lost_records_that_cupti_does_not_tell_of) {
  source->driver_starts();
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(fake.request());
  for (int i = 0; i < 7; ++i) EXPECT_FALSE(fake.request());
  EXPECT_EQ(source->dropped(), 7U);
}

TEST_F(CuptiSourceTest, asks_each_round_what_cupti_dropped) {
  source->driver_starts();
  fake.dropped = 5;
  drain();
  EXPECT_EQ(source->dropped(), 5U);
}

TEST_F(CuptiSourceTest, never_refuses_a_buffer_to_a_cupti_that_would_crash) {
  version = cupti::k12v8;
  fake.crashes_without_buffer = true;
  source->driver_starts();
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(fake.request());

  RecordBuffer const records = launches(1, 3);
  ASSERT_TRUE(fake.request());
  ASSERT_TRUE(fake.complete_last(records));  // into an overflow buffer

  finish();
  EXPECT_TRUE(fake.request());  // by a call that was under way
  EXPECT_EQ(source->dropped(), 6U);
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(CuptiSourceTest, fetches_buffers_that_are_not_full) {
  source->driver_starts();
  drain();
  EXPECT_EQ(fake.count("ActivityFlushAll"), 1U);
  drain();  // at once: not again
  EXPECT_EQ(fake.count("ActivityFlushAll"), 1U);
}

TEST_F(CuptiSourceTest, gets_what_is_completed_only_when_the_capture_ends) {
  source->driver_starts();
  ASSERT_TRUE(fake.request());
  drain();
  fake.complete(launches(1, 3));
  finish();
  EXPECT_EQ(names().size(), 6U);
  EXPECT_EQ(fake.count("ActivityFlushAll forced"), 1U);
  EXPECT_THAT(fake.enabled(), IsEmpty());
}

TEST_F(CuptiSourceTest, fetches_what_there_is_before_a_device_is_reset) {
  source->driver_starts();
  fake.program_calls(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
  EXPECT_EQ(fake.count("ActivityFlushAll"), 0U);
  fake.program_calls(CUPTI_RUNTIME_TRACE_CBID_cudaDeviceReset_v3020);
  EXPECT_EQ(fake.count("ActivityFlushAll"), 1U);
}

TEST_F(CuptiSourceTest, says_which_error_it_got_when_another_tool_holds_cupti) {
  fake.answers["Subscribe"] = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  source->driver_starts();
  finish();
  EXPECT_THAT(fake.calls(), ElementsAre("Subscribe"));
  EXPECT_THAT(source->problem(), AllOf(HasSubstr("CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"),
                                       HasSubstr("another profiler")));
  EXPECT_THAT(store.info.facts,
              Contains(Pair("cuda tracing", HasSubstr("off: cuptiSubscribe failed"))));
}

TEST_F(CuptiSourceTest, names_the_drivers_setting_when_it_may_not_profile) {
  fake.answers["ActivityEnable"] = CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  source->driver_starts();
  EXPECT_EQ(fake.count("Unsubscribe"), 1U);
  finish();
  EXPECT_THAT(source->problem(), HasSubstr("NVreg_RestrictProfilingToAdminUsers"));
}

TEST_F(CuptiSourceTest, goes_on_without_records_that_are_not_essential) {
  fake.answers["ActivityEnable " + std::to_string(CUPTI_ACTIVITY_KIND_MEMORY_POOL)] =
      CUPTI_ERROR_NOT_COMPATIBLE;
  source->driver_starts();
  ASSERT_TRUE(fake.play(launches(1, 1)));
  finish();
  EXPECT_EQ(names().size(), 2U);
  EXPECT_THAT(store.info.facts,
              Contains(Pair("cuda tracing", HasSubstr("without records of kind 50"))));
}

TEST_F(CuptiSourceTest, tells_once_which_call_did_not_work) {
  fake.answers["ActivityFlushAll"] = CUPTI_ERROR_UNKNOWN;
  source->driver_starts();
  next_round();
  next_round();
  finish();

  EXPECT_EQ(std::count_if(store.info.facts.begin(), store.info.facts.end(),
                          [](auto const& fact) {
                            return fact.second.find("cuptiActivityFlushAll") != std::string::npos;
                          }),
            1);
}

TEST_F(CuptiSourceTest, leaves_a_cupti_alone_that_has_ended_itself) {
  source->driver_starts();
  ASSERT_TRUE(fake.play(launches(1, 1)));
  next_round();

  fake.tell_state(CUPTI_CBID_STATE_WARNING, "low on memory");
  EXPECT_FALSE(source->idle());
  fake.tell_state(CUPTI_CBID_STATE_FATAL_ERROR, "no memory");
  EXPECT_TRUE(source->idle());

  size_t const calls = fake.calls().size();
  finish();
  fake.program_calls(CUPTI_RUNTIME_TRACE_CBID_cudaDeviceReset_v3020);
  EXPECT_EQ(fake.calls().size(), calls);
  EXPECT_EQ(names().size(), 2U);
  EXPECT_THAT(source->problem(), HasSubstr("no memory"));
  EXPECT_THAT(store.info.facts, Contains(Pair("cuda tracing", HasSubstr("low on memory"))));
}

TEST_F(CuptiSourceTest, survives_every_refusal_of_a_call_that_it_needs) {
  for (char const* const call :
       {"Subscribe", "SetThreadIdType", "ActivityRegisterTimestampCallback",
        "ActivityRegisterCallbacks"}) {
    CaptureWindow all{std::nullopt};
    FakeCupti* const same = &fake;
    same->answers = {{call, CUPTI_ERROR_UNKNOWN}};
    CuptiSource refused(all, {}, devices, [] {
      return base::Expected<CuptiLibrary>(CuptiLibrary{FakeCupti::api(), "", cupti::k13v1});
    });

    refused.driver_starts();
    refused.snapshot();
    refused.drain(store, clock);
    refused.finish(store, 0);
    refused.release();

    EXPECT_THAT(refused.problem(), HasSubstr(call));
    EXPECT_THAT(fake.enabled(), IsEmpty()) << call;
  }
}

TEST_F(CuptiSourceTest,
       does_not_ask_a_cupti_for_hardware_events_whose_faults_would_harm_the_program) {
  version = cupti::k13v4Update1 - 1;
  source->driver_starts();
  fake.driver_is_initialized();
  EXPECT_EQ(fake.count("ActivityEnableHWTrace"), 0U);
}

TEST_F(CuptiSourceTest, asks_for_hardware_events_from_the_version_on_that_mends_them) {
  version = cupti::k13v4Update1;
  source->driver_starts();
  fake.driver_is_initialized();
  EXPECT_EQ(fake.count("ActivityEnableHWTrace"), 1U);
}

TEST_F(CuptiSourceTest, asks_for_no_hardware_events_where_they_are_refused) {
  HardwareEventsVariable const variable("0");
  version = cupti::k13v4Update1;
  source->driver_starts();
  fake.driver_is_initialized();
  EXPECT_EQ(fake.count("ActivityEnableHWTrace"), 0U);
}

TEST_F(CuptiSourceTest, asks_for_hardware_events_once_the_driver_is_there) {
  HardwareEventsVariable const variable("1");
  source->driver_starts();
  EXPECT_EQ(fake.count("ActivityEnableHWTrace"), 0U);
  fake.driver_is_initialized();
  EXPECT_EQ(fake.count("ActivityEnableHWTrace"), 1U);
  finish();
  EXPECT_THAT(store.info.facts, Contains(Pair("cuda timestamps", HasSubstr("asked for"))));
}

TEST_F(CuptiSourceTest, says_why_there_are_no_hardware_events) {
  HardwareEventsVariable const variable("1");
  fake.answers["ActivityEnableHWTrace"] = CUPTI_ERROR_NOT_SUPPORTED;
  source->driver_starts();
  fake.driver_is_initialized();
  finish();
  EXPECT_THAT(store.info.facts,
              Contains(Pair("cuda timestamps", HasSubstr("cuptiActivityEnableHWTrace failed"))));
}

TEST_F(CuptiSourceTest, converts_the_clock_of_a_cupti_that_must_not_use_ours) {
  version = cupti::k13v0;
  constexpr int64_t kAhead = 1'700'000'000'000'000'000;
  fake.clock_offset_ns = kAhead;
  source->driver_starts();
  EXPECT_EQ(fake.count("ActivityRegisterTimestampCallback"), 0U);

  int64_t const start = monotonic_ns();
  auto record = kernel("k", {0, 0}, 1);
  record.start = static_cast<uint64_t>(start + kAhead);
  record.end = record.start + 5'000;

  drain();
  ASSERT_TRUE(fake.play(RecordBuffer().add(record)));
  finish();

  auto const rows = store.rows(model::TrackId{0}).take();
  ASSERT_EQ(rows.size(), 1U);
  constexpr double kClocksAreRead = 100'000;  // one after the other, beside other programs
  EXPECT_NEAR(static_cast<double>(rows.start[0]),
              static_cast<double>(start - static_cast<int64_t>(kOrigin)), kClocksAreRead);
  EXPECT_THAT(store.info.facts, Contains(Pair("cuda clock", HasSubstr("converted"))));
}

TEST_F(CuptiSourceTest, waits_for_a_clock_that_cannot_be_read_yet) {
  version = cupti::k13v0;
  constexpr int64_t kAhead = 1'700'000'000'000'000'000;
  fake.clock_offset_ns = kAhead;
  fake.answers["GetTimestamp"] = CUPTI_ERROR_NOT_INITIALIZED;
  source->driver_starts();

  auto record = kernel("k", {0, 0}, 1);
  int64_t const start = monotonic_ns();
  record.start = record.end = static_cast<uint64_t>(start + kAhead);
  ASSERT_TRUE(fake.play(RecordBuffer().add(record)));
  drain();
  EXPECT_TRUE(store.tracks().empty());

  fake.answers.clear();
  drain();
  auto const rows = store.rows(model::TrackId{0}).take();
  ASSERT_EQ(rows.size(), 1U);
  constexpr double kClocksAreRead = 100'000;  // one after the other, beside other programs
  EXPECT_NEAR(static_cast<double>(rows.start[0]),
              static_cast<double>(start - static_cast<int64_t>(kOrigin)), kClocksAreRead);
}

TEST_F(CuptiSourceTest, does_not_decide_what_the_clock_is_while_cupti_begins) {
  version = cupti::k13v0;
  constexpr int64_t kAhead = 1'700'000'000'000'000'000;
  fake.clock_offset_ns = kAhead;
  fake.answers["GetTimestamp"] = CUPTI_ERROR_NOT_INITIALIZED;
  // A round of the writer, while the program's thread is in CUPTI's first calls.
  fake.inside = [this](std::string const& call) {
    if (call.starts_with("ActivityEnable")) source->drain(store, clock);
  };
  source->driver_starts();
  fake.inside = nullptr;
  fake.answers.clear();

  auto record = kernel("k", {0, 0}, 1);
  record.start = record.end = static_cast<uint64_t>(monotonic_ns() + kAhead);
  ASSERT_TRUE(fake.play(RecordBuffer().add(record)));
  finish();
  EXPECT_THAT(names(), ElementsAre("k"));
  EXPECT_THAT(store.info.facts, Not(Contains(Pair("cuda clock", HasSubstr("CLOCK_REALTIME")))));
}

TEST_F(CuptiSourceTest, takes_a_clock_that_is_never_told_for_real_time) {
  version = cupti::k13v0;
  fake.answers["GetTimestamp"] = CUPTI_ERROR_UNKNOWN;
  source->driver_starts();

  auto record = kernel("k", {0, 0}, 1);
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  record.start = record.end =
      static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);

  ASSERT_TRUE(fake.play(RecordBuffer().add(record)));
  finish();
  EXPECT_THAT(names(), ElementsAre("k"));
  EXPECT_THAT(store.info.facts, Contains(Pair("cuda clock", HasSubstr("CLOCK_REALTIME"))));
  EXPECT_EQ(source->problem(), "");
}

TEST_F(CuptiSourceTest, asks_for_buffers_by_thread_where_they_are_safe_and_not_the_default) {
  version = cupti::k12v8;
  source->driver_starts();
  EXPECT_TRUE(fake.attributes().contains(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER));
  EXPECT_LT(fake.position("ActivitySetAttribute"), fake.position("ActivityRegisterCallbacks"));
}

TEST_F(CuptiSourceTest, does_not_flush_from_two_threads_at_once) {
  source->driver_starts();
  std::atomic<int> inside{0}, most{0};
  std::atomic<bool> entered{false}, go_on{false};
  fake.inside = [&](std::string const& call) {
    if (!call.starts_with("ActivityFlushAll")) return;
    most = std::max(most.load(), ++inside);
    entered = true;
    while (!go_on) std::this_thread::yield();
    --inside;
  };

  std::thread program(
      [this] { fake.program_calls(CUPTI_RUNTIME_TRACE_CBID_cudaDeviceReset_v3020); });
  while (!entered) std::this_thread::yield();
  drain();  // leaves it to the other
  go_on = true;
  program.join();

  EXPECT_EQ(most, 1);
  EXPECT_EQ(fake.count("ActivityFlushAll"), 1U);
}

TEST_F(CuptiSourceTest, says_why_there_is_no_cupti) {
  load_error = "CUPTI was not found (tried everything), install it";
  source->driver_starts();
  finish();
  EXPECT_EQ(source->problem(), "CUDA calls and kernels were not recorded: " + load_error);
}

TEST_F(CuptiSourceTest, says_how_many_ops_were_still_running) {
  source->driver_starts();
  auto running = kernel("running", {0, 0}, 1);
  running.start = running.end = 0;
  ASSERT_TRUE(fake.play(RecordBuffer().add(running)));
  finish();
  EXPECT_THAT(source->problem(), HasSubstr("1 kernels and copies have no possible times"));
  EXPECT_EQ(source->dropped(), 0U);
}

TEST_F(CuptiSourceTest, tells_of_a_device_whose_context_was_there_before_it) {
  source->driver_starts();
  auto used = device_record("H100", 0);
  used.uuid.bytes[0] = 0x12;
  ASSERT_TRUE(fake.play(
      RecordBuffer().add(used).add(device_record("H100", 1)).add(kernel("k", {100, 200}, 1))));
  drain();
  ASSERT_EQ(devices.used().size(), 1U);
  EXPECT_EQ(devices.used()[0].number, 0);
}

TEST_F(CuptiSourceTest, tells_which_devices_the_program_uses) {
  source->driver_starts();
  EXPECT_TRUE(devices.is_expected());

  auto instance = device_record("H100 MIG 1g.10gb", 2);
  instance.isMigEnabled = 1;
  instance.migUuid.bytes[0] = 0x56;
  auto used = device_record("H100", 1);
  used.uuid.bytes[0] = 0x12;
  used.uuid.bytes[15] = 0x34;

  ASSERT_TRUE(fake.play(RecordBuffer()
                            .add(device_record("H100", 0))
                            .add(used)
                            .add(instance)
                            .add(context_record(5, 1))
                            .add(context_record(6, 2))));
  drain();

  ASSERT_EQ(devices.used().size(), 2U);
  EXPECT_EQ(devices.used()[1].uuid, "MIG-56000000-0000-0000-0000-000000000000");
  EXPECT_EQ(devices.used()[0].number, 1);
  EXPECT_EQ(devices.used()[0].uuid, "GPU-12000000-0000-0000-0000-000000000034");
}

TEST_F(CuptiSourceTest, tells_of_no_devices_when_it_records_nothing) {
  load_error = "no CUPTI";
  source->driver_starts();
  EXPECT_FALSE(devices.is_expected());
}

TEST_F(CuptiSourceTest, names_threads_as_the_system_does) {
  source->driver_starts();
  auto const self = static_cast<uint32_t>(::gettid());
  ASSERT_TRUE(fake.play(RecordBuffer().add(
      runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaEventRecord_v3020, {0, 1}, 1, self))));
  finish();
  ASSERT_EQ(store.tracks().size(), 1U);
  EXPECT_EQ(store.tracks()[0].name, thread_name(self));
  EXPECT_NE(store.tracks()[0].name, fmt::format("thread {}", self));
}

TEST_F(CuptiSourceOfSteps, keeps_only_devices_and_memory_before_the_first_of_them) {
  source->driver_starts();
  EXPECT_THAT(fake.enabled(),
              ElementsAre(CUPTI_ACTIVITY_KIND_DEVICE, CUPTI_ACTIVITY_KIND_CONTEXT,
                          CUPTI_ACTIVITY_KIND_MEMORY2, CUPTI_ACTIVITY_KIND_MEMORY_POOL));

  window.thread_begins_annotating();
  window.thread_enters_window();
  EXPECT_EQ(fake.enabled().size(), kActivities.size());
  window.thread_enters_window();
  EXPECT_EQ(fake.count("ActivityEnable " + std::to_string(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)),
            1U);
}

TEST_F(CuptiSourceOfSteps, asks_for_everything_at_once_when_the_driver_starts_inside_of_them) {
  window.thread_begins_annotating();
  window.thread_enters_window();
  EXPECT_THAT(fake.enabled(), IsEmpty());
  source->driver_starts();
  EXPECT_EQ(fake.enabled().size(), kActivities.size());
}

}  // namespace
}  // namespace stepscope::tracer
