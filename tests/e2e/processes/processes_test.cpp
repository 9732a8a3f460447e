// Training in several processes, as mpirun starts them: the weights of one process, a trace for
// each rank, and what the others do when one is killed, hangs or fails.
#include <fstream>
#include <iterator>
#include <map>
#include <string_view>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "analyzer/analyze.h"
#include "analyzer/results/analysis.h"
#include "tests/e2e/processes/under_mpirun.h"
#include "trace/import/open/open_run.h"

namespace stepscope::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Until a trace has steps, then: kill with this signal the training of rank 1.
constexpr char const* kHurtRankOne =
    "for i in $(seq 600); do [ \"$(cat run/rank-1.stepscope 2>/dev/null | wc -c)\" -gt 20000 ] && "
    "break; sleep 0.1; done\n"
    "for pid in $(pgrep -f 'stepscope run cifar10'); do\n"
    "  [ \"$(readlink /proc/$pid/cwd)\" = \"$(pwd -P)\" ] || continue\n"
    "  tr '\\0' ' ' < /proc/$pid/cmdline | grep -q '^[^ ]*stepscope run ' || continue\n"
    "  tr '\\0' '\\n' < /proc/$pid/environ | grep -qx OMPI_COMM_WORLD_RANK=1 && kill -SIGNAL $pid\n"
    "done\n"
    "wait $launcher";

