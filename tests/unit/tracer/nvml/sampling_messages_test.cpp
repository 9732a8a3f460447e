// What programs and the command that records send each other is read back as it was written, and
// anything else is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tracer/nvml/sampling_messages.h"

namespace stepscope::tracer::nvml {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

template <class Content>
Content there_and_back(Content const& content) {
  auto const bytes = encode(content);
  auto const message = decode_sampling_message(bytes);
  EXPECT_TRUE(message.has_value());
  return std::get<Content>(*message);
}

TEST(SamplingMessages, come_back_as_they_were) {
  auto const hello = there_and_back(SamplingHello{100, "0,1", std::nullopt});
  EXPECT_EQ(hello.period_ms, 100);
  EXPECT_EQ(hello.visible_devices, "0,1");
  EXPECT_EQ(hello.device_order, std::nullopt);

  SamplingOrders const orders{true, std::vector<DeviceRegistry::Device>{{3, "GPU-x", true}}};
  auto const read = there_and_back(orders);
  EXPECT_TRUE(read.is_recording);
  ASSERT_THAT(read.devices.value(), SizeIs(1));
  EXPECT_EQ(read.devices->front().number, 3);
  EXPECT_EQ(read.devices->front().uuid, "GPU-x");
  EXPECT_EQ(there_and_back(SamplingOrders{}).devices, std::nullopt);

  auto const samples = there_and_back(std::vector<Sample>{{1, Counter::kPower, 312.5, 42}});
  ASSERT_THAT(samples, SizeIs(1));
  EXPECT_EQ(samples[0].device, 1);
  EXPECT_EQ(samples[0].counter, Counter::kPower);
  EXPECT_EQ(samples[0].value, 312.5);
  EXPECT_EQ(samples[0].at_ns, 42);

  EXPECT_EQ(there_and_back(SamplingFact{"NVLink", "4 links"}).text, "4 links");
  EXPECT_EQ(there_and_back(SamplingOutcome{"ended"}).text, "ended");
}

TEST(SamplingMessages, that_are_cut_or_of_another_version_are_refused) {
  SamplingOrders const orders{true, std::vector<DeviceRegistry::Device>{{3, "GPU-x", true}}};
  std::vector<std::byte> bytes = encode(orders);
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decode_sampling_message(std::span(bytes).first(size))) << size;

  bytes.push_back({});
  EXPECT_FALSE(decode_sampling_message(bytes)) << "bytes behind its end";
  bytes.pop_back();
  bytes[0] ^= std::byte{1};
  EXPECT_FALSE(decode_sampling_message(bytes)) << "another version";
}

TEST(SamplingMessages, counters_that_this_version_does_not_know_are_left_out) {
  auto const bytes = encode(std::vector<Sample>{{1, static_cast<Counter>(200), 1.0, 2}});
  EXPECT_THAT(std::get<std::vector<Sample>>(decode_sampling_message(bytes).value()), IsEmpty());
}

}  // namespace
}  // namespace stepscope::tracer::nvml
