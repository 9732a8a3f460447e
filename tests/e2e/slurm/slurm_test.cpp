// A job of Slurm on two nodes: recorded as a whole, and asked for steps while it trains. The
// cluster is one of this test alone (cluster.sh).
#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "analyzer/analyze.h"
#include "analyzer/results/analysis.h"
#include "tests/e2e/main_job/program.h"
#include "trace/base/files/run_folder.h"
#include "trace/import/open/open_run.h"

namespace stepscope::e2e {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;

class SlurmJob : public Program {
 protected:
  void SetUp() override {
    Outcome const started = shell(cluster("start"));
    if (started.code != 0) GTEST_SKIP() << started.output;
  }
  void TearDown() override { EXPECT_EQ(shell(cluster("stop")).code, 0); }

  [[nodiscard]] static std::string cluster(std::string const& action) {
    return "'" +
           std::filesystem::absolute(support::source_path("tests/e2e/slurm/cluster.sh")).string() +
           "' " + action + " cluster";
  }
  /// A shell on the login node: bin/ of Stepscope is on the path, as on a cluster that has it.
  [[nodiscard]] Outcome on_login_node(std::string const& script) const {
    std::string const folder =
        std::filesystem::absolute(support::build_path("bin")).lexically_normal().string();
    return shell("export SLURM_CONF=\"$PWD/cluster/slurm.conf\" PATH=\"" + folder + ":$PATH\"\n" +
                 script);
  }
  /// Asks for steps until the job has begun to train. A job that hangs is shown with its threads,
  /// not waited for.
  [[nodiscard]] static std::string ask(std::string const& run, int steps) {
    return "until=$(($(date +%s) + 150)); code=1\n"
           "while [ $code != 0 ] && [ $(date +%s) -lt $until ]; do\n"
           "  timeout 120 stepscope trigger " +
           run + " --steps " + std::to_string(steps) +
           " > asked.txt 2>&1; code=$?\n"
           "  [ $code = 0 ] || sleep 0.2\n"
           "done\n"
           "cat asked.txt\n"
           "if [ $code != 0 ]; then\n"
           "  stepscope ps " +
           run +
           "\n"
           "  for p in $(pgrep -f 'stepscope run cifar10'); do\n"
           "    grep -H . /proc/$p/task/*/comm /proc/$p/task/*/wchan /proc/$p/task/*/syscall\n"
           "  done 2>/dev/null\n"
           "fi\n";
  }
  [[nodiscard]] model::Run open(std::string const& folder) const {
    auto run = import::open_run(path(folder));
    EXPECT_TRUE(run) << run.error().message;
    return run ? std::move(*run) : model::Run();
  }
};

/// The steps of each rank.
std::map<int32_t, std::set<int64_t>> steps_by_rank(model::Run const& run) {
  std::map<int32_t, std::set<int64_t>> steps;
  for (model::RankTrace const& rank : run.ranks)
    for (uint32_t row = 0; row < rank.trace.event_count(); ++row)
      if (rank.trace.kind(row) == model::EventKind::kStep)
        steps[rank.trace.info().rank].insert(rank.trace.detail<model::StepDetail>(row).index);
  return steps;
}

TEST_F(SlurmJob, IsRecordedOnBothNodesWithTheLabelsOfTheJob) {
  Outcome const outcome = on_login_node(
      "srun --nodes 2 --ntasks 2 --job-name train stepscope record -o run -- "
      "stepscope run cifar10" +
      kSmall);
  ASSERT_EQ(outcome.code, 0) << outcome.output;

  model::Run const run = open("run");
  ASSERT_EQ(run.ranks.size(), 2U) << outcome.output;
  std::set<std::string> nodes;
  for (model::RankTrace const& rank : run.ranks) {
    auto const& facts = rank.trace.info().facts;
    EXPECT_THAT(facts, Contains(Pair("Slurm job", "1")));
    EXPECT_THAT(facts, Contains(Pair("Slurm job name", "train")));
    EXPECT_THAT(facts, Contains(Pair("Slurm cluster", "stepscope")));
    EXPECT_THAT(facts, Contains(Pair("Slurm task", std::to_string(rank.trace.info().rank))));
    for (auto const& [name, value] : facts)
      if (name == "Slurm node") nodes.insert(value);
  }
  EXPECT_EQ(nodes, (std::set<std::string>{"node-a", "node-b"}));

  analyzer::Analysis const analysis = analyzer::analyze(run);
  EXPECT_EQ(analysis.steps.size(), 24U);
  ASSERT_FALSE(analysis.collectives.empty());
  for (analyzer::CollectiveStats const& collective : analysis.collectives)
    EXPECT_EQ(collective.participants.size(), 2U);
  EXPECT_THAT(on_login_node("stepscope info run").output, HasSubstr("node-b"));
}

TEST_F(SlurmJob, IsAskedForTheSameStepsOnBothNodes) {
  Outcome const outcome = on_login_node(
      "srun --nodes 2 --ntasks 2 stepscope record --on-request -o run -- stepscope run cifar10 "
      "--batch 4 --steps 1000000 --no-evaluate --log-every 0 > training.txt 2>&1 & job=$!\n" +
      ask("run", 3) +
      "srun --overlap --nodes 1 --ntasks 1 --jobid 1 stepscope ps run\n"
      "timeout 120 stepscope trigger run --steps 2\n"
      "scancel --signal=TERM 1; wait $job; true");
  EXPECT_THAT(outcome.output, HasSubstr("written by 2 processes")) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("waits for a request"));

