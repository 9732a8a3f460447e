// Sums of each step while several processes train, and what `stepscope live` shows of them.
#include <map>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/e2e/processes/recorded_training.h"
#include "trace/base/files/run_folder.h"
#include "trace/import/open/open_run.h"

namespace stepscope::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class StreamsOfProcesses : public RecordedTraining {
 protected:
  /// Waits until `live` shows 20 steps of three ranks.
  static constexpr char kWaitForSteps[] =
      "for i in $(seq 300); do\n"
      "  stepscope live run --once --json > live.json 2> live.txt &&\n"
      "    python3 -c 'import json, sys\n"
      "lines = json.load(open(\"live.json\"))[\"lines\"]\n"
      "sys.exit(len(lines) != 3 or min(line[\"step\"] for line in lines) < 20)' && break\n"
      "  sleep 0.2\n"
      "done\n";
  [[nodiscard]] nlohmann::json live_json() const {
    return nlohmann::json::parse(shell("cat live.json").output, nullptr, false);
  }
};

TEST_F(StreamsOfProcesses, LiveShowsAllRanksWhileTheyTrain) {
  Outcome const outcome =
      during_training("",
                      std::string(kWaitForSteps) +
                          "stepscope live run --once\n"
                          "stepscope live run --once --textfile live.prom > /dev/null\n",
                      "--stream");
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("3 ranks on 1 host"), HasSubstr("rank"), Not(HasSubstr("ended"))));

  auto const live = live_json();
  ASSERT_TRUE(live.is_object()) << outcome.output;
  std::set<int> ranks;
  for (auto const& line : live["lines"]) {
    ranks.insert(line["rank"].get<int>());
    EXPECT_GT(line["step_ns"].get<int64_t>(), 0);
    int64_t parts = 0;
    for (auto const& [part, ns] : line["parts_ns"].items()) parts += ns.get<int64_t>();
    EXPECT_GT(parts, 0);
    EXPECT_GT(line["parts_ns"]["compute"].get<int64_t>(), 0);
    EXPECT_GT(line["communication_ns"].get<int64_t>(), 0);
    EXPECT_GT(line["peak_bytes"].get<int64_t>(), 0);
  }
  EXPECT_EQ(ranks, (std::set<int>{0, 1, 2}));

  std::string const metrics = shell("cat live.prom").output;
  EXPECT_THAT(metrics, AllOf(HasSubstr("# TYPE stepscope_live_step gauge"),
                             HasSubstr("stepscope_live_step_seconds{run=\"run\",rank=\"2\""),
                             HasSubstr("part=\"exposed_communication\""), HasSubstr("# EOF")));
}

TEST_F(StreamsOfProcesses, OpenAsARunWhoseStepsAllRanksHave) {
  static_cast<void>(during_training("", kWaitForSteps, "--stream"));
  auto const run = import::open_run(path("run/stream"));
  ASSERT_TRUE(run.has_value()) << run.error().message;
  ASSERT_THAT(run->ranks, SizeIs(3));

  std::map<int64_t, int> ranks_of_step;
  for (model::RankTrace const& rank : run->ranks)
    for (model::StepDetail const& step : rank.trace.details<model::StepDetail>())
      ++ranks_of_step[step.index];
  ASSERT_GE(ranks_of_step.size(), 20U);
  for (int64_t step = 0; step < 20; ++step) EXPECT_EQ(ranks_of_step[step], 3) << step;

  Outcome const analyzed = shell(program() + " analyze run/stream 2>&1");
  EXPECT_THAT(analyzed.output, AllOf(HasSubstr("3 ranks"), HasSubstr("steps (annotated"),
                                     Not(HasSubstr("Critical path"))));
  Outcome const reported = shell(program() + " report run/stream -o stream.html 2>&1");
  EXPECT_EQ(reported.code, 0) << reported.output;
  EXPECT_EQ(shell("grep -q 'rank 2' stream.html").code, 0);
  Outcome const predicted = shell(program() + " whatif run/stream 2>&1");
  EXPECT_THAT(predicted.output, HasSubstr("a stream has sums of each step"));
}