class SeveralProcesses : public ProgramUnderMpirun {
 protected:
  [[nodiscard]] std::string bytes_of(std::string const& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  /// Trains without end in three processes, hurts rank 1, and returns what all of them printed.
  [[nodiscard]] Outcome hurt_rank_one(std::string const& signal, std::string const& mpi_options,
                                      std::string const& options = "") const {
    std::string script = kHurtRankOne;
    script.replace(script.find("SIGNAL"), 6, signal);
    // By default mpirun kills the others a second after it has asked them to end. On a busy machine
    // they have not written their traces by then.
    std::string const patience = " --mca odls_base_sigkill_timeout 3";
    return shell(mpirun(3, mpi_options + patience) + program() + " record -o run -- " + program() +
                 " run cifar10 --batch 4 --steps 1000000 --no-evaluate --log-every 0 " + options +
                 " & launcher=$!\n" + script);
  }
  /// The traces of ranks 0 and 2 are whole, that of rank 1 can be read as far as it goes.
  void expect_readable_run() const {
    auto const run = import::open_run(path("run"));
    ASSERT_TRUE(run) << run.error().message;
    ASSERT_EQ(run->ranks.size(), 3U);

    for (model::RankTrace const& rank : run->ranks) {
      EXPECT_GT(rank.trace.event_count(), 100U);
      EXPECT_EQ(rank.trace.log().lost_blocks, 0U);
      EXPECT_TRUE(rank.trace.info().rank == 1 || !rank.trace.log().truncated)
          << rank.trace.info().rank;
    }
    EXPECT_EQ(stepscope("analyze run").code, 0);
  }
};

TEST_F(SeveralProcesses, TrainTheWeightsOfOneProcessWithAsManyDevices) {
  for (int const members : {2, 4}) {
    std::string const whole =
        "run cifar10 --checkpoint whole --device host:" + std::to_string(members) + kSmall;
    ASSERT_EQ(stepscope(whole).code, 0);
    Outcome const parts =
        shell(mpirun(members) + program() + " run cifar10 --checkpoint parts" + kSmall);
    ASSERT_EQ(parts.code, 0) << parts.output;
    EXPECT_EQ(bytes_of("whole"), bytes_of("parts")) << members;
  }

  Outcome const mixed =
      shell(mpirun(2) + program() + " run cifar10 --device host:2 --checkpoint mixed" + kSmall);
  ASSERT_EQ(mixed.code, 0) << mixed.output;
  EXPECT_EQ(bytes_of("whole"), bytes_of("mixed"));
}

TEST_F(SeveralProcesses, ReportTheDevicesOfAllOnceAndEvaluateTogether) {
  std::string const options =
      " run mnist --batch 4 --steps 4 --check-replicas 2 --log-every 0 --json 2>/dev/null";
  auto const whole = nlohmann::json::parse(stepscope(options + " --device host:2").output);

  Outcome const outcome = shell(mpirun(2) + program() + options);
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  auto const parts = nlohmann::json::parse(outcome.output);

  EXPECT_EQ(parts["processes"], 2);
  EXPECT_EQ(parts["test_accuracy"], whole["test_accuracy"]);
  ASSERT_EQ(parts["devices"].size(), 2U);
  for (size_t d = 0; d < 2; ++d)
    EXPECT_EQ(parts["devices"][d]["weights_checksum"], whole["devices"][d]["weights_checksum"]);
  for (char const* const count : {"all_reduces", "kernels", "host_to_device_bytes"})
    EXPECT_EQ(parts[count], whole[count]) << count;
  for (size_t step = 0; step < 4; ++step)
    EXPECT_NEAR(parts["loss"][step].get<double>(), whole["loss"][step].get<double>(), 1e-6);
}

TEST_F(SeveralProcesses, WriteATraceEachAndCollectivesAreMatchedOverThem) {
  Outcome const outcome =
      shell(mpirun(2) + program() + " record -o run -- " + program() + " run cifar10" + kSmall);
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_TRUE(std::filesystem::exists(path("run/rank-0.stepscope")));
  EXPECT_TRUE(std::filesystem::exists(path("run/rank-1.stepscope")));

  auto const run = import::open_run(path("run"));
  ASSERT_TRUE(run) << run.error().message;
  analyzer::Analysis const analysis = analyzer::analyze(*run);
  EXPECT_EQ(analysis.steps.size(), 24U);  // 12 on each rank
  ASSERT_EQ(analysis.collectives.size(), 48U);
  for (analyzer::CollectiveStats const& collective : analysis.collectives)
    EXPECT_EQ(collective.participants.size(), 2U);
}

TEST_F(SeveralProcesses, HaveTheSameStepsInEachWindow) {
  Outcome const outcome = shell(mpirun(2) + program() + " record -o run --every 5 --for 2 -- " +
                                program() + " run cifar10 --input-delay-ms 100 " + kSmall);
  ASSERT_EQ(outcome.code, 0) << outcome.output;

  for (int64_t const first : {5, 10}) {
    std::string const window = fmt::format("run/steps-{}-{}", first, first + 1);
    auto const run = import::open_run(path(window));
    ASSERT_TRUE(run) << run.error().message;
    ASSERT_EQ(run->ranks.size(), 2U);
    analyzer::Analysis const analysis = analyzer::analyze(*run);
    std::map<int64_t, int> ranks_of_step;
    for (analyzer::StepStats const& step : analysis.steps) ++ranks_of_step[step.step];
    EXPECT_EQ(ranks_of_step, (std::map<int64_t, int>{{first, 2}, {first + 1, 2}}));
    ASSERT_EQ(analysis.collectives.size(), 8U) << "four a step, each of both ranks";
  }
}

/// How often a thread of the process was held, and what its trace says of turns.
struct HeldProcess {
  int64_t held = 0, steps = 0;
  std::string turns;
};

HeldProcess held_process(model::Trace const& trace) {
  HeldProcess process;
  for (uint32_t row = 0; row < trace.event_count(); ++row) {
    process.held += trace.name(row) == "held: the other program's turn" ? 1 : 0;
    process.steps += trace.kind(row) == model::EventKind::kStep ? 1 : 0;
  }
  for (auto const& [name, value] : trace.info().facts)
    if (name == "turns") process.turns = value;
  return process;
}

TEST_F(SeveralProcesses, TakeTurnsWithAnotherProgram) {
  std::string const job =
      mpirun(2) + program() + " run cifar10 --batch 4 --steps 40 --no-evaluate --log-every 0";
  std::ofstream(path("job.sh")) << "exec env " << job << " > /dev/null\n";
  Outcome const outcome =
      stepscope("record -o base --in-turn new --turn-steps 4 -- sh job.sh : sh job.sh");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("turns each, of 4 steps"), Not(HasSubstr("early"))));

  for (char const* const name : {"base", "new"}) {
    auto const run = import::open_run(path(name));
    ASSERT_TRUE(run) << run.error().message;
    ASSERT_EQ(run->ranks.size(), 2U) << name;
    for (model::RankTrace const& rank : run->ranks) {
      HeldProcess const process = held_process(rank.trace);
      EXPECT_GE(process.steps, 40);
      EXPECT_GE(process.held, 8) << name;
      EXPECT_EQ(process.turns, held_process(run->ranks[0].trace).turns) << "both at once";
    }
  }

  Outcome const compared = stepscope("compare base --vs new --paired --json");
  EXPECT_NE(compared.code, 2) << compared.output;
  EXPECT_THAT(compared.output, HasSubstr("\"in_turn\""));
}

