// CUPTI with several subscribers: from CUDA 13.3 on the source is one of them, and below it takes
// CUPTI alone.
#include <cstdlib>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tracer/cupti/cupti_source_fixture.h"

namespace stepscope::tracer {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

constexpr int kThreadIdType = static_cast<int>(SubscriberAttribute::kThreadIdType);
constexpr int kGraphsAsOne = static_cast<int>(SubscriberAttribute::kGraphsAsOne);

class SharedCupti : public CuptiSourceTest {
 protected:
  SharedCupti() {
    version = cupti::k13v3Update1;
    fake.shares = true;
    fake.clock_offset_ns = 3'600'000'000'000;  // an hour
  }

  /// One launch and its kernel, in CUPTI's own clock.
  [[nodiscard]] RecordBuffer launch_now(uint32_t correlation) const {
    auto const now = static_cast<uint64_t>(monotonic_ns() + fake.clock_offset_ns);
    auto call = runtime_call(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, {0, 0}, correlation);
    auto record = kernel("k", {0, 0}, correlation);
    call.start = call.end = record.start = record.end = now;
    return RecordBuffer().add(call).add(record);
  }
  [[nodiscard]] std::string fact(std::string const& name) const {
    for (auto const& [key, text] : store.info.facts)
      if (key == name) return text;
    return {};
  }
  void expect_taken_alone() {
    EXPECT_EQ(fake.count("Subscribe"), 1U);
    EXPECT_TRUE(fake.has_subscriber());
    EXPECT_EQ(fake.count("ActivityRegisterCallbacks"), 1U);
    EXPECT_EQ(fake.count("ActivityRegisterCallbacks_v2"), 0U);
  }