TEST_F(StreamsOfProcesses, AStoppedRankMakesASlowStepThatIsWorthAWindow) {
  Outcome const outcome = during_training(
      "",
      std::string(kWaitForSteps) + for_rank(1, "kill -STOP $pid; sleep 5; kill -CONT $pid") +
          "for i in $(seq 100); do\n"
          "  stepscope live run --once --json > live.json\n"
          "  grep -q '\"cost_ns\": [0-9]\\{10\\}' live.json && break\n"
          "  sleep 0.2\n"
          "done\n"
          "stepscope live run --once\n"
          "ask\n",
      "--stream --ring 60s");
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("Worth a window"), HasSubstr("written by 3 processes")));

  auto const live = live_json();
  ASSERT_TRUE(live.is_object()) << outcome.output;
  int64_t longest = 0;
  for (auto const& worth : live["worth_a_window"])
    if (worth["kind"] == "slow_step") longest = std::max(longest, worth["cost_ns"].get<int64_t>());
  EXPECT_GT(longest, 3'000'000'000) << outcome.output;
}

TEST_F(StreamsOfProcesses, AKilledRankIsSilentAndItsStreamWhole) {
  Outcome const outcome = during_training(
      "--enable-recovery",
      std::string(kWaitForSteps) + for_rank(1, "kill -KILL $pid && echo killed"), "--stream");
  EXPECT_THAT(outcome.output, HasSubstr("killed"));
  auto const run = import::open_run(path("run/stream"));
  ASSERT_TRUE(run.has_value()) << outcome.output;
  EXPECT_THAT(run->ranks, SizeIs(3));
  for (model::RankTrace const& rank : run->ranks) EXPECT_EQ(rank.trace.log().lost_blocks, 0U);
}

class StreamOfAProgram : public Program {};

TEST_F(StreamOfAProgram, RefusesPartsAndFoldersWithoutAStream) {
  Outcome const part = shell(program() + " record --stream --steps 1:2 -o run -- true 2>&1");
  EXPECT_EQ(part.code, 2);
  EXPECT_THAT(part.output, HasSubstr("--stream: tells of all steps"));

  Outcome const missing = shell(program() + " live nowhere --once 2>&1");
  EXPECT_EQ(missing.code, 2);
  EXPECT_THAT(missing.output, HasSubstr("nowhere: is no folder"));
  Outcome const empty = shell("mkdir empty; " + program() + " live empty --once 2>&1");
  EXPECT_EQ(empty.code, 2);
  EXPECT_THAT(empty.output, HasSubstr("has no stream (yet)"));
}

/// SIGTERM is how batch systems end a job: its last steps are there.
TEST_F(StreamOfAProgram, EndsWithAllStepsWhenASignalEndsTheProgram) {
  Outcome const outcome = shell(
      program() + " record --stream -o run -- " + program() +
      " run cifar10 --batch 4 --steps 1000000 --no-evaluate --log-every 1 > training.txt & job=$!\n"
      "for i in $(seq 300); do grep -q 'step *20 ' training.txt && break; sleep 0.1; done\n"
      "kill -TERM $job; wait $job; echo exit $?\n" +
      program() + " live run --once; tail -n 1 training.txt");
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("exit 143"), HasSubstr(", ended")));
  EXPECT_THAT(outcome.output, Not(HasSubstr("no step was streamed"))) << outcome.output;
}

/// An earlier stream is an earlier run.
TEST_F(StreamOfAProgram, ReplacesAnEarlierStreamOnlyWhenForced) {
  std::string const record = program() + " record --stream -o run";
  std::string const train =
      " -- " + program() + " run cifar10 --batch 4 --steps 30 --no-evaluate 2>&1";
  Outcome const first = shell(record + train);
  EXPECT_THAT(first.output, HasSubstr("streamed sums up to step 29"));

  Outcome const second = shell(record + train);
  EXPECT_EQ(second.code, 2);
  EXPECT_THAT(second.output, HasSubstr("exists and is not empty"));
  Outcome const forced = shell(record + " --force" + train);
  EXPECT_THAT(forced.output, HasSubstr("streamed sums up to step 29"));

  Outcome const shown = shell(program() + " live run --once");
  EXPECT_THAT(shown.output, HasSubstr("step 29"));
  EXPECT_THAT(shown.output, HasSubstr("ended"));
}

}  // namespace
}  // namespace stepscope::e2e