TEST_F(SeveralProcesses, AKilledRankEndsTheOthersWhoSayWhichOneIsGone) {
  // mpirun ends the others by default, and leaves them alone with --enable-recovery.
  for (char const* const mpi_options : {"", "--enable-recovery"}) {
    std::filesystem::remove_all(path("run"));
    Outcome const outcome = hurt_rank_one("KILL", mpi_options);
    EXPECT_THAT(outcome.output, AllOf(HasSubstr("rank 1 is gone"), HasSubstr("can be read")))
        << mpi_options;
    expect_readable_run();
  }
}

TEST_F(SeveralProcesses, AKilledRankLeavesAGoodCheckpoint) {
  std::string const resumed =
      "run cifar10 --device host:3 --batch 4 --no-evaluate --log-every 0 --steps ";
  Outcome const outcome = hurt_rank_one("KILL", "", "--checkpoint kept --checkpoint-every 1");
  EXPECT_THAT(outcome.output, HasSubstr("rank 1 is gone"));

  std::string const message = stepscope(resumed + "1 --resume kept").output;
  constexpr std::string_view kStep = "is already at step ";
  ASSERT_THAT(message, HasSubstr(kStep));
  int const step = std::stoi(message.substr(message.find(kStep) + kStep.size()));

  ASSERT_EQ(stepscope(resumed + std::to_string(step) + " --checkpoint whole").code, 0);
  EXPECT_EQ(bytes_of("whole"), bytes_of("kept")) << step;
}

TEST_F(SeveralProcesses, ARankThatHangsIsGivenUp) {
  Outcome const outcome = hurt_rank_one("STOP", "", "--collective-timeout 2");
  EXPECT_NE(outcome.code, 0);
  EXPECT_THAT(outcome.output, HasSubstr("for 2 s: it hangs or is gone"));
  expect_readable_run();
}

TEST_F(SeveralProcesses, ALossThatIsNotANumberEndsAllAndIsSaidOnce) {
  Outcome const outcome =
      shell(mpirun(2) + program() +
            " run cifar10 --batch 4 --steps 1000 --no-evaluate --log-every 0 --learning-rate 1e6");
  EXPECT_EQ(outcome.code, 1);
  size_t const message = outcome.output.find("the loss is");
  ASSERT_NE(message, std::string::npos) << outcome.output;
  EXPECT_EQ(outcome.output.find("the loss is", message + 1), std::string::npos) << outcome.output;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("on rank "), HasSubstr("--allow-nan")));
}

TEST_F(SeveralProcesses, AnErrorOfOneIsTheErrorOfAll) {
  Outcome const outcome = shell(mpirun(2) + program() + " run cifar10 --memory-limit 1" + kSmall);
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("out of memory"), Not(HasSubstr("is gone"))));
}

TEST_F(SeveralProcesses, ThatWereGivenDifferentOptionsSayWhich) {
  std::string const training = program() + " run cifar10 --steps 3 --no-evaluate --batch ";
  Outcome const outcome = shell(mpirun(1) + training + "4 : -n 1 " + training + "8");
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  EXPECT_THAT(
      outcome.output,
      HasSubstr("rank 1 has --batch 8, rank 0 4: start all processes with the same options"));
}

TEST_F(SeveralProcesses, ThatGoOnFromDifferentCheckpointsAreRefused) {
  std::string const training = " run cifar10 --batch 4 --no-evaluate --log-every 0 ";
  for (std::string const rate : {"0.1", "0.2"}) {
    Outcome const trained =
        shell(program() + training + "--device host:2 --steps 1 --learning-rate " + rate +
              " --checkpoint of-" + rate);
    ASSERT_EQ(trained.code, 0) << trained.output;
  }

  std::string const resumed = program() + training + "--steps 3 --resume ";
  Outcome const outcome = shell(mpirun(1) + resumed + "of-0.1 : -n 1 " + resumed + "of-0.2");
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("rank 1 has starting weights (--resume) of checksum"));
}

TEST_F(SeveralProcesses, AreRefusedByWorkloadsThatWorkInOne) {
  Outcome const outcome = shell("RANK=0 WORLD_SIZE=2 " + program() + " run matpow");
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.output, HasSubstr("one process"));
}

TEST_F(SeveralProcesses, ThatFindNoLauncherSaySo) {
  Outcome const outcome = shell("RANK=0 WORLD_SIZE=2 " + program() + " run cifar10" + kSmall);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.output, HasSubstr("mpirun"));
}

}  // namespace
}  // namespace stepscope::e2e
