// Training in two processes that NCCL's double connects, as mpirun starts them. They reach the
// weights of one process with two GPUs, both traces have the collectives, and a killed rank ends
// the other.
#include <iterator>
#include <set>
#include <utility>

#include "analyzer/analyze.h"
#include "analyzer/results/analysis.h"
#include "tests/cuda_doubles/tests/over_doubles.h"
#include "tests/support/mpirun.h"

namespace stepscope::cuda_doubles {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char const* kTraining = " mnist --batch 2 --no-evaluate --log-every 0";
constexpr char const* kTwoSteps = " --steps 2";
constexpr char const* kTwoGpus = "DOUBLE_CUDA_DEVICES=2 DOUBLE_CUPTI_LEDGER=handed ";
/// Until rank 1's trace has steps, then kills its training.
constexpr char const* kKillRankOne =
    "for i in $(seq 600); do [ \"$(cat run/rank-1.stepscope 2>/dev/null | wc -c)\" -gt 20000 ] && "
    "break; sleep 0.1; done\n"
    "for pid in $(pgrep -f 'stepscope run mnist'); do\n"
    "  [ \"$(readlink /proc/$pid/cwd)\" = \"$(pwd -P)\" ] || continue\n"
    "  tr '\\0' ' ' < /proc/$pid/cmdline | grep -q '^[^ ]*stepscope run ' || continue\n"
    "  tr '\\0' '\\n' < /proc/$pid/environ | grep -qx OMPI_COMM_WORLD_RANK=1 && kill -KILL $pid\n"
    "done\n"
    "wait $launcher";

class CudaProcessesOverDoubles : public OverDoubles {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(support::build_path("cuda_doubles/lib/libstepscope-mpi.so")))
      GTEST_SKIP() << "Stepscope was built without MPI (apt: libopenmpi-dev)";
    if (shell("command -v mpirun pgrep").code != 0)
      GTEST_SKIP() << "needs Open MPI's mpirun (apt: openmpi-bin) and pgrep (procps)";
    auto const trial = shell(in_two("true", ""));
    if (trial.code != 0) GTEST_SKIP() << "two processes do not start here: " << trial.output;
  }
  /// The shell's command for two processes over the doubles; bounded in time, should they wait for
  /// each other for ever.
  [[nodiscard]] std::string in_two(std::string const& command,
                                   std::string const& mpi_options) const {
    return command_over_doubles(
        "timeout 240 mpirun --oversubscribe " + mpi_options + " -n 2 " + command,
        kTwoGpus + support::mpirun_environment());
  }
  /// Tracks of threads with rows, of all ranks.
  [[nodiscard]] size_t threads_of(std::string const& run_folder) const {
    auto const run = import::open_run(path(run_folder));
    if (!run) return 0;

    std::set<std::pair<size_t, uint32_t>> threads;
    for (size_t rank = 0; rank < run->ranks.size(); ++rank) {
      model::Trace const& trace = run->ranks[rank].trace;
      for (model::TrackId const track : trace.columns().track)
        if (trace.tracks()[track.value].kind == model::TrackKind::kThread)
          threads.insert({rank, track.value});
    }
    return threads.size();
  }
  /// The file `parts` has the weights that one process with two GPUs trains.
  void expect_weights_of_one_process(std::string const& training) const {
    auto const whole =
        over_doubles("run" + training + " --device cuda:all --checkpoint whole", kTwoGpus);
    ASSERT_EQ(whole.code, 0) << whole.output;
    EXPECT_FALSE(bytes_of("whole").empty());
    EXPECT_EQ(bytes_of("parts"), bytes_of("whole"));
  }
  [[nodiscard]] std::string bytes_of(std::string const& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
};

TEST_F(CudaProcessesOverDoubles, TrainTheWeightsOfOneProcessAndRecordEachCollective) {
  auto const parts = shell(in_two(program_over_doubles() + " profile -o run" + kTraining +
                                      kTwoSteps + " --device cuda --checkpoint parts",
                                  ""));
  ASSERT_EQ(parts.code, 0) << parts.output;
  expect_weights_of_one_process(kTraining + std::string(kTwoSteps));

  expect_all_rows(rows_of("run"), handed());
  auto const run = import::open_run(path("run"));
  ASSERT_TRUE(run) << run.error().message;
  ASSERT_EQ(run->ranks.size(), 2U);
  analyzer::Analysis const analysis = analyzer::analyze(*run);
  EXPECT_GT(analysis.collectives.size(), 0U);
  for (analyzer::CollectiveStats const& collective : analysis.collectives)
    EXPECT_EQ(collective.participants.size(), 2U);
}

