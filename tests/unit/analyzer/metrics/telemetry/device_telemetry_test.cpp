// Telemetry of a device from its counters, and the rule about throttled clocks, on runs whose
// clocks and kernels are known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyzer/analyze.h"
#include "analyzer/metrics/telemetry/device_telemetry.h"
#include "trace/model/build/trace_builder.h"

namespace stepscope::analyzer {
namespace {

using namespace model;

/// A device that works in steps of 1,000 ns: ten kernels, whose clock is sampled every 100 ns.
struct ClockRun {
  int64_t steps = 40;
  std::vector<double> clocks = {};      ///< of each step, MHz; empty = no counter
  std::vector<int64_t> kernel_ns = {};  ///< of each step; 100 = no idle time
  std::vector<std::pair<std::string, double>> others =
      {};  ///< further counters with a value that stays

  void add_to(model::Run& run, std::string const& device_name = "GPU") const {
    TraceBuilder builder;
    builder.add_device({0, device_name, 0, 0, 0});
    builder.info().rank = static_cast<int32_t>(run.ranks.size());
    TrackId const thread =
        builder.add_track({TrackKind::kThread, "main", 1, -1, StreamKind::kCompute, 0});
    TrackId const stream =
        builder.add_track({TrackKind::kStream, "stream", 0, 0, StreamKind::kCompute, 0});

    uint64_t correlation = 0;
    for (int64_t step = 0; step < steps; ++step) {
      builder.events(thread).add(EventKind::kStep, step * 1000, 1000, builder.intern("step"), 0,
                                 StepDetail{step});
      for (int64_t i = 0; i < 10; ++i) {
        builder.events(thread).add(EventKind::kLaunch, step * 1000 + i * 100, 1,
                                   builder.intern("launch"), ++correlation);
        int64_t const dur = kernel_ns.empty() ? 80 : kernel_ns[static_cast<size_t>(step)];
        builder.events(stream).add(EventKind::kKernel, step * 1000 + i * 100, dur,
                                   builder.intern("gemm"), correlation, KernelDetail{});
      }
    }

    if (!clocks.empty()) {
      TrackId const clock = builder.add_track({TrackKind::kCounter, "SM clock (MHz)", 0, 0, {}, 0});
      for (int64_t i = 0; i < steps * 10; ++i)
        builder.events(clock).add(EventKind::kSample, i * 100, 0, builder.intern("clock"), 0,
                                  SampleDetail{clocks[static_cast<size_t>(i / 10)]});
    }

    for (auto const& [name, value] : others) {
      TrackId const track = builder.add_track({TrackKind::kCounter, name, 0, 0, {}, 0});
      builder.events(track).add(EventKind::kSample, 0, 0, builder.intern(name), 0,
                                SampleDetail{value});
    }

    run.ranks.push_back({std::move(builder).finish(), 0, ""});
  }
  [[nodiscard]] Analysis analysis() const {
    model::Run run;
    add_to(run);
    return analyze(run);
  }
};

/// Forty values; those in [from, to) are `other`.
template <class T>
std::vector<T> with_span(T steady, T other, size_t from, size_t to) {
  std::vector<T> values(40, steady);
  std::fill(values.begin() + static_cast<ptrdiff_t>(from),
            values.begin() + static_cast<ptrdiff_t>(to), other);
  return values;
}

Finding const* throttling_in(Analysis const& analysis) {
  for (Finding const& finding : analysis.findings)
    if (finding.rule == "throttling") return &finding;
  return nullptr;
}

TEST(TelemetryCounters, AreKnownByTheirNames) {
  using What = CounterMeaning::What;
  auto const what = [](std::string_view name) { return meaning_of_counter(name).value().what; };

  for (char const* name :
       {"SM clock (MHz)", "GPC Clock Frequency [MHz]", "GPU clock", "graphics clock (MHz)"})
    EXPECT_EQ(what(name), What::kSmClock) << name;

  EXPECT_EQ(what("memory clock (MHz)"), What::kMemoryClock);
  EXPECT_EQ(what("clock limits (bits)"), What::kLimits);
  EXPECT_TRUE(meaning_of_counter("clock limits (bits)")->is_mask);
  EXPECT_EQ(what("throttled"), What::kLimits);
  EXPECT_FALSE(meaning_of_counter("throttled")->is_mask);
  EXPECT_EQ(what("power (W)"), What::kPower);
  EXPECT_TRUE(meaning_of_counter("power, average of a second (W)")->is_mean);
  EXPECT_DOUBLE_EQ(meaning_of_counter("power_mw")->scale, 1e-3);
  EXPECT_DOUBLE_EQ(meaning_of_counter("SM clock (GHz)")->scale, 1e3);
  EXPECT_EQ(what("temperature (°C)"), What::kTemperature);
  EXPECT_EQ(what("GPU utilization (%)"), What::kUtilization);

  for (char const* name : {"", "memory utilization (%)", "memory temperature", "power limit (W)",
                           "CPU temperature", "SYS clock", "video clock (MHz)", "SM activity (%)",
                           "PCIe sent (MB/s)", "clocks per instruction"})
    EXPECT_FALSE(meaning_of_counter(name)) << name;
}

TEST(DeviceTelemetry, IsAbsentWithoutCounters) {
  EXPECT_FALSE(ClockRun{}.analysis().devices[0].telemetry);
  ClockRun run;
  run.others = {{"PCIe sent (MB/s)", 5}};
  EXPECT_FALSE(run.analysis().devices[0].telemetry);
}

TEST(DeviceTelemetry, SpreadsAreByTimeAndEachSampleLastsUntilTheNext) {
  TraceBuilder builder;
  builder.add_device({0, "GPU", 0, 0, 0});
  TrackId const stream =
      builder.add_track({TrackKind::kStream, "stream", 0, 0, StreamKind::kCompute, 0});
  builder.events(stream).add(EventKind::kKernel, 100, 100, builder.intern("k"), 0, KernelDetail{});
  TrackId const power = builder.add_track({TrackKind::kCounter, "power_mw", 0, 0, {}, 0});
  auto const sample = [&](int64_t at, double value) {
    builder.events(power).add(EventKind::kSample, at, 0, builder.intern("p"), 0,
                              SampleDetail{value});
  };

  sample(0, 700'000);    // over before the window
  sample(90, 100'000);   // 30 ns of the window
  sample(130, 400'000);  // 20
  sample(150, 300'000);  // 50
  sample(150, 300'000);
  sample(250, 900'000);

  model::Run run;
  run.ranks.push_back({std::move(builder).finish(), 1000, ""});
  TelemetryStats const telemetry = analyze(run).devices[0].telemetry.value();

  ASSERT_TRUE(telemetry.power_w);
  EXPECT_DOUBLE_EQ(telemetry.power_w->min, 100);
  EXPECT_DOUBLE_EQ(telemetry.power_w->median, 300);
  EXPECT_DOUBLE_EQ(telemetry.power_w->max, 400);
  EXPECT_FALSE(telemetry.sm_clock_mhz);
  EXPECT_FALSE(telemetry.throttled_ns);
}

TEST(DeviceTelemetry, ThrottledIsTheBusyTimeAtALowClock) {
  ClockRun run;

  run.clocks = with_span(2000.0, 1799.0, 10, 12);
  TelemetryStats const telemetry = run.analysis().devices[0].telemetry.value();
  EXPECT_DOUBLE_EQ(telemetry.sustained_clock_mhz.value(), 2000);
  EXPECT_DOUBLE_EQ(telemetry.busy_clock_mhz.value(), 2000);
  EXPECT_EQ(telemetry.throttled_ns, 2 * 10 * 80);
  EXPECT_FALSE(telemetry.limited_ns);
  EXPECT_EQ(telemetry.throttled.size(), kMaxEvidence);

  run.clocks = with_span(2000.0, 1800.0, 10, 12);  // not below nine tenths
  EXPECT_EQ(run.analysis().devices[0].telemetry->throttled_ns, 0);
}

TEST(DeviceTelemetry, LimitsThatAreNoIdlenessAndNoSettingCountAsThrottled) {
  ClockRun run;
  run.others = {{"clock limits (bits)", 0x1 | 0x2}};
  TelemetryStats telemetry = run.analysis().devices[0].telemetry.value();
  EXPECT_EQ(telemetry.throttled_ns, 0);
  EXPECT_THAT(telemetry.limited_ns.value(), testing::Each(0));

  run.others = {{"clock limits (bits)", 0x4 | 0x20}};
  telemetry = run.analysis().devices[0].telemetry.value();
  EXPECT_EQ(telemetry.throttled_ns, 40 * 10 * 80);
  EXPECT_EQ((*telemetry.limited_ns)[static_cast<size_t>(ClockLimit::kPowerCap)], 40 * 10 * 80);
  EXPECT_EQ((*telemetry.limited_ns)[static_cast<size_t>(ClockLimit::kThermal)], 40 * 10 * 80);
  EXPECT_EQ((*telemetry.limited_ns)[static_cast<size_t>(ClockLimit::kHardware)], 0);

  run.others = {{"clock limits (bits)", -1e300}};
  EXPECT_EQ(run.analysis().devices[0].telemetry->throttled_ns, 0);
}

TEST(Throttling, CostsWhatKernelsTakeLongerAtALowClock) {
  ClockRun run;
  run.clocks = with_span(2000.0, 1600.0, 20, 38);
  run.kernel_ns = with_span<int64_t>(80, 100, 20, 38);  // as much longer as the clock is lower

  Analysis const analysis = run.analysis();
  TelemetryStats const telemetry = analysis.devices[0].telemetry.value();
  EXPECT_DOUBLE_EQ(telemetry.kernel_slowdown.value(), 1.25);
  ASSERT_EQ(telemetry.slow_steps.size(), 18U);
  EXPECT_EQ(telemetry.slow_steps[0].lost_ns, 200);

  Finding const* finding = throttling_in(analysis);
  ASSERT_NE(finding, nullptr);
  EXPECT_NEAR(static_cast<double>(finding->cost_ns_per_step.value()), 18.0 * 200 / 39, 1);
  EXPECT_EQ(finding->severity, Severity::kWarning);
  EXPECT_FALSE(finding->evidence.empty());
}

TEST(Throttling, CostsNoMoreThanKernelsShow) {
  ClockRun run;
  run.clocks = with_span(2000.0, 1000.0, 10, 38);
  run.kernel_ns = with_span<int64_t>(
      80, 100, 10, 38);  // a quarter longer at half the clock: they wait for memory
  EXPECT_EQ(run.analysis().devices[0].telemetry->slow_steps.at(0).lost_ns, 200);
}

TEST(Throttling, IsSilentWhereKernelsAreNotSlowerWhereItIsShortAndWithoutAClock) {
  ClockRun run;
  run.clocks = with_span(2000.0, 1600.0, 20, 38);
  EXPECT_EQ(throttling_in(run.analysis()), nullptr) << "the same kernels take as long";

  run.kernel_ns = with_span<int64_t>(80, 100, 20, 38);
  EXPECT_NE(throttling_in(run.analysis()), nullptr);
  run.clocks.clear();
  EXPECT_EQ(throttling_in(run.analysis()), nullptr) << "no counter";

  run.clocks = with_span(2000.0, 1600.0, 30, 38);
  run.kernel_ns = with_span<int64_t>(80, 100, 30, 38);
  EXPECT_EQ(throttling_in(run.analysis()), nullptr) << "4 % of the time: within what steps vary by";

  run.clocks = std::vector<double>(40, 2000.0);
  EXPECT_EQ(throttling_in(run.analysis()), nullptr) << "kernels vary for another reason";
}

/// A job of three GPUs; the second has this clock and this kernel time.
Analysis three_devices(double clock, int64_t kernel_ns) {
  model::Run run;
  for (int rank = 0; rank < 3; ++rank) {
    ClockRun device;
    device.clocks = std::vector<double>(40, rank == 1 ? clock : 2000.0);
    device.kernel_ns = std::vector<int64_t>(40, rank == 1 ? kernel_ns : 80);
    device.add_to(run);
  }
  return analyze(run);
}

TEST(Throttling, NamesADeviceWhoseClockIsAlwaysLowerThanItsPeers) {
  Analysis const slow = three_devices(1600, 100);
  EXPECT_DOUBLE_EQ(slow.devices[1].telemetry->clock_to_peers.value(), 0.8);
  EXPECT_DOUBLE_EQ(slow.devices[0].telemetry->clock_to_peers.value(), 2000.0 / 1600)
      << "of two others the lower";

  Finding const* finding = throttling_in(slow);
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->where->rank_index, 1);
  EXPECT_NEAR(static_cast<double>(finding->cost_ns_per_step.value()), 200, 1);

  EXPECT_EQ(throttling_in(three_devices(1600, 80)), nullptr) << "its kernels take no longer";
  EXPECT_EQ(throttling_in(three_devices(1920, 100)), nullptr) << "clocks are alike";
}

TEST(Throttling, ComparesDevicesOfOneNameAlone) {
  model::Run run;
  for (char const* name : {"large GPU", "small GPU"}) {
    ClockRun device;
    device.clocks = std::vector<double>(40, run.ranks.empty() ? 2000.0 : 1500.0);
    device.kernel_ns = std::vector<int64_t>(40, run.ranks.empty() ? 60 : 80);
    device.add_to(run, name);
  }

  Analysis const analysis = analyze(run);
  EXPECT_FALSE(analysis.devices[1].telemetry->clock_to_peers);
  EXPECT_EQ(throttling_in(analysis), nullptr);
}

}  // namespace
}  // namespace stepscope::analyzer