  std::vector<std::string> const windows = base::windows_in(path("run"));
  ASSERT_EQ(windows.size(), 2U) << outcome.output;
  for (size_t i = 0; i < 2; ++i) {
    auto const steps =
        steps_by_rank(open("run/" + std::filesystem::path(windows[i]).filename().string()));
    ASSERT_EQ(steps.size(), 2U);
    EXPECT_EQ(steps.at(0), steps.at(1));
    EXPECT_EQ(steps.at(0).size(), i == 0 ? 3U : 2U);
  }
}

TEST_F(SlurmJob, IsSeenFromTheLoginNodeWhileItRuns) {
  Outcome const outcome = on_login_node(
      "srun --nodes 2 --ntasks 2 stepscope record --stream --ring 20s -o run -- stepscope run "
      "cifar10 --batch 4 --steps 1000000 --no-evaluate --log-every 0 > training.txt 2>&1 & job=$!\n"
      "for i in $(seq 300); do\n"
      "  stepscope live run --once > live.txt 2>&1 && grep -q '2 ranks' live.txt && break\n"
      "  sleep 0.2\n"
      "done\n"
      "cat live.txt\n"
      "stepscope trigger run\n"
      "scancel --signal=TERM 1; wait $job; true");
  EXPECT_THAT(outcome.output, HasSubstr("2 ranks on ")) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("written by 2 processes"));

  auto const steps = steps_by_rank(open("run/stream"));
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_GE(steps.at(0).size(), 10U);
  EXPECT_EQ(*steps.at(0).begin(), 0);
}

TEST_F(SlurmJob, AnalyzesARunOnBothNodes) {
  ASSERT_EQ(stepscope("synth -o run --ranks 6 --steps 30").code, 0);
  for (std::string const command : {"analyze run --json", "report run -o page.html"}) {
    Outcome const alone = on_login_node("stepscope " + command + "; cat page.html 2>/dev/null");
    Outcome const shared = on_login_node(
        "rm -f page.html\ntimeout 120 srun --mpi=pmix --nodes 2 --ntasks 2 stepscope " + command +
        "; cat page.html 2>/dev/null");
    EXPECT_EQ(shared.output == alone.output, true) << shared.output.substr(0, 2000);
  }

  // Without a process manager they cannot meet.
  Outcome const apart = on_login_node(
      "stepscope analyze run >one.txt; "
      "srun --mpi=none --nodes 2 --ntasks 2 stepscope analyze run >two.txt; cat one.txt one.txt | "
      "wc -c; cat two.txt | wc -c");
  EXPECT_THAT(apart.output, HasSubstr("srun --mpi=pmix"));
  std::istringstream counts(apart.output.substr(apart.output.rfind("--alone") + 7));
  size_t twice = 0, printed = 0;
  counts >> twice >> printed;
  EXPECT_GT(twice, 0U);
  EXPECT_EQ(printed, twice) << apart.output;
}

/// The scripts of examples/slurm, as a user submits them.
TEST_F(SlurmJob, OfTheExampleAnalyzesWhereTheFilesAre) {
  ASSERT_EQ(stepscope("synth -o run --ranks 6 --steps 30").code, 0);
  std::string const example =
      std::filesystem::absolute(support::source_path("examples/slurm/analyze.sbatch")).string();
  Outcome const outcome = on_login_node("sbatch --wait --output job.txt '" + example +
                                        "' run; cat job.txt; stepscope report run -o alone.html; "
                                        "cmp alone.html run/report.html && echo the same");
  EXPECT_THAT(outcome.output, HasSubstr("6 ranks"));
  EXPECT_THAT(outcome.output, HasSubstr("the same"));
}

TEST_F(SlurmJob, OfTheExampleLeavesARunAndItsReport) {
  std::string const example =
      std::filesystem::absolute(support::source_path("examples/slurm/record.sbatch")).string();
  Outcome const outcome = on_login_node("STEPS=4:8 sbatch --wait --output job.txt '" + example +
                                        "' stepscope run cifar10" + kSmall + "; cat job.txt");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("2 ranks"));

  EXPECT_TRUE(std::filesystem::exists(path("run-1/report.html"))) << outcome.output;
  auto const steps = steps_by_rank(open("run-1"));
  EXPECT_EQ(steps,
            (std::map<int32_t, std::set<int64_t>>{{0, {4, 5, 6, 7, 8}}, {1, {4, 5, 6, 7, 8}}}));
}

TEST_F(SlurmJob, OfALongExampleIsAskedWhileItRuns) {
  std::string const example =
      std::filesystem::absolute(support::source_path("examples/slurm/long_job.sbatch")).string();
  Outcome const outcome = on_login_node(
      "sbatch --output job.txt '" + example +
      "' stepscope run cifar10 --batch 4 --steps 1000000 --no-evaluate --log-every 0\n" +
      ask("run-1", 3) +
      "scancel 1\n"
      "for i in $(seq 300); do [ -z \"$(squeue --noheader)\" ] && break; sleep 0.1; done");

  EXPECT_THAT(outcome.output, HasSubstr("written by 2 processes"));
  EXPECT_EQ(base::windows_in(path("run-1")).size(), 1U) << outcome.output;
}

}  // namespace
}  // namespace stepscope::e2e
