// Several processes, played by threads: what they agree on, their collectives, and one that says
// nothing any more.
#include "workloads/processes/agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>

#include "mpi/processes.h"
#include "tests/support/fake_mpi.h"
#include "workloads/backend/host/collectives/process_transport.h"
#include "workloads/backend/host/collectives/ring.h"
#include "workloads/backend/host/collectives/thread_transport.h"
#include "workloads/data/random.h"
#include "workloads/processes/merge.h"

namespace stepscope::workloads {
namespace {

using mpi::Processes;
using mpi::testing::as_processes;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Array = std::vector<float>;

constexpr std::chrono::milliseconds kLong{60'000}, kShort{100};

TEST(Agreement, AllEndBeforeTheSameStep) {
  constexpr int64_t kSteps = 20, kUnhappy = 7;
  std::array<int64_t, 3> ended = {};
  as_processes(3, kLong, [&](std::shared_ptr<Processes> const& processes) {
    Agreement agreement(*processes);
    int64_t step = 0;
    for (; step < kSteps; ++step) {
      if (agreement.ends({processes->rank() == 2 && step >= kUnhappy ? 1 : 0, -1, 0})) break;
    }
    ended[processes->rank()] = step;

    Agreement::End end;
    if (processes->rank() > 0) {
      end.failure = processes->rank() == 1 ? "later" : "nan";
      end.failed_step = processes->rank() == 1 ? kUnhappy + 1 : kUnhappy;
    }
    EXPECT_EQ(agreement.conclude(end).failure, "nan");
  });
  EXPECT_THAT(ended, Each(kUnhappy + 1));
}

TEST(Agreement, FindsWeightsThatDiffer) {
  as_processes(2, kLong, [&](std::shared_ptr<Processes> const& processes) {
    Agreement agreement(*processes);
    EXPECT_FALSE(agreement.ends({0, 4, 77}));
    EXPECT_FALSE(agreement.ends({0, 9, 77 + processes->rank()}));
    EXPECT_TRUE(agreement.ends({0, 9, 77 + processes->rank()}));
    EXPECT_THAT(agreement.difference().value_or(""),
                AllOf(HasSubstr("ranks"), HasSubstr("step 9")));
    EXPECT_THAT(agreement.conclude({}).failure.value_or(""), HasSubstr("step 9"));
  });
}

TEST(Agreement, ComparesTheWeightsAfterTheLastStep) {
  as_processes(3, kLong, [&](std::shared_ptr<Processes> const& processes) {
    Agreement agreement(*processes);
    EXPECT_FALSE(agreement.ends({}));

    Agreement::End end;
    end.checked_step = 4;
    end.checksum = processes->rank() == 2 ? 78 : 77;
    EXPECT_THAT(agreement.conclude(end).failure.value_or(""),
                AllOf(HasSubstr("ranks 0 and 2"), HasSubstr("step 4")));

    end.checksum = 77;
    EXPECT_EQ(agreement.conclude(end).failure, std::nullopt);
  });
}

TEST(Agreement, WeightsThatDifferedComeBeforeALaterFailure) {
  as_processes(3, kLong, [&](std::shared_ptr<Processes> const& processes) {
    Agreement agreement(*processes);

    Agreement::End end;
    end.checked_step = 4;
    end.checksum = processes->rank();
    if (processes->rank() == 0) {
      end.failure = "later";
      end.failed_step = 5;
    }

    EXPECT_THAT(agreement.conclude(end).failure.value_or(""), HasSubstr("step 4"));
  });
}

TEST(Agreement, OneThatIsInterruptedInTheLastStepInterruptsAll) {
  as_processes(3, kLong, [&](std::shared_ptr<Processes> const& processes) {
    Agreement agreement(*processes);
    Agreement::End end;
    end.interrupted = processes->rank() == 1;
    EXPECT_TRUE(agreement.conclude(end).interrupted);
    EXPECT_FALSE(agreement.conclude({}).interrupted);
  });
}

TEST(Agreement, SettingsThatDifferAreAnErrorOnAll) {
  as_processes(3, kLong, [&](std::shared_ptr<Processes> const& processes) {
    EXPECT_TRUE(agree_on_settings(*processes, {{"--batch", "4"}, {"--steps", "9"}}).has_value());
    std::string const steps = processes->rank() == 2 ? "8" : "9";
    EXPECT_EQ(agree_on_settings(*processes, {{"--batch", "4"}, {"--steps", steps}}).error().message,
              "rank 2 has --steps 8, rank 0 9: start all processes with the same options");
  });
}

TEST(MergedResults, HaveAllDevicesAndTheMeanLoss) {
  as_processes(2, kLong, [&](std::shared_ptr<Processes> const& processes) {
    TrainingResult result;
    uint32_t const rank = result.rank = processes->rank();
    result.processes = 2;
    result.step_ns = {{10 + rank, 20 + rank}};
    result.losses = {
        {"", {1.0 + rank, rank == 0 ? 2.0 : std::numeric_limits<double>::quiet_NaN()}}};
    result.weights_checksums = {rank};
    result.counts.kernels = 100 + rank;
    result.memory = {{1, 2, 3, 4, 5 + rank}};

    int64_t correct = 10 + rank;
    merge_results(*processes, result, correct);

    EXPECT_THAT(result.step_ns, ElementsAre(ElementsAre(10, 20), ElementsAre(11, 21)));
    EXPECT_EQ(result.losses[0].by_step[0], 1.5);
    EXPECT_TRUE(std::isnan(result.losses[0].by_step[1]));
    EXPECT_THAT(result.weights_checksums, ElementsAre(0, 1));
    EXPECT_EQ(result.counts.kernels, 201U);
    EXPECT_EQ(result.memory[1].peak_reserved_bytes, 6U);
    EXPECT_EQ(correct, 21);
  });
}

/// N processes with M members each against one process with N × M.
class ProcessRingOf : public ::testing::TestWithParam<std::pair<uint32_t, uint32_t>> {
 protected:
  static uint32_t processes() { return GetParam().first; }
  static uint32_t local() { return GetParam().second; }
  static uint32_t members() { return processes() * local(); }
  static std::vector<Array> random_arrays(size_t count) {
    std::vector<Array> arrays;
    for (uint32_t rank = 0; rank < members(); ++rank) {
      Random random = Random::of(count, rank);
      std::generate_n(std::back_inserter(arrays.emplace_back()), count,
                      [&] { return random.uniform(-1.0F, 1.0F); });
    }
    return arrays;
  }
  /// Runs `work(ring, member)` on a thread for each member, in one process and in several.
  template <class Work>
  static void in_one(Work const& work) {
    host::Ring ring(std::make_unique<host::ThreadTransport>(members()));
    on_threads(0, members(), [&](uint32_t member) { work(ring, member); });
  }
  template <class Work>
  static void in_several(Work const& work) {
    as_processes(processes(), kLong, [&](std::shared_ptr<Processes> const& here) {
      host::Ring ring(std::make_unique<host::ProcessTransport>(here, local()));
      EXPECT_EQ(ring.members(), members());
      on_threads(here->rank() * local(), local(), [&](uint32_t member) { work(ring, member); });
    });
  }
  template <class Work>
  static void on_threads(uint32_t first, uint32_t count, Work const& work) {
    std::vector<std::thread> threads;
    for (uint32_t member = first; member < first + count; ++member)
      threads.emplace_back([&work, member] { work(member); });
    for (std::thread& thread : threads) thread.join();
  }
};

TEST_P(ProcessRingOf, EveryCollectiveGivesTheBitsOfOneProcess) {
  for (size_t const part : {0U, 1U, 3U, 1'001U, 70'001U}) {
    size_t const count = part * members();
    std::vector<Array> const start = random_arrays(count);
    auto const run = [&](std::vector<Array>& results, host::Ring& ring, uint32_t member) {
      Array data = start[member], scattered(part), gathered(count), root = start[member];

      // The counts of an all-reduce need not be divisible.
      ring.exchange(
          member, {CollectiveOp::kAllReduce, data.data(), data.data(), count > 0 ? count - 1 : 0});
      ring.exchange(member,
                    {CollectiveOp::kReduceScatter, start[member].data(), scattered.data(), count});
      ring.exchange(member, {CollectiveOp::kAllGather, scattered.data(), gathered.data(), count});
      ring.exchange(member,
                    {CollectiveOp::kBroadcast, root.data(), root.data(), count, members() - 1});

      for (Array const& result : {scattered, gathered, root})
        data.insert(data.end(), result.begin(), result.end());
      results[member] = std::move(data);
    };

    std::vector<Array> one(members()), several(members());
    in_one([&](host::Ring& ring, uint32_t member) { run(one, ring, member); });
    in_several([&](host::Ring& ring, uint32_t member) { run(several, ring, member); });
    EXPECT_EQ(one, several) << part;
  }
}

TEST_P(ProcessRingOf, InPlaceReduceScatterAndAllGatherGiveTheBitsOfTheAllReduce) {
  constexpr size_t kPart = 40'001;
  size_t const count = kPart * members();
  std::vector<Array> const start = random_arrays(count);
  in_several([&](host::Ring& ring, uint32_t member) {
    Array in_two = start[member], in_one = start[member];
    float* const own = in_two.data() + member * kPart;
    ring.exchange(member, {CollectiveOp::kReduceScatter, in_two.data(), own, count});
    ring.exchange(member, {CollectiveOp::kAllGather, own, in_two.data(), count});
    ring.exchange(member, {CollectiveOp::kAllReduce, in_one.data(), in_one.data(), count});

    EXPECT_EQ(in_two, in_one);
  });
}

TEST_P(ProcessRingOf, MessagesArriveInOrderAndASendWaitsForNoReceive) {
  constexpr size_t kMessages = 10;
  in_several([&](host::Ring& ring, uint32_t member) {
    for (size_t message = 0; message < kMessages; ++message) {
      for (uint32_t to = 0; to < members(); ++to) {
        Array const data(message + 1, static_cast<float>(message * 100 + member));
        ring.exchange(member, {CollectiveOp::kSend, data.data(), nullptr, data.size(), to});
      }
    }

    for (uint32_t from = 0; from < members(); ++from) {
      for (size_t message = 0; message < kMessages; ++message) {
        Array data(message + 1);
        ring.exchange(member, {CollectiveOp::kReceive, nullptr, data.data(), data.size(), from});
        EXPECT_THAT(data, Each(static_cast<float>(message * 100 + from)));
      }
    }
  });
}

TEST_P(ProcessRingOf, CollectivesReturnWhenAProcessIsGone) {
  as_processes(processes(), kShort, [&](std::shared_ptr<Processes> const& here) {
    if (here->rank() == 1) return;  // parts, which the others do not expect
    host::Ring ring(std::make_unique<host::ProcessTransport>(here, local()));
    on_threads(here->rank() * local(), local(), [&](uint32_t member) {
      Array data(100, 1.0F);
      for (int i = 0; i < 3; ++i)
        ring.exchange(member, {CollectiveOp::kAllReduce, data.data(), data.data(), data.size()});
    });

    EXPECT_TRUE(here->failure().has_value());
  });
}

INSTANTIATE_TEST_SUITE_P(Several, ProcessRingOf,
                         ::testing::Values(std::pair{2U, 1U}, std::pair{3U, 1U}, std::pair{2U, 2U},
                                           std::pair{4U, 1U}));

}  // namespace
}  // namespace stepscope::workloads
