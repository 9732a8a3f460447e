// Streams and events of host devices: order within a stream, order between streams, blocking of the
// host.
#include <sched.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <vector>

#include "workloads/backend/host/host_device.h"
#include "workloads/backend/host/stream.h"
#include "workloads/backend/host/threads.h"

namespace stepscope::workloads::host {
namespace {

TEST(Stream, RunsWhatWasPushedInOrder) {
  std::vector<int> order;
  {
    HostStream stream(0, "host:0", StreamKind::kCompute, 1);
    for (int i = 0; i < 1000; ++i) stream.push([&order, i] { order.push_back(i); });
  }
  ASSERT_EQ(order.size(), 1000U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(Stream, PushingDoesNotWaitForTheWork) {
  std::promise<void> open;
  HostStream stream(0, "host:0", StreamKind::kCompute, 1);
  stream.push([&] { open.get_future().wait(); });
  auto const after = stream.record();
  EXPECT_FALSE(after->done());
  open.set_value();
  after->wait();
  EXPECT_TRUE(after->done());
}

TEST(Stream, AnEventHoldsTheOtherStreamUntilItIsReached) {
  std::promise<void> open;
  std::vector<int> order;
  HostStream compute(0, "host:0", StreamKind::kCompute, 1);
  HostStream copy(0, "host:0", StreamKind::kCopy, 1);

  compute.push([&] { open.get_future().wait(); });
  compute.push([&] { order.push_back(1); });
  copy.wait(compute.record());
  copy.push([&] { order.push_back(2); });
  auto const end = copy.record();

  open.set_value();
  end->wait();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(Stream, AnEventOfAnEmptyStreamIsReached) {
  HostStream stream(0, "host:0", StreamKind::kCopy, 1);
  stream.record()->wait();
}

TEST(Correlations, AreNeverZeroAndNeverTheSame) {
  uint64_t const first = next_correlation();
  EXPECT_GT(first, 0U);
  EXPECT_NE(next_correlation(), first);
}

TEST(Device, ExecutesExactlyWhatWasLaunched) {
  DeviceGroup const group = open_devices("host", {}).value();
  Device& device = *group.devices.front();
  Buffer const buffer = device.allocate(64, MemoryPurpose::kOther, "test").value();
  std::vector<float> host(16, 1.0F);

  device.copy(StreamKind::kCopy, "in", buffer.data(), host.data(), 64,
              CopyDirection::kHostToDevice);
  device.wait(StreamKind::kCompute, device.record(StreamKind::kCopy));
  device.run("relu", elementwise::ReluBackward{buffer.floats(), buffer.floats()}, 16);
  device.copy(StreamKind::kCompute, "out", host.data(), buffer.data(), 64,
              CopyDirection::kDeviceToHost);
  device.synchronize();

  OpCounts const counts = device.counts();
  EXPECT_EQ(counts.launches, 3U);
  EXPECT_EQ(counts.kernels, 1U);
  EXPECT_EQ(counts.copies, 2U);
  EXPECT_EQ(counts.host_to_device_bytes, 64U);
  EXPECT_EQ(counts.device_to_host_bytes, 64U);
}

TEST(Devices, AreNumberedFromZeroAndShareTheCores) {
  DeviceGroup const group = open_devices("host:3", {}).value();
  ASSERT_EQ(group.devices.size(), 3U);
  EXPECT_EQ(group.devices[2]->name(), "host:2");
  EXPECT_EQ(group.devices[2]->index(), 2U);
  EXPECT_GE(dynamic_cast<HostDevice&>(*group.devices[0]).threads(), 1);
}

std::vector<int> all_cores() {
  std::vector<int> cores;
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  return cores;
}

TEST(Devices, DivideTheCoresAndHaveAllOrAnyWhereThatIsImpossible) {
  std::vector<int> const all = all_cores();
  auto const count = static_cast<uint32_t>(all.size());
  EXPECT_THAT(cores_of_device(0, 1), ::testing::IsEmpty());
  EXPECT_THAT(cores_of_device(0, count + 1), ::testing::IsEmpty());

  for (uint32_t devices = 2; devices <= count; ++devices) {
    std::vector<int> shared;
    for (uint32_t i = 0; i < devices; ++i) {
      std::vector<int> const own = cores_of_device(i, devices);
      EXPECT_GE(own.size(), count / devices);
      shared.insert(shared.end(), own.begin(), own.end());
    }
    EXPECT_EQ(shared, all) << devices;
  }
}

TEST(Stream, RunsOnItsCores) {
  int const last = all_cores().back();
  std::promise<std::vector<int>> seen;
  HostStream stream(0, "host:0", StreamKind::kCompute, 1, {last});
  stream.push([&] { seen.set_value(all_cores()); });
  EXPECT_EQ(seen.get_future().get(), std::vector<int>{last});
}

TEST(Devices, UnknownOnesAreRefusedWithTheKnownOnes) {
  for (char const* const wrong : {"tpu", "cuda:x", "", "hostess", "host:", "host:0", "host:-1",
                                  "host:2x", "host:65", "host:0,1"}) {
    auto const group = open_devices(wrong, {});
    ASSERT_FALSE(group.has_value()) << wrong;
    EXPECT_THAT(group.error().message, ::testing::HasSubstr("host:")) << wrong;
  }
}

}  // namespace
}  // namespace stepscope::workloads::host
