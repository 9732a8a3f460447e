// The checks of a workload's trace. A synthetic trace of one device and two steps passes, and each
// fault fails its own check.
#include "selftest/trace_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "trace/model/build/trace_builder.h"

namespace stepscope::selftest {
namespace {

using model::EventKind;

struct Faults {
  bool without_a_launch = false, without_a_kernel = false;
  int64_t early_ns = 0;
  uint64_t dropped = 0, bytes = 1000;
};

constexpr int64_t kStepNs = 1'000'000;

/// Two steps of 1 ms: a copy in and a kernel each, both launched at the step's begin.
model::Run traced_run(Faults const& faults = {}) {
  model::TraceBuilder builder;
  builder.log().dropped = faults.dropped;
  builder.info().facts = {{"cpu", "a processor"}, {"cuda clock", "CLOCK_MONOTONIC"}};
  builder.add_device({.id = 0, .name = "device"});
  auto const thread = builder.add_track({.kind = model::TrackKind::kThread, .name = "train"});
  auto const stream = builder.add_track({.kind = model::TrackKind::kStream, .id = 0, .device = 0});

  auto const step_name = builder.intern("step");
  auto const copy_name = builder.intern("h2d");
  auto const kernel_name = builder.intern("conv.forward");

  for (int64_t step = 0; step < 2; ++step) {
    int64_t const begin = (step + 1) * 2 * kStepNs;
    auto const id = static_cast<uint64_t>(step) * 2 + 1;
    builder.events(thread).add(EventKind::kStep, begin, kStepNs, step_name, 0,
                               model::StepDetail{step});
    builder.events(thread).add(EventKind::kLaunch, begin, 100, copy_name, id);
    if (!(faults.without_a_launch && step == 1))
      builder.events(thread).add(EventKind::kLaunch, begin + 200, 100, kernel_name, id + 1);
    builder.events(stream).add(
        EventKind::kMemcpy, begin + (faults.early_ns > 0 ? -faults.early_ns : 150), 1000, copy_name,
        id,
        model::CopyDetail{.bytes = faults.bytes, .direction = model::CopyDirection::kHostToDevice});
    if (!(faults.without_a_kernel && step == 1))
      builder.events(stream).add(EventKind::kKernel, begin + 2000, kStepNs - 2000, kernel_name,
                                 id + 1, model::KernelDetail{});
  }

  model::Run run;
  run.ranks.push_back({std::move(builder).finish()});
  return run;
}

nlohmann::json summary(int64_t step_ns = kStepNs) {
  return {{"device", "host"},
          {"steps", 2},
          {"devices", {{{"device", 0}, {"step_ns", {step_ns, step_ns}}}}},
          {"launches", 4},
          {"kernels", 2},
          {"copies", 2},
          {"collectives", 0},
          {"all_reduces", 0},
          {"all_reduce_bytes", 0},
          {"host_to_device_bytes", 2000},
          {"device_to_host_bytes", 0}};
}

/// Names of the checks that fail.
std::vector<std::string> failures(model::Run const& run, nlohmann::json const& printed) {
  std::vector<std::string> names;
  for (Check const& check : check_trace(run, printed))
    if (check.verdict == Verdict::kFailure) names.push_back(check.name);
  return names;
}

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(TraceChecks, ACompleteTracePassesEveryCheck) {
  EXPECT_THAT(failures(traced_run(), summary()), IsEmpty());
  EXPECT_EQ(check_trace(traced_run(), summary()).size(), 5U);
}

TEST(TraceChecks, AMissingLaunchFailsLaunchesAndCorrelation) {
  EXPECT_THAT(failures(traced_run({.without_a_launch = true}), summary()),
              ::testing::IsSupersetOf({"launches", "correlation"}));
}

TEST(TraceChecks, AGpusLibrariesMayLaunchMoreThanOneKernelForAnOpButNotLess) {
  nlohmann::json printed = summary();
  printed["launches"] = 3;
  EXPECT_THAT(failures(traced_run(), printed), ElementsAre("launches")) << "a host device does one";
  printed["device"] = "cuda";
  EXPECT_THAT(failures(traced_run(), printed), IsEmpty());
  printed["launches"] = 5;
  EXPECT_THAT(failures(traced_run(), printed), ElementsAre("launches"));
}

TEST(TraceChecks, AMissingKernelFailsTheOpsOfTheNetworkToo) {
  EXPECT_THAT(failures(traced_run({.without_a_kernel = true}), summary()),
              ::testing::IsSupersetOf({"launches", "correlation", "ops of the network"}));
}

TEST(TraceChecks, AnOpBeforeItsLaunchFailsOnTheHostWhichHasOneClock) {
  model::Run const run = traced_run({.early_ns = 50});
  EXPECT_THAT(failures(run, summary()), ::testing::Contains("correlation"));
  EXPECT_THAT(faults_of(run, 0),
              HasSubstr("2 device ops that begin before their launch, by up to 50 ns"));
}

TEST(TraceChecks, AGpusClockThatIsALittleEarlyIsAWarningWithItsNumbers) {
  Check const check =
      judge("probe work", traced_run({.early_ns = 9'000}), "", "2 kernels", kGpuClockToleranceNs);

  EXPECT_EQ(check.verdict, Verdict::kWarning);
  EXPECT_EQ(check.found, "2 kernels; device clock up to 9.00 µs early (2 ops)");
  EXPECT_THAT(check.numbers, ElementsAre(::testing::Pair("device_clock_early_ns", 9'000),
                                         ::testing::Pair("ops_before_launch", 2)));

  EXPECT_EQ(judge("probe work", traced_run({.early_ns = kGpuClockToleranceNs}), "", "",
                  kGpuClockToleranceNs)
                .verdict,
            Verdict::kWarning);
  EXPECT_EQ(judge("probe work", traced_run({.early_ns = kGpuClockToleranceNs + 1}), "", "",
                  kGpuClockToleranceNs)
                .verdict,
            Verdict::kFailure);
}

TEST(TraceChecks, AFailureHasWhatTheCaptureSaysOfCuda) {
  Check const check =
      judge("probe work", traced_run({.dropped = 3}), "kernels: 1 instead of 2", "", 0);
  EXPECT_EQ(check.verdict, Verdict::kFailure);
  EXPECT_EQ(check.found, "kernels: 1 instead of 2, 3 events dropped [cuda clock: CLOCK_MONOTONIC]");
}

TEST(TraceChecks, OneByteLessFails) {
  EXPECT_THAT(failures(traced_run({.bytes = 999}), summary()), ElementsAre("bytes copied"));
}

TEST(TraceChecks, DroppedEventsFail) {
  EXPECT_THAT(failures(traced_run({.dropped = 3}), summary()), ElementsAre("correlation"));
}

TEST(TraceChecks, StepsThatTheProgramTimedOtherwiseFail) {
  EXPECT_THAT(failures(traced_run(), summary(kStepNs * 102 / 100)), ElementsAre("step lengths"));
  EXPECT_THAT(failures(traced_run(), summary(kStepNs * 1005 / 1000)), IsEmpty());
}

}  // namespace
}  // namespace stepscope::selftest
