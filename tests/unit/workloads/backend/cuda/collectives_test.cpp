// The host devices' collectives and messages against plain sums and copies, for one to four
// members.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "workloads/backend/backend.h"
#include "workloads/backend/host/collectives/ring.h"
#include "workloads/backend/host/collectives/thread_transport.h"
#include "workloads/data/random.h"

namespace stepscope::workloads {
namespace {

using Array = std::vector<float>;

Array random_array(size_t count, uint64_t seed, uint32_t rank) {
  Array array(count);
  Random random = Random::of(seed, rank);
  for (float& value : array) value = random.uniform(-1.0F, 1.0F);
  return array;
}

/// What the mean over all members of their element `i` is.
double mean_at(std::vector<Array> const& arrays, size_t i) {
  double sum = 0;
  for (Array const& array : arrays) sum += static_cast<double>(array[i]);
  return sum / static_cast<double>(arrays.size());
}

class CollectivesOf : public ::testing::TestWithParam<uint32_t> {
 protected:
  static uint32_t members() { return GetParam(); }
  /// Runs `work(rank)` on a thread for each member.
  static void on_all(std::function<void(uint32_t)> const& work) {
    std::vector<std::thread> threads;
    for (uint32_t rank = 0; rank < members(); ++rank) threads.emplace_back(work, rank);
    for (std::thread& thread : threads) thread.join();
  }
  static std::vector<Array> random_arrays(size_t count) {
    std::vector<Array> arrays;
    for (uint32_t rank = 0; rank < members(); ++rank)
      arrays.push_back(random_array(count, count + 1, rank));
    return arrays;
  }
  /// Counts of one member's part: none, fewer than a piece of the exchange, odd, more than a piece.
  static std::vector<size_t> parts() { return {0, 1, 3, 1'001, 32'768, 70'001}; }

  host::Ring ring_{std::make_unique<host::ThreadTransport>(GetParam())};
};

TEST_P(CollectivesOf, ReduceScatterGivesEachItsPartOfTheMean) {
  for (size_t const part : parts()) {
    std::vector<Array> const send = random_arrays(part * members());
    std::vector<Array> receive(members(), Array(part));
    on_all([&](uint32_t rank) {
      ring_.reduce_scatter_mean(rank, send[rank].data(), receive[rank].data(), part * members());
    });

    for (uint32_t rank = 0; rank < members(); ++rank) {
      for (size_t i = 0; i < part; ++i) {
        ASSERT_NEAR(static_cast<double>(receive[rank][i]), mean_at(send, rank * part + i), 1e-6)
            << part << " " << i;
      }
    }
  }
}

TEST_P(CollectivesOf, AllGatherGivesAllPartsToAll) {
  for (size_t const part : parts()) {
    std::vector<Array> const send = random_arrays(part);
    Array expected;
    for (Array const& array : send) expected.insert(expected.end(), array.begin(), array.end());
    std::vector<Array> receive(members(), Array(part * members()));
    on_all([&](uint32_t rank) {
      ring_.all_gather(rank, send[rank].data(), receive[rank].data(), part * members());
    });

    EXPECT_THAT(receive, ::testing::Each(expected)) << part;
  }
}

TEST_P(CollectivesOf, ReduceScatterAndAllGatherInPlaceGiveTheBitsOfTheAllReduce) {
  for (size_t const part : parts()) {
    std::vector<Array> in_two = random_arrays(part * members());
    std::vector<Array> in_one = in_two;
    on_all([&](uint32_t rank) {
      float* const data = in_two[rank].data();
      size_t const count = part * members();
      ring_.reduce_scatter_mean(rank, data, data + rank * part, count);
      ring_.all_gather(rank, data + rank * part, data, count);
      ring_.all_reduce_mean(rank, in_one[rank].data(), count);
    });

    EXPECT_EQ(in_two, in_one) << part;
    EXPECT_THAT(in_two, ::testing::Each(in_two.front()));
  }
}

TEST_P(CollectivesOf, BroadcastGivesTheRootsArrayToAll) {
  for (uint32_t root = 0; root < members(); ++root) {
    for (size_t const count : parts()) {
      std::vector<Array> arrays = random_arrays(count);
      Array const expected = arrays[root];
      on_all([&](uint32_t rank) {
        ring_.broadcast(rank, root, arrays[rank].data(), arrays[rank].data(), count);
      });

      EXPECT_THAT(arrays, ::testing::Each(expected)) << root << " " << count;
    }
  }
}

TEST_P(CollectivesOf, MessagesArriveInOrderAndASendWaitsForNoReceive) {
  constexpr size_t kMessages = 20;
  on_all([&](uint32_t rank) {
    // All send everything to all, themselves included, before any of them receives.
    for (size_t message = 0; message < kMessages; ++message) {
      for (uint32_t to = 0; to < members(); ++to) {
        Array const data = random_array(message * 100 + 1, message, rank * members() + to);
        ring_.send(rank, to, data.data(), data.size());
      }
    }

    for (uint32_t from = 0; from < members(); ++from) {
      for (size_t message = 0; message < kMessages; ++message) {
        Array data(message * 100 + 1);
        ring_.receive(rank, from, data.data(), data.size());
        EXPECT_EQ(data, random_array(data.size(), message, from * members() + rank));
      }
    }
  });
}

TEST_P(CollectivesOf, MessagesToAWaitingReceiverArriveToo) {
  on_all([&](uint32_t rank) {
    // A token goes round: all but its holder wait in receive.
    float token = 0;
    for (int lap = 0; lap < 100; ++lap) {
      if (rank > 0 || lap > 0) ring_.receive(rank, (rank + members() - 1) % members(), &token, 1);
      token += 1;
      ring_.send(rank, (rank + 1) % members(), &token, 1);
    }

    if (rank == 0) {
      ring_.receive(0, members() - 1, &token, 1);
      EXPECT_EQ(token, 100.0F * static_cast<float>(members()));
    }
  });
}

TEST_P(CollectivesOf, ManyMixedOnesInARowOnDevicesGiveWhatEachAloneGives) {
  constexpr size_t kPart = 777;
  auto group = open_devices("host:" + std::to_string(members()), {});
  ASSERT_TRUE(group.has_value()) << group.error().message;

  size_t const count = kPart * members();
  std::vector<Array> const start = random_arrays(count);
  std::vector<Array> reduced = start;
  on_all([&](uint32_t rank) { ring_.all_reduce_mean(rank, reduced[rank].data(), count); });

  on_all([&](uint32_t rank) {
    Device& device = *group->devices[rank];
    uint32_t const next = (rank + 1) % members();
    uint32_t const previous = (rank + members() - 1) % members();
    for (uint32_t round = 0; round < 25; ++round) {
      Array data = start[rank];
      Array other(kPart), root(kPart);
      auto const run = [&](Collective const& what) {
        device.collective("test", *group->communicator, what);
      };

      run({CollectiveOp::kReduceScatter, data.data(), data.data() + rank * kPart, count});
      run({CollectiveOp::kSend, data.data() + rank * kPart, nullptr, kPart, next});
      run({CollectiveOp::kAllGather, data.data() + rank * kPart, data.data(), count});
      run({CollectiveOp::kReceive, nullptr, other.data(), kPart, previous});
      run({CollectiveOp::kBroadcast, data.data(), root.data(), kPart, round % members()});
      run({CollectiveOp::kAllReduce, data.data(), data.data(),
           count});  // of equal arrays: changes nothing but rounding
      device.synchronize();

      EXPECT_EQ(other, Array(reduced[0].begin() + static_cast<ptrdiff_t>(previous * kPart),
                             reduced[0].begin() + static_cast<ptrdiff_t>((previous + 1) * kPart)));
      EXPECT_EQ(root, Array(reduced[0].begin(), reduced[0].begin() + kPart));
      for (size_t i = 0; i < count; ++i) ASSERT_NEAR(data[i], reduced[0][i], 1e-6F);
    }
  });

  for (auto const& device : group->devices) {
    EXPECT_EQ(device->counts().collectives, 25U * 6);
    EXPECT_EQ(device->counts().collective_bytes, 25U * (3 * count + 3 * kPart) * sizeof(float));
  }
}

INSTANTIATE_TEST_SUITE_P(OneToFour, CollectivesOf, ::testing::Values(1U, 2U, 3U, 4U));

}  // namespace
}  // namespace stepscope::workloads
