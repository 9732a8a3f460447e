// How the GPUs of several processes connect and part, with a fake NCCL and a fake MPI. The id of
// rank 0 comes to all, and no process stays inside NCCL. A fault in one process ends the waiting in
// all of them, with its reason.
#include "workloads/backend/cuda/nccl_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <thread>

#include "tests/support/fake_mpi.h"
#include "tests/unit/workloads_cuda/fake_nccl.h"
#include "workloads/backend/cuda/exchange.h"

namespace stepscope::workloads::cuda {
namespace {

using mpi::Processes;
using mpi::testing::as_processes;
using mpi::testing::FakeMpi;
using ::testing::AllOf;
using ::testing::AnyOf;
using testing::FakeNccl;
using ::testing::HasSubstr;

/// The short one is reached on purpose, and what a busy machine does before fits into it.
constexpr std::chrono::milliseconds kLong{60'000}, kShort{1'000};
constexpr uint32_t kProcesses = 3;

class NcclOfProcesses : public ::testing::Test {
 protected:
  void SetUp() override { FakeNccl::clear(); }

  static base::Expected<std::unique_ptr<NcclGroup>> connect(Processes& processes,
                                                            std::vector<int> const& gpus = {0},
                                                            bool shared = false) {
    return NcclGroup::connect(FakeNccl::table(),
                              {gpus, [](int gpu) { FakeNccl::active_gpu() = gpu; }, shared},
                              processes);
  }
  /// A whole group of one GPU a process.
  static std::unique_ptr<Exchange> open(std::shared_ptr<Processes> const& processes) {
    auto group = std::make_unique<Exchange>(processes->size(), processes);
    group->use_nccl(connect(*processes).value());
    processes->all_gather("");  // no process fails before all are connected
    return group;
  }
  static FakeNccl::Communicator& of(Processes const& processes) {
    return FakeNccl::of_rank(static_cast<int>(processes.rank()));
  }
  /// The reason of a group that a test has broken.
  static std::string awaited_reason(Exchange& group) {
    while (group.why_broken().empty()) std::this_thread::yield();
    return group.why_broken();
  }
};

TEST_F(NcclOfProcesses, ConnectsTheGpusOfAllByTheIdOfRankZero) {
  as_processes(kProcesses, kLong, [](std::shared_ptr<Processes> const& processes) {
    auto const group = connect(*processes, {5, 7});
    ASSERT_TRUE(group.has_value()) << group.error().message;

    for (uint32_t i = 0; i < 2; ++i) {
      FakeNccl::Communicator const& made =
          FakeNccl::of_rank(static_cast<int>(2 * processes->rank() + i));
      EXPECT_EQ(made.size, 6);
      EXPECT_EQ(made.gpu, i == 0 ? 5 : 7);
      EXPECT_EQ(made.id.substr(0, 3), std::string("a\0b", 3));
      EXPECT_EQ(made.id.size(), sizeof(ncclUniqueId));
    }
  });

  EXPECT_EQ(FakeMpi::finished(), kProcesses);
  for (int rank = 0; rank < 6; ++rank) {
    EXPECT_TRUE(FakeNccl::of_rank(rank).destroyed);
    EXPECT_FALSE(FakeNccl::of_rank(rank).aborted);
  }
}

// NCCL starts a thread for each group of calls on a communicator that does not block. One that
// blocks while it connects holds a process whose peer is gone.
TEST_F(NcclOfProcesses, ConnectsWithoutBlockingAndWorksOnACommunicatorThatBlocks) {
  as_processes(2, kLong, [](std::shared_ptr<Processes> const& processes) {
    auto const group = connect(*processes);
    ASSERT_TRUE(group.has_value()) << group.error().message;
    EXPECT_EQ(FakeNccl::parent_of_rank(static_cast<int>(processes->rank())).blocking, 0);
    EXPECT_EQ(of(*processes).blocking, 1);
    EXPECT_TRUE((*group)
                    ->call(0,
                           [&](Nccl const&, ncclComm_t communicator) {
                             EXPECT_EQ(&FakeNccl::of(communicator), &of(*processes));
                             return ncclSuccess;
                           })
                    .has_value());
  });

  for (int const rank : {0, 1}) {
    EXPECT_TRUE(FakeNccl::of_rank(rank).destroyed);
    EXPECT_TRUE(FakeNccl::parent_of_rank(rank).destroyed);
  }
}

TEST_F(NcclOfProcesses, WorksOnTheOneThatDoesNotBlockWhereNcclCannotSplit) {
  FakeNccl::behaviour().version = NCCL_VERSION(2, 17, 1);
  as_processes(2, kLong, [](std::shared_ptr<Processes> const& processes) {
    auto const group = connect(*processes);
    ASSERT_TRUE(group.has_value()) << group.error().message;
    EXPECT_EQ(of(*processes).blocking, 0);
    EXPECT_FALSE(FakeNccl::has_parent(static_cast<int>(processes->rank())));
  });
}

TEST_F(NcclOfProcesses, ASplitThatFailsEndsAllAndIsSaid) {
  FakeNccl::behaviour().split = ncclInternalError;
  as_processes(2, kLong, [](std::shared_ptr<Processes> const& processes) {
    auto const group = connect(*processes);
    ASSERT_FALSE(group.has_value());
    EXPECT_THAT(group.error().message,
                AllOf(HasSubstr("cannot split"), HasSubstr("made error"), HasSubstr("NCCL_DEBUG")));
  });
  for (int const rank : {0, 1}) EXPECT_TRUE(FakeNccl::of_rank(rank).aborted);
}

TEST_F(NcclOfProcesses, ASplitThatNeverEndsIsGivenUp) {
  as_processes(2, kShort, [](std::shared_ptr<Processes> const& processes) {
    Nccl table = FakeNccl::table();
    table.split = [](ncclComm_t parent, int, int, ncclComm_t* made, ncclConfig_t*) {
      *made = nullptr;
      FakeNccl::of(parent).looks_until_done = std::numeric_limits<int>::max();
      return ncclInProgress;
    };

    auto const group = NcclGroup::connect(table, {{0}, [](int) {}}, *processes);
    ASSERT_FALSE(group.has_value());
    EXPECT_THAT(group.error().message,
                AnyOf(HasSubstr("did not connect"), HasSubstr("nothing came from")));
  });
  for (int const rank : {0, 1}) EXPECT_TRUE(FakeNccl::of_rank(rank).aborted);
}

TEST_F(NcclOfProcesses, AnIdThatCannotBeMadeIsAnErrorOfAll) {
  FakeNccl::behaviour().id = ncclSystemError;
  as_processes(kProcesses, kLong, [](std::shared_ptr<Processes> const& processes) {
    auto const group = connect(*processes);
    ASSERT_FALSE(group.has_value());
    EXPECT_THAT(group.error().message,
                AllOf(HasSubstr("no id"), HasSubstr("made error"), HasSubstr("NCCL_DEBUG")));
    EXPECT_EQ(group.error().message.starts_with("rank 0"), processes->rank() != 0);
  });
}

TEST_F(NcclOfProcesses, ThatIsTooOldIsSaid) {
  FakeNccl::behaviour().version = NCCL_VERSION(2, 13, 4);
  as_processes(2, kLong, [](std::shared_ptr<Processes> const& processes) {
    EXPECT_THAT(connect(*processes).error().message, HasSubstr("NCCL 2.14 or newer"));
  });
}

TEST_F(NcclOfProcesses, SharesAGpuWhereItIsNewEnough) {
  for (bool const is_new : {false, true}) {
    FakeNccl::behaviour().version = is_new ? NCCL_VERSION(2, 30, 0) : NCCL_VERSION(2, 29, 9);
    as_processes(2, kLong, [&](std::shared_ptr<Processes> const& processes) {
      auto const group = connect(*processes, {0}, true);
      ASSERT_EQ(group.has_value(), is_new);
      if (!is_new) {
        EXPECT_THAT(group.error().message,
                    AllOf(HasSubstr("NCCL 2.30 or newer"), HasSubstr("--device cuda")));
      }
    });
  }

  ::unsetenv("NCCL_MULTI_RANK_GPU_ENABLE");
}

TEST_F(NcclOfProcesses, OneThatCannotConnectFreesTheOthersFromWaitingForIt) {
  FakeNccl::behaviour().refused[1] = ncclInvalidUsage;
  FakeNccl::behaviour().looks_until_connected =
      std::numeric_limits<int>::max();  // the others cannot without rank 1

  as_processes(kProcesses, kLong, [](std::shared_ptr<Processes> const& processes) {
    auto const group = connect(*processes);
    ASSERT_FALSE(group.has_value());
    EXPECT_THAT(group.error().message,
                AllOf(HasSubstr("NCCL cannot connect it"), HasSubstr("made error")));
    EXPECT_EQ(group.error().message.starts_with("rank 1 cannot go on"), processes->rank() != 1);
  });

  EXPECT_FALSE(FakeNccl::has_rank(1));
  for (int const rank : {0, 2}) EXPECT_TRUE(FakeNccl::of_rank(rank).aborted);
}

TEST_F(NcclOfProcesses, ThatNeverConnectsIsGivenUp) {
  FakeNccl::behaviour().looks_until_connected = std::numeric_limits<int>::max();
  as_processes(2, kShort, [](std::shared_ptr<Processes> const& processes) {
    auto const group = connect(*processes);
    ASSERT_FALSE(group.has_value());
    EXPECT_THAT(group.error().message,
                AnyOf(HasSubstr("did not connect"), HasSubstr("nothing came from")));
  });
  for (int const rank : {0, 1}) EXPECT_TRUE(FakeNccl::of_rank(rank).aborted);
}

TEST_F(NcclOfProcesses, ACallIsWaitedForUntilNcclHasTakenIt) {
  as_processes(2, kLong, [](std::shared_ptr<Processes> const& processes) {
    auto const group = open(processes);
    FakeNccl::Communicator& mine = of(*processes);
    auto const call = [&](ncclResult_t result) {
      return group->call_nccl(processes->rank(), [&](Nccl const&, ncclComm_t communicator) {
        EXPECT_EQ(&FakeNccl::of(communicator), &mine);
        return result;
      });
    };

    EXPECT_TRUE(call(ncclSuccess).has_value());
    mine.looks_until_done = 5;
    EXPECT_TRUE(call(ncclInProgress).has_value());
    EXPECT_EQ(mine.looks_until_done.load(), 0);
    EXPECT_THAT(call(ncclInvalidArgument).error().message, HasSubstr("NCCL: made error"));
  });
}

TEST_F(NcclOfProcesses, AnErrorThatNcclFindsEndsAllAndIsToldToTheOthers) {
  as_processes(kProcesses, kLong, [](std::shared_ptr<Processes> const& processes) {
    auto const group = open(processes);
    if (processes->rank() == 1) of(*processes).state = ncclRemoteError;

    EXPECT_THAT(awaited_reason(*group), HasSubstr("NCCL: made error"));
    EXPECT_EQ(group->why_broken().starts_with("rank 1 cannot go on"), processes->rank() != 1);
    EXPECT_THAT(group->call_nccl(processes->rank(), {}).error().message,
                HasSubstr("another device failed"));
    while (!of(*processes).aborted) std::this_thread::yield();
  });

  for (int rank = 0; rank < static_cast<int>(kProcesses); ++rank)
    EXPECT_FALSE(FakeNccl::of_rank(rank).destroyed) << rank;
}

TEST_F(NcclOfProcesses, ADeviceThatFailsEndsTheOthersWithItsReason) {
  as_processes(2, kLong, [](std::shared_ptr<Processes> const& processes) {
    auto const group = open(processes);
    if (processes->rank() == 1) group->break_up("cuda:1: conv1.forward: out of luck");
    std::string const reason = awaited_reason(*group);
    EXPECT_EQ(reason, processes->rank() == 1
                          ? "cuda:1: conv1.forward: out of luck"
                          : "rank 1 cannot go on: cuda:1: conv1.forward: out of luck");
  });
}

TEST_F(NcclOfProcesses, OneThatGivesUpEndsAnothersWaitInsideNccl) {
  as_processes(2, kLong, [](std::shared_ptr<Processes> const& processes) {
    auto const group = open(processes);
    if (processes->rank() == 1) return processes->give_up("out of luck");
    of(*processes).looks_until_done = std::numeric_limits<int>::max();
    auto const call = group->call_nccl(0, [](Nccl const&, ncclComm_t) { return ncclInProgress; });
    ASSERT_FALSE(call.has_value());
    EXPECT_THAT(call.error().message,
                HasSubstr("another device failed: rank 1 cannot go on: out of luck"));
  });
}

TEST_F(NcclOfProcesses, OneThatIsSilentEndsTheGroup) {
  as_processes(2, kShort, [](std::shared_ptr<Processes> const& processes) {
    if (processes->rank() == 1) {
      // As far as the others see: connected, and then stopped.
      ASSERT_TRUE(processes->agree({}).has_value());
      processes->all_gather("s");
      return;
    }

    Exchange group(2, processes);
    group.use_nccl(connect(*processes).value());
    EXPECT_THAT(awaited_reason(group), HasSubstr("nothing came from rank 1"));
  });

  EXPECT_TRUE(FakeNccl::of_rank(0).aborted);
}

TEST_F(NcclOfProcesses, AGroupKnowsItsPlaceAmongTheProcesses) {
  as_processes(2, kLong, [](std::shared_ptr<Processes> const& processes) {
    Exchange group(6, processes);
    group.use_nccl(connect(*processes, {0, 1, 2}).value());
    EXPECT_EQ(group.members(), 6U);
    EXPECT_EQ(group.first_member(), 3 * processes->rank());
    EXPECT_FALSE(group.is_in_one_process());

    auto const call =
        group.call_nccl(group.first_member() + 2, [&](Nccl const&, ncclComm_t communicator) {
          EXPECT_EQ(FakeNccl::of(communicator).rank, static_cast<int>(3 * processes->rank() + 2));
          return ncclSuccess;
        });
    EXPECT_TRUE(call.has_value());
  });
}

TEST(NcclOfOneProcess, IsConnectedAtOnceAndAbortedWhereADeviceFails) {
  FakeNccl::clear();
  {
    Exchange group(2);
    EXPECT_TRUE(group.is_in_one_process());
    EXPECT_EQ(group.watch(), nullptr);
    group.use_nccl(NcclGroup::connect(FakeNccl::table(), {0, 1}).value());

    int called = -1;
    EXPECT_TRUE(group
                    .call_nccl(1,
                               [&](Nccl const&, ncclComm_t one) {
                                 called = FakeNccl::of(one).rank;
                                 return ncclSuccess;
                               })
                    .has_value());
    EXPECT_EQ(called, 1);
    group.break_up("cuda:0: out of luck");
  }

  for (int const rank : {0, 1}) {
    EXPECT_TRUE(FakeNccl::of_rank(rank).aborted);
    EXPECT_FALSE(FakeNccl::of_rank(rank).destroyed);
  }
}

}  // namespace
}  // namespace stepscope::workloads::cuda
