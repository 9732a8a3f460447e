#include "tracer/nvml/sampler.h"

#include <bit>
#include <map>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tracer/nvml/fake_nvml.h"

namespace stepscope::tracer::nvml {
namespace {

using ::testing::SizeIs;

constexpr int64_t kSecond = 1'000'000'000;

class NvmlSampler : public ::testing::Test {
 protected:
  NvmlSampler() { machine() = {}; }
  /// The values of one round by device and counter.
  std::map<std::pair<int32_t, Counter>, double> round(Sampler& sampler) {
    std::vector<Sample> samples;
    now += kSecond;
    sampler.sample(now, samples);

    std::map<std::pair<int32_t, Counter>, double> values;
    for (Sample const& sample : samples) {
      EXPECT_EQ(sample.at_ns, now);
      EXPECT_TRUE(values.emplace(std::pair(sample.device, sample.counter), sample.value).second)
          << name_of(sample.counter);
    }

    return values;
  }
  static std::vector<OpenDevice> first() { return {{0, handle_of(0)}}; }
  static std::vector<OpenDevice> both() { return {{0, handle_of(0)}, {1, handle_of(1)}}; }
  Api api = fake_api();
  int64_t now = 0;
};

TEST_F(NvmlSampler, reads_every_counter_in_its_unit) {
  Sampler sampler(api, first());
  round(sampler);
  machine().gpus[0].nvlink_kib += 1'000'000;
  auto values = round(sampler);
  auto const value = [&](Counter counter) { return values.at({0, counter}); };

  EXPECT_EQ(value(Counter::kGpuUtilization), 40);
  EXPECT_EQ(value(Counter::kMemoryUtilization), 20);
  EXPECT_EQ(value(Counter::kMemoryUsed), 3);
  EXPECT_DOUBLE_EQ(value(Counter::kPower), 300);
  EXPECT_FALSE(values.contains({0, Counter::kAveragePower})) << "one of the two";
  EXPECT_EQ(value(Counter::kSmClock), 1'980);
  EXPECT_EQ(value(Counter::kMemoryClock), 2'619);
  EXPECT_EQ(value(Counter::kClockLimits), 4) << "being idle is no limit";
  EXPECT_EQ(value(Counter::kTemperature), 61);

  EXPECT_DOUBLE_EQ(value(Counter::kPcieSent), 1'020 * 1.048576) << "of MiB";
  EXPECT_DOUBLE_EQ(value(Counter::kPcieReceived), 1'021 * 1.048576);
  EXPECT_DOUBLE_EQ(value(Counter::kNvlinkSent), 1'024) << "MB in a second";
  EXPECT_DOUBLE_EQ(value(Counter::kNvlinkReceived), 1'024);

  EXPECT_EQ(value(Counter::kSmActivity), 79.5);
  EXPECT_EQ(value(Counter::kTensorActivity), 82.5);
  EXPECT_FALSE(values.contains({0, Counter::kDramBandwidth})) << "that metric failed alone";

  for (size_t i = 0; i < kCounters; ++i)
    EXPECT_NE(name_of(static_cast<Counter>(i)).find('('), std::string_view::npos);
}

TEST_F(NvmlSampler, rates_need_two_rounds_and_a_reset_gives_none) {
  machine().gpus[0].nvlink_kib = 1'000;
  Sampler sampler(api, first());
  auto const first = round(sampler);
  EXPECT_FALSE(first.contains({0, Counter::kNvlinkSent}));
  EXPECT_FALSE(first.contains({0, Counter::kSmActivity}));
  machine().gpus[0].nvlink_kib = 10;
  EXPECT_FALSE(round(sampler).contains({0, Counter::kNvlinkSent}));
  machine().gpus[0].nvlink_kib = 20;
  EXPECT_DOUBLE_EQ(round(sampler).at({0, Counter::kNvlinkSent}), 10 * 1'024e-6);
}

TEST_F(NvmlSampler, reads_a_field_as_the_type_that_the_driver_names) {
  constexpr uint64_t kGarbage = uint64_t{0xABCD} << 48U;  // of bytes that the type does not have
  std::tuple<int, uint64_t, double> const cases[] = {
      {kDouble, std::bit_cast<uint64_t>(250'500.0), 250.5},
      {kUnsignedInt, kGarbage | 250'500, 250.5},
      {kUnsignedLongLong, 250'500, 250.5},
      {kSignedInt, kGarbage | 250'500, 250.5},
      {kSignedInt, static_cast<uint32_t>(-5), 0},
      {kSignedLongLong, static_cast<uint64_t>(-5), 0},
      {kUnsignedShort, kGarbage | 40'500, 40.5},
  };

  Sampler sampler(api, first());
  for (auto const& [type, bits, watts] : cases) {
    machine().gpus[0].momentary_type = type;
    machine().gpus[0].momentary_bits = bits;
    EXPECT_DOUBLE_EQ(round(sampler).at({0, Counter::kPower}), watts) << "type " << type;
  }
}

TEST_F(NvmlSampler, says_where_only_an_average_of_the_power_is_known) {
  machine().gpus[0].momentary_result = kNotSupported;
  Sampler sampler(api, first());
  auto const values = round(sampler);
  EXPECT_FALSE(values.contains({0, Counter::kPower}));
  EXPECT_DOUBLE_EQ(values.at({0, Counter::kAveragePower}), 250);
  EXPECT_NE(name_of(Counter::kAveragePower), name_of(Counter::kPower));
}

TEST_F(NvmlSampler,
       takes_the_throughput_of_links_from_hardware_counters_where_nothing_else_tells_it) {
  machine().gpus[0].nvlink_result = kNotSupported;
  Sampler sampler(api, first());
  round(sampler);
  auto const values = round(sampler);
  EXPECT_DOUBLE_EQ(values.at({0, Counter::kNvlinkSent}), 1'061 * 1.048576);
  EXPECT_DOUBLE_EQ(values.at({0, Counter::kNvlinkReceived}), 1'060 * 1.048576);
}

TEST_F(NvmlSampler, does_not_ask_again_for_what_is_not_supported) {
  machine().gpus[0].momentary_result = kNotSupported;
  machine().gpus[0].power_result = kNotSupported;
  Sampler sampler(api, first());
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(round(sampler).contains({0, Counter::kAveragePower}));
  EXPECT_EQ(machine().gpus[0].power_calls, 1);
}

TEST_F(NvmlSampler, asks_again_after_a_passing_error) {
  machine().gpus[0].momentary_result = 999;
  Sampler sampler(api, first());
  auto const values = round(sampler);
  EXPECT_FALSE(values.contains({0, Counter::kPower}));
  EXPECT_FALSE(values.contains({0, Counter::kAveragePower}));
  machine().gpus[0].momentary_result = kSuccess;
  EXPECT_TRUE(round(sampler).contains({0, Counter::kPower}));
}

TEST_F(NvmlSampler, leaves_a_lost_gpu_alone_and_goes_on_with_the_others) {
  Sampler sampler(api, both());
  round(sampler);
  machine().gpus[0].all_results = kGpuIsLost;
  round(sampler);
  int const calls = machine().gpus[0].calls;
  auto const values = round(sampler);
  EXPECT_EQ(machine().gpus[0].calls, calls);
  EXPECT_TRUE(values.contains({1, Counter::kPower}));
  EXPECT_FALSE(values.contains({0, Counter::kPower}));
}

TEST_F(NvmlSampler, names_lost_gpus_and_counters_that_the_driver_refuses) {
  Sampler sampler(api, both());
  round(sampler);
  EXPECT_EQ(sampler.describe_gaps(), "");

  machine().gpus[0].momentary_result = kNoPermission;
  machine().gpus[1].all_results = kGpuIsLost;
  EXPECT_TRUE(round(sampler).contains({0, Counter::kAveragePower})) << "the older call remains";
  EXPECT_EQ(sampler.describe_gaps(),
            "the driver gives this user no access to power (W) of cuda:0; cuda:1 was lost: its "
            "counters end early");
}

TEST_F(NvmlSampler, bears_every_function_missing) {
  Api bare;
  Sampler sampler(bare, first());
  EXPECT_EQ(sampler.device_count(), 1U);
  EXPECT_THAT(round(sampler), SizeIs(0));
  EXPECT_THAT(round(sampler), SizeIs(0));
}

TEST_F(NvmlSampler, gpus_without_hardware_counters_have_none) {
  machine().gpus[0].has_gpm = false;
  Sampler sampler(api, both());
  round(sampler);
  auto const values = round(sampler);
  EXPECT_FALSE(values.contains({0, Counter::kSmActivity}));
  EXPECT_FALSE(values.contains({0, Counter::kPcieSent}))
      << "the call that reports it waits for 20 ms";
  EXPECT_TRUE(values.contains({1, Counter::kPcieSent}));
  EXPECT_FALSE(sampler.has_hardware_counters());
}

TEST_F(NvmlSampler, numbers_devices_as_its_caller_does) {
  Sampler sampler(api, std::vector<OpenDevice>{{0, handle_of(1)}});
  machine().gpus[1].momentary_bits = 111'000;
  EXPECT_DOUBLE_EQ(round(sampler).at({0, Counter::kPower}), 111);
}

TEST_F(NvmlSampler, frees_what_it_took) {
  {
    Sampler sampler(api, both());
    EXPECT_EQ(machine().open_gpm_samples, 4);
  }
  EXPECT_EQ(machine().open_gpm_samples, 0);
}

}  // namespace
}  // namespace stepscope::tracer::nvml
