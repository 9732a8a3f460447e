// The ring all-reduce against a plain mean, for several sizes of ring and message.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <thread>
#include <vector>

#include "workloads/backend/backend.h"
#include "workloads/backend/host/collectives/ring.h"
#include "workloads/backend/host/collectives/thread_transport.h"
#include "workloads/data/random.h"

namespace stepscope::workloads::host {
namespace {

using Arrays = std::vector<std::vector<float>>;

Arrays random_arrays(uint32_t members, size_t count, uint64_t seed) {
  Arrays arrays(members, std::vector<float>(count));
  Random random(seed);
  for (auto& array : arrays) {
    for (float& value : array) value = random.uniform(-1.0F, 1.0F);
  }
  return arrays;
}

void all_reduce(Ring& ring, Arrays& arrays) {
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < ring.members(); ++rank) {
    threads.emplace_back(
        [&, rank] { ring.all_reduce_mean(rank, arrays[rank].data(), arrays[rank].size()); });
  }
  for (std::thread& thread : threads) thread.join();
}

class RingOf : public ::testing::TestWithParam<uint32_t> {};

TEST_P(RingOf, MembersAgreesWithThePlainMeanAndIsBitIdenticalOnAll) {
  uint32_t const members = GetParam();
  Ring ring(std::make_unique<ThreadTransport>(members));
  for (size_t const count :
       {size_t{1}, size_t{3}, size_t{1000}, size_t{32'768}, size_t{32'769}, size_t{300'007}}) {
    Arrays const before = random_arrays(members, count, count);
    Arrays after = before;
    all_reduce(ring, after);

    for (size_t i = 0; i < count; ++i) {
      double mean = 0;
      for (auto const& array : before) mean += static_cast<double>(array[i]) / members;
      ASSERT_NEAR(static_cast<double>(after[0][i]), mean, 1e-6)
          << "element " << i << " of " << count;
    }
    for (uint32_t rank = 1; rank < members; ++rank) ASSERT_EQ(after[rank], after[0]) << count;
  }
}

TEST_P(RingOf, MembersCanRunManyCollectivesOneAfterTheOther) {
  uint32_t const members = GetParam();
  Ring ring(std::make_unique<ThreadTransport>(members));
  Arrays arrays = random_arrays(members, 5000, 1);
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < members; ++rank) {
    threads.emplace_back([&, rank] {
      for (int i = 0; i < 200; ++i) {
        arrays[rank][0] = static_cast<float>(i) + static_cast<float>(rank);
        ring.all_reduce_mean(rank, arrays[rank].data(), arrays[rank].size());
        float const expected = static_cast<float>(i) + static_cast<float>(members - 1) / 2.0F;
        ASSERT_NEAR(arrays[rank][0], expected, 1e-3F);
      }
    });
  }

  for (std::thread& thread : threads) thread.join();
}

INSTANTIATE_TEST_SUITE_P(OneToFour, RingOf, ::testing::Values(1U, 2U, 3U, 4U));

TEST(AllReduceOfDevices, RunsBehindTheComputeThatItWaitsForAndBeforeTheComputeThatWaitsForIt) {
  DeviceGroup group = open_devices("host:2", {}).value();
  constexpr size_t kCount = 50'000;
  std::vector<Buffer> data;
  std::vector<std::vector<float>> results(2, std::vector<float>(kCount));
  std::vector<float> const zeros(kCount, 0.0F);
  std::vector<float> const ones(kCount, 1.0F);

  for (auto& device : group.devices) {
    data.push_back(
        device->allocate(kCount * sizeof(float), MemoryPurpose::kGradients, "data").value());
    Buffer& buffer = data.back();
    device->copy(StreamKind::kCompute, "zero", buffer.data(), zeros.data(), buffer.bytes(),
                 CopyDirection::kHostToDevice);
    // weights −= −(rank + 1) · 1: the buffer becomes rank + 1
    device->run("fill",
                elementwise::SgdUpdate{buffer.floats(), ones.data(),
                                       -static_cast<float>(device->index() + 1), 0.0F},
                kCount);

    device->wait(StreamKind::kCommunication, device->record(StreamKind::kCompute));
    device->collective("mean", *group.communicator,
                       {CollectiveOp::kAllReduce, buffer.floats(), buffer.floats(), kCount});
    device->wait(StreamKind::kCopy, device->record(StreamKind::kCommunication));
    device->copy(StreamKind::kCopy, "result", results[device->index()].data(), buffer.data(),
                 buffer.bytes(), CopyDirection::kDeviceToHost);
  }

  for (auto& device : group.devices) device->synchronize(device->record(StreamKind::kCopy));
  for (auto const& result : results) EXPECT_EQ(result, std::vector<float>(kCount, 1.5F));
}

}  // namespace
}  // namespace stepscope::workloads::host
