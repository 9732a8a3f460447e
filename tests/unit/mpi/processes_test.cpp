// Several processes, played by threads: who they are, what they gather, and one that says nothing
// any more.
#include "mpi/processes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>
#include <memory>

#include "tests/support/fake_mpi.h"

namespace stepscope::mpi {
namespace {

using ::testing::AllOf;
using testing::as_processes;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::chrono::milliseconds kLong{60'000}, kShort{100};

/// Sets variables of the environment and takes them away again.
class Environment {
 public:
  explicit Environment(std::vector<std::pair<char const*, char const*>> variables)
      : variables_(std::move(variables)) {
    for (auto const& [name, value] : variables_) setenv(name, value, 1);
  }
  ~Environment() {
    for (auto const& [name, value] : variables_) unsetenv(name);
  }
  Environment(Environment const&) = delete;
  Environment& operator=(Environment const&) = delete;

 private:
  std::vector<std::pair<char const*, char const*>> variables_;
};

TEST(Launch, IsWhatTheLauncherSays) {
  EXPECT_EQ(launch_from_environment(), std::nullopt);

  {
    Environment const mpirun({{"OMPI_COMM_WORLD_RANK", "5"},
                              {"OMPI_COMM_WORLD_SIZE", "8"},
                              {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                              {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}});
    EXPECT_EQ(launch_from_environment(), (Launch{5, 8, 1, 4}));
  }

  {
    Environment const srun({{"SLURM_PROCID", "3"},
                            {"SLURM_STEP_NUM_TASKS", "6"},
                            {"SLURM_LOCALID", "1"},
                            {"SLURM_STEP_TASKS_PER_NODE", "2(x3)"}});
    EXPECT_EQ(launch_from_environment(), (Launch{3, 6, 1, 2}));
  }

  {
    Environment const torchrun({{"RANK", "1"}, {"WORLD_SIZE", "2"}});
    EXPECT_EQ(launch_from_environment(), (Launch{1, 2, 0, 1}));
  }
}

TEST(Launch, OfOneProcessOrOfABatchScriptIsNone) {
  {
    Environment const one({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}});
    EXPECT_EQ(launch_from_environment(), std::nullopt);
  }
  Environment const script({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}});
  EXPECT_EQ(launch_from_environment(), std::nullopt);
}

TEST(Launch, IsDirectOnlyOfLaunchersOfMpi) {
  {
    Environment const mpirun({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}});
    // The test's own parent was not started with these.
    EXPECT_EQ(direct_launch_from_environment(), (Launch{1, 2, 0, 1}));
    EXPECT_TRUE(has_passed_on_output());
    EXPECT_TRUE(has_process_manager());
  }

  {
    Environment const torchrun({{"RANK", "1"}, {"WORLD_SIZE", "2"}});
    EXPECT_EQ(direct_launch_from_environment(), std::nullopt);
    EXPECT_FALSE(has_passed_on_output());
  }

  Environment const srun({{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}});
  EXPECT_FALSE(has_process_manager());
  Environment const pmix({{"PMIX_RANK", "1"}, {"PMIX_NAMESPACE", "1"}});
  EXPECT_TRUE(has_process_manager());
}

TEST(Processes, GatherWhatEachSays) {
  as_processes(3, kLong, [](std::shared_ptr<Processes> const& processes) {
    std::string const mine(processes->rank() * 1'000, 'x');
    EXPECT_THAT(processes->all_gather(mine),
                ElementsAre("", std::string(1'000, 'x'), std::string(2'000, 'x')));
  });
}

TEST(Processes, AllFailWhenOneDoesAndSayWhich) {
  as_processes(3, kLong, [](std::shared_ptr<Processes> const& processes) {
    base::Expected<void> mine;
    if (processes->rank() == 1) mine = base::fail("out of memory");
    auto const all = processes->agree(mine);
    ASSERT_FALSE(all.has_value());
    EXPECT_EQ(all.error().message,
              processes->rank() == 1 ? "out of memory" : "rank 1: out of memory");
  });
}

TEST(Processes, OneThatSaysNothingIsGivenUpByAllThatWaitForIt) {
  as_processes(2, kShort, [](std::shared_ptr<Processes> const& processes) {
    if (processes->rank() == 1) {
      // It waits for a message that no rank sends, and so do the others.
      float nothing = 0;
      EXPECT_FALSE(processes->receive(0, 0, &nothing, sizeof nothing));
      return;
    }

    float nothing = 0;
    EXPECT_FALSE(processes->receive(1, 0, &nothing, sizeof nothing));
    EXPECT_THAT(processes->failure().value_or(""),
                AllOf(HasSubstr("rank 1"), HasSubstr("0.1 s"), HasSubstr("--collective-timeout")));
    EXPECT_THAT(processes->all_gather("more"), Each(""));  // returns at once
  });
}

/// Waits for the failure that a test has made.
std::string awaited_failure(Processes const& processes) {
  while (!processes.failure()) std::this_thread::yield();
  return *processes.failure();
}

TEST(WatchingProcesses, LeaveInGoodOrder) {
  as_processes(3, kLong, [](std::shared_ptr<Processes> const& processes) {
    processes->watch();
    EXPECT_THAT(processes->all_gather("x"), Each("x"));
    EXPECT_EQ(processes->failure(), std::nullopt);
  });
  EXPECT_EQ(testing::FakeMpi::finished(), 3U);
}

TEST(WatchingProcesses, AllFailWhenOneGivesUpAndSayWhy) {
  as_processes(3, kLong, [](std::shared_ptr<Processes> const& processes) {
    processes->watch();
    std::string const why = "out of luck, " + std::string(5'000, 'x');
    if (processes->rank() == 1) processes->give_up(why);

    std::string const failure = awaited_failure(*processes);
    if (processes->rank() == 1) {
      EXPECT_EQ(failure, why);
    } else {
      EXPECT_THAT(failure, HasSubstr("rank 1 cannot go on: out of luck, xxx"));
    }
  });
  EXPECT_EQ(testing::FakeMpi::finished(), 0U);  // MPI would wait for those that have failed
}

TEST(WatchingProcesses, NoticeOneThatIsSilentThoughNobodyWaitsForItsMessages) {
  as_processes(2, kShort, [](std::shared_ptr<Processes> const& processes) {
    if (processes->rank() == 1) return;
    processes->watch();
    EXPECT_THAT(awaited_failure(*processes),
                AllOf(HasSubstr("nothing came from rank 1"), HasSubstr("0.1 s")));
  });
}

TEST(WatchingProcesses, GiveUpOneThatLivesAndDoesNotAnswer) {
  as_processes(2, kShort, [](std::shared_ptr<Processes> const& processes) {
    processes->watch();
    float nothing = 0;
    EXPECT_FALSE(processes->receive(1 - processes->rank(), 0, &nothing, sizeof nothing));
    EXPECT_THAT(processes->failure().value_or(""), HasSubstr("nothing came from rank"));
  });
}

}  // namespace
}  // namespace stepscope::mpi