  ClockFit own_clock{ClockSample{monotonic_ns(), monotonic_ns()}};
};

TEST_F(SharedCupti, IsOneSubscriberOfSeveralWithItsOwnClock) {
  clock = own_clock;
  source->driver_starts();
  drain();
  ASSERT_TRUE(fake.play(launch_now(1)));
  finish();

  EXPECT_THAT(names(), testing::UnorderedElementsAre("cudaLaunchKernel", "k"));
  EXPECT_EQ(fake.count("Subscribe_v2"), 1U);
  EXPECT_EQ(fact("cuda subscribers"), "other tools may record beside this one");
  EXPECT_EQ(fact("cuda clock"), "CUPTI's own, converted");

  // Beside those of a subscriber CUPTI refuses every classic function.
  for (char const* const call :
       {"Subscribe", "SetThreadIdType", "ActivityRegisterTimestampCallback", "ActivitySetAttribute",
        "ActivityRegisterCallbacks", "ActivityEnableAllSyncRecords",
        "ActivityGetNumDroppedRecords"})
    EXPECT_EQ(fake.count(call), 0U) << call;
  for (std::string const& call : fake.calls())
    EXPECT_FALSE(call.starts_with("ActivityEnable ") || call.starts_with("ActivityDisable "))
        << call;
}

TEST_F(SharedCupti, NamesTheToolThatItRecordsBeside) {
  fake.other_tool = "CUPTI for PyTorch";
  source->driver_starts();
  finish();
  EXPECT_EQ(fact("cuda subscribers"), "recorded beside \"CUPTI for PyTorch\"");
}

TEST_F(SharedCupti, IsTakenAloneBelowCuda13v3) {
  version = cupti::k13v2;
  source->driver_starts();
  expect_taken_alone();
  EXPECT_EQ(fake.count("Subscribe_v2"), 0U);
}

TEST_F(SharedCupti, IsTakenAloneWhereAFunctionIsMissing) {
  fake.shares = false;
  source->driver_starts();
  expect_taken_alone();
}

TEST_F(SharedCupti, IsTakenAloneOnRequest) {
  ::setenv(kSharedVariable, "0", 1);
  source->driver_starts();
  expect_taken_alone();
  EXPECT_EQ(fake.count("Subscribe_v2"), 0U);
}

TEST_F(SharedCupti, IsTakenAloneWhereTheDriverAllowsNoOtherSubscriber) {
  fake.answers["Subscribe_v2"] = CUPTI_ERROR_NOT_SUPPORTED;
  source->driver_starts();
  expect_taken_alone();
  drain();
  EXPECT_THAT(fact("cuda subscribers"), HasSubstr("taken alone: cuptiSubscribe_v2 failed"));
}

TEST_F(SharedCupti, IsTakenAloneWhereASubscriberCannotChooseItsThreadIds) {
  fake.answers[fmt::format("ActivitySetAttribute_v2 {}", kThreadIdType)] =
      CUPTI_ERROR_INVALID_PARAMETER;
  source->driver_starts();
  EXPECT_LT(fake.position("Unsubscribe"), fake.position("Subscribe"));
  expect_taken_alone();
  EXPECT_EQ(fake.thread_id_type(), CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
}

TEST_F(SharedCupti, IsTakenAloneWhereTheAttributeOfThreadIdsIsAnotherOne) {
  fake.inside = [this](std::string const& call) {
    if (call == fmt::format("ActivityGetAttribute_v2 {}", kThreadIdType)) fake.forget_attributes();
  };
  source->driver_starts();
  expect_taken_alone();
}

TEST_F(SharedCupti, IsTakenAloneWhereThreadIdsAreNotOfTheDefaultType) {
  fake.inside = [this](std::string const& call) {
    if (call == "Subscribe_v2") fake.set_attribute(kThreadIdType, 1);
  };
  source->driver_starts();
  expect_taken_alone();
}

TEST_F(SharedCupti, IsTakenAloneWithAnOlderDriver) {
  driver_version = 13'020;
  source->driver_starts();
  EXPECT_EQ(fake.count("Subscribe_v2"), 0U);
  expect_taken_alone();
}

TEST_F(SharedCupti, IsTakenAloneWhereKindsAreRefused) {
  fake.answers[fmt::format("ActivityEnable_v2 {}",
                           static_cast<int>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL))] =
      CUPTI_ERROR_NOT_SUPPORTED;
  source->driver_starts();
  EXPECT_EQ(fake.count("Subscribe_v2"), 1U);
  EXPECT_EQ(fake.count("Unsubscribe"), 1U);
  EXPECT_EQ(fake.count("Subscribe"), 1U);

  drain();
  auto record = kernel("k", {0, 0}, 1);
  record.start = record.end = static_cast<uint64_t>(monotonic_ns());
  ASSERT_TRUE(fake.play(RecordBuffer().add(record)));
  finish();
  EXPECT_THAT(names(), testing::ElementsAre("k"));
  EXPECT_EQ(source->problem(), "");
  EXPECT_THAT(fact("cuda subscribers"), HasSubstr("CUPTI is taken alone"));
}

TEST_F(SharedCupti, SaysWhichToolHoldsCuptiWhereBothWaysAreRefused) {
  fake.other_tool = "CUPTI for Kineto";
  fake.answers["Subscribe_v2"] = fake.answers["Subscribe"] =
      CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  fake.answers["Subscribe_v2 exclusively"] = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  source->driver_starts();
  finish();

  EXPECT_FALSE(fake.has_subscriber());
  EXPECT_THAT(source->problem(), HasSubstr("because of \"CUPTI for Kineto\""));
  EXPECT_THAT(source->problem(), HasSubstr("record side by side from CUDA 13.3"));
}

TEST_F(SharedCupti, SaysWhichToolHoldsCuptiBelowCuda13v3) {
  version = cupti::k13v0;
  fake.other_tool = "Nsight Systems";
  fake.answers["Subscribe"] = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  fake.answers["Subscribe_v2 exclusively"] = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  source->driver_starts();
  EXPECT_EQ(fake.count("Subscribe_v2 exclusively"), 1U);
  EXPECT_THAT(source->problem(), HasSubstr("because of \"Nsight Systems\""));
}

TEST_F(SharedCupti, LeavesOtherToolsTheirCupti) {
  ask_to_finalize();
  clock = own_clock;
  source->driver_starts();
  drain();
  ASSERT_TRUE(fake.request());
  fake.inside = [this](std::string const& call) {
    if (call == "ActivityFlushAll forced") fake.complete(launch_now(1));
  };
  finish();
  fake.inside = {};
  fake.program_calls(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);

  EXPECT_EQ(names().size(), 2U);  // read before the subscription ended
  EXPECT_EQ(fake.count("Unsubscribe"), 1U);
  EXPECT_EQ(fake.count("Finalize"), 0U);
  EXPECT_THAT(fake.enabled(), IsEmpty());
  EXPECT_EQ(fake.enabled_functions(), 0U);
  EXPECT_THAT(fact("cuda end"), HasSubstr("other tools may still record"));
}

TEST_F(SharedCupti, ChoosesFunctionsForItselfAlone) {
  source->driver_starts();
  EXPECT_TRUE(fake.driver_function_enabled(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel));
  EXPECT_FALSE(fake.driver_function_enabled(CUPTI_DRIVER_TRACE_CBID_cuCtxGetCurrent));
  EXPECT_FALSE(fake.runtime_function_enabled(CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020));
}

TEST_F(SharedCupti, SaysThatAnotherToolHidesTheKernelsOfGraphs) {
  fake.inside = [this](std::string const& call) {
    if (call == "Subscribe_v2") fake.set_attribute(kGraphsAsOne, 1);
  };
  source->driver_starts();
  drain();
  EXPECT_THAT(fact("cuda graphs"), HasSubstr("kernels of CUDA graphs are not in the trace"));
}

TEST_F(SharedCupti, AsksForHardwareEventsBeforeAnyKindIsEnabled) {
  version = cupti::k13v4Update1;
  HardwareEventsVariable const wanted("1");
  source->driver_starts();
  std::string const asked = fmt::format("ActivitySetAttribute_v2 {}",
                                        static_cast<int>(SubscriberAttribute::kHardwareEvents));
  EXPECT_LT(fake.position(asked),
            fake.position(
                fmt::format("ActivityEnable_v2 {}", static_cast<int>(CUPTI_ACTIVITY_KIND_DEVICE))));
  EXPECT_EQ(fake.count("ActivityEnableHWTrace"), 0U);
}

TEST_F(SharedCupti, AsksForNoHardwareEventsOfItsOwnAccord) {
  version = cupti::k13v4Update1;
  source->driver_starts();
  EXPECT_EQ(fake.count(fmt::format("ActivitySetAttribute_v2 {}",
                                   static_cast<int>(SubscriberAttribute::kHardwareEvents))),
            0U);
}

TEST_F(SharedCupti, CountsWhatCuptiDroppedForThisSubscriber) {
  source->driver_starts();
  fake.dropped = 7;
  finish();
  EXPECT_EQ(source->dropped(), 7U);
}

/// Captures one after the other in one process: with either way of control the second finds CUPTI
/// as the first one did.
class RepeatedCaptures : public testing::TestWithParam<uint32_t> {};

INSTANTIATE_TEST_SUITE_P(Cupti, RepeatedCaptures,
                         testing::Values(cupti::k12v8, cupti::k13v1, cupti::k13v3Update1),
                         [](auto const& test) { return std::to_string(test.param); });

TEST_P(RepeatedCaptures, RecordWithoutTakingCuptiDown) {
  FakeCupti fake;
  fake.shares = true;
  for (uint32_t capture = 1; capture <= 3; ++capture) {
    CaptureWindow window{WindowOptions{}};
    DeviceRegistry devices;
    TraceStore store;
    int64_t const now = monotonic_ns();
    ClockFit const clock{ClockSample{now, now}};
    CuptiSource source(window, {}, devices, [] {
      return base::Expected<CuptiLibrary>(CuptiLibrary{FakeCupti::api(), "", GetParam()});
    });

    source.driver_starts();
    source.snapshot();
    source.drain(store, clock);
    auto record = kernel("k", {0, 0}, capture);
    record.start = record.end = static_cast<uint64_t>(monotonic_ns());
    ASSERT_TRUE(fake.play(RecordBuffer().add(record)));
    source.finish(store, monotonic_ns());
    source.release();

    EXPECT_EQ(source.problem(), "");
    EXPECT_EQ(store.tracks().size(), 1U) << "capture " << capture;
    EXPECT_FALSE(fake.has_subscriber());
  }
  EXPECT_EQ(fake.count("Finalize"), 0U);
  EXPECT_EQ(fake.count("Unsubscribe"), 3U);
}

}  // namespace
}  // namespace stepscope::tracer