/// As NCCL does since 2.23, the double starts a thread for each call on a communicator that does
/// not block. Each would launch a kernel outside of the annotations of the thread that trains.
TEST_F(CudaProcessesOverDoubles, CollectivesNeedNoThreadsOfTheirOwn) {
  std::string const training =
      program_over_doubles() + " profile" + kTraining + " --device cuda -o ";
  for (char const* const steps : {"2", "6"}) {
    auto const done = shell(in_two(training + "split" + steps + " --steps " + steps, ""));
    ASSERT_EQ(done.code, 0) << done.output;
  }
  EXPECT_GT(threads_of("split2"), 0U);
  EXPECT_EQ(threads_of("split6"), threads_of("split2"));
}

TEST_F(CudaProcessesOverDoubles, TrainWithAnNcclThatCannotSplit) {
  auto const parts = shell("export DOUBLE_NCCL_VERSION=21701; " +
                           in_two(program_over_doubles() + " run" + kTraining + kTwoSteps +
                                      " --device cuda --checkpoint parts",
                                  ""));
  ASSERT_EQ(parts.code, 0) << parts.output;
  expect_weights_of_one_process(kTraining + std::string(kTwoSteps));
}

/// Such an NCCL has a communicator that does not block, and a thread of its own for each call.
TEST_F(CudaProcessesOverDoubles, ThreadsThatNcclStartsForCallsShareATrack) {
  std::string const training =
      program_over_doubles() + " profile" + kTraining + " --device cuda -o ";
  for (char const* const steps : {"2", "30"}) {
    auto const done = shell("export DOUBLE_NCCL_VERSION=21701; rm -rf handed; mkdir handed; " +
                            in_two(training + "own" + steps + " --steps " + steps, ""));
    ASSERT_EQ(done.code, 0) << done.output;
  }

  Rows const rows = rows_of("own30");
  expect_all_rows(rows, handed());
  uint64_t const calls = rows.of(model::EventKind::kCollectiveCall);
  EXPECT_GE(calls, 2 * 30U);
  // A thread keeps its track where CUDA's rows come before NCCL's: hardly one, as each is short.
  EXPECT_LE(threads_of("own30"), threads_of("own2") + calls / 10);
}

/// Gradients are reduce-scattered, weights gathered.
TEST_F(CudaProcessesOverDoubles, ShardedUpdatesAreThoseOfOneProcess) {
  std::string const options =
      " gpt --layers 1 --width 32 --heads 2 --context 16 --batch 2 --steps 2 --no-evaluate "
      "--log-every 0 --zero1";
  auto const parts = shell(
      in_two(program_over_doubles() + " run" + options + " --device cuda --checkpoint parts", ""));
  ASSERT_EQ(parts.code, 0) << parts.output;
  expect_weights_of_one_process(options);
}

TEST_F(CudaProcessesOverDoubles, AKilledRankEndsTheOtherWhichSaysSo) {
  std::string const training = program_over_doubles() + " record -o run -- " +
                               program_over_doubles() + " run" + kTraining +
                               " --device cuda --steps 1000000";
  auto const outcome =
      shell(in_two(training, "--enable-recovery") + " & launcher=$!\n" + kKillRankOne);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("rank 1 is gone"), HasSubstr("can be read")));

  auto const run = import::open_run(path("run"));
  ASSERT_TRUE(run) << run.error().message;
  ASSERT_EQ(run->ranks.size(), 2U);
  for (model::RankTrace const& rank : run->ranks) {
    EXPECT_GT(rank.trace.event_count(), 100U);
    EXPECT_EQ(rank.trace.log().lost_blocks, 0U);
  }
}

}  // namespace
}  // namespace stepscope::cuda_doubles
