#include "tracer/nvml/sampler.h"

#include <map>

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
      EXPECT_TRUE(values.emplace(std::pair(sample.device, sample.counter), sample.value).second) << name_of(sample.counter);
    }
    return values;
  }
  Api api = fake_api();
  int64_t now = 0;
};

TEST_F(NvmlSampler, reads_every_counter_in_its_unit) {
  Sampler sampler(api, visible_devices("0", 2));
  round(sampler);
  machine().gpus[0].nvlink_kib += 1'000'000;
  auto values = round(sampler);
  auto const value = [&](Counter counter) { return values.at({0, counter}); };
  EXPECT_EQ(value(Counter::kGpuUtilization), 40);
  EXPECT_EQ(value(Counter::kMemoryUtilization), 20);
  EXPECT_EQ(value(Counter::kMemoryUsed), 3);
  EXPECT_DOUBLE_EQ(value(Counter::kPower), 250);
  EXPECT_EQ(value(Counter::kSmClock), 1'980);
  EXPECT_EQ(value(Counter::kMemoryClock), 2'619);
  EXPECT_EQ(value(Counter::kClockLimits), 4) << "being idle is no limit";
  EXPECT_EQ(value(Counter::kTemperature), 61);
  EXPECT_DOUBLE_EQ(value(Counter::kPcieSent), 5);
  EXPECT_DOUBLE_EQ(value(Counter::kPcieReceived), 7);
  EXPECT_DOUBLE_EQ(value(Counter::kNvlinkSent), 1'024) << "MB in a second";
  EXPECT_EQ(value(Counter::kSmActivity), 77.5);
  EXPECT_EQ(value(Counter::kTensorActivity), 78.5);
  EXPECT_FALSE(values.contains({0, Counter::kDramBandwidth})) << "that metric failed alone";
  for (size_t i = 0; i < kCounters; ++i) EXPECT_NE(name_of(static_cast<Counter>(i)).find('('), std::string_view::npos);
}

TEST_F(NvmlSampler, rates_need_two_rounds_and_a_reset_gives_none) {
  machine().gpus[0].nvlink_kib = 1'000;
  Sampler sampler(api, visible_devices("0", 2));
  auto const first = round(sampler);
  EXPECT_FALSE(first.contains({0, Counter::kNvlinkSent}));
  EXPECT_FALSE(first.contains({0, Counter::kSmActivity}));
  machine().gpus[0].nvlink_kib = 10;
  EXPECT_FALSE(round(sampler).contains({0, Counter::kNvlinkSent}));
  machine().gpus[0].nvlink_kib = 20;
  EXPECT_DOUBLE_EQ(round(sampler).at({0, Counter::kNvlinkSent}), 10 * 1'024e-6);
}

TEST_F(NvmlSampler, does_not_ask_again_for_what_is_not_supported) {
  machine().gpus[0].power_result = kNotSupported;
  Sampler sampler(api, visible_devices("0", 2));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(round(sampler).contains({0, Counter::kPower}));
  EXPECT_EQ(machine().gpus[0].power_calls, 1);
}

TEST_F(NvmlSampler, asks_again_after_a_passing_error) {
  machine().gpus[0].power_result = 999;
  Sampler sampler(api, visible_devices("0", 2));
  EXPECT_FALSE(round(sampler).contains({0, Counter::kPower}));
  machine().gpus[0].power_result = kSuccess;
  EXPECT_TRUE(round(sampler).contains({0, Counter::kPower}));
}

TEST_F(NvmlSampler, leaves_a_lost_gpu_alone_and_goes_on_with_the_others) {
  Sampler sampler(api, visible_devices(nullptr, 2));
  round(sampler);
  machine().gpus[0].all_results = kGpuIsLost;
  round(sampler);
  int const calls = machine().gpus[0].calls;
  auto const values = round(sampler);
  EXPECT_EQ(machine().gpus[0].calls, calls);
  EXPECT_TRUE(values.contains({1, Counter::kPower}));
  EXPECT_FALSE(values.contains({0, Counter::kPower}));
}

TEST_F(NvmlSampler, bears_every_function_missing) {
  Api bare;
  bare.device_by_index = api.device_by_index;
  Sampler sampler(bare, visible_devices("0,GPU-second", 2));
  EXPECT_EQ(sampler.device_count(), 1U);
  EXPECT_THAT(round(sampler), SizeIs(0));
  EXPECT_THAT(round(sampler), SizeIs(0));
}

TEST_F(NvmlSampler, gpus_without_hardware_counters_have_none) {
  machine().gpus[0].has_gpm = false;
  Sampler sampler(api, visible_devices("0", 2));
  round(sampler);
  EXPECT_FALSE(round(sampler).contains({0, Counter::kSmActivity}));
}

TEST_F(NvmlSampler, reads_the_slow_counter_of_one_device_a_round) {
  Sampler sampler(api, visible_devices(nullptr, 2));
  for (int i = 0; i < 4; ++i) round(sampler);
  EXPECT_EQ(machine().gpus[0].pcie_calls, 2 * 2);
  EXPECT_EQ(machine().gpus[1].pcie_calls, 2 * 2);
}

TEST_F(NvmlSampler, numbers_devices_as_cuda_does_in_the_process) {
  Sampler sampler(api, visible_devices("GPU-second", 2));
  machine().gpus[1].power_mw = 111'000;
  EXPECT_DOUBLE_EQ(round(sampler).at({0, Counter::kPower}), 111) << "the machine's second is the process's first";
}

TEST_F(NvmlSampler, frees_what_it_took) {
  {
    Sampler sampler(api, visible_devices(nullptr, 2));
    EXPECT_EQ(machine().open_gpm_samples, 4);
  }
  EXPECT_EQ(machine().open_gpm_samples, 0);
}

TEST(NvmlVisibleDevices, follow_cuda_visible_devices) {
  EXPECT_THAT(visible_devices(nullptr, 3), SizeIs(3));
  EXPECT_THAT(visible_devices("", 3), SizeIs(0));
  auto const some = visible_devices("2,0", 3);
  ASSERT_THAT(some, SizeIs(2));
  EXPECT_EQ(some[0].index, 2U);
  EXPECT_EQ(some[1].index, 0U);
  EXPECT_THAT(visible_devices("1,9,0", 3), SizeIs(1)) << "CUDA ends at the first that is not there";
  EXPECT_THAT(visible_devices("-1", 3), SizeIs(0));
  EXPECT_THAT(visible_devices("nonsense", 3), SizeIs(0));
  EXPECT_EQ(visible_devices("MIG-1234", 3).at(0).uuid, "MIG-1234");
}

}  // namespace
}  // namespace stepscope::tracer::nvml
