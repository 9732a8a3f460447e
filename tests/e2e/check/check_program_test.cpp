// `stepscope check` as a CI runs it: baselines, budgets, histories, exit codes, and the files that
// CI systems read.
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/e2e/main_job/program.h"

namespace stepscope::e2e {
namespace {

using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

class Check : public Program {
 protected:
  void make(std::string const& name, std::string const& fault, int seed, int steps = 16) const {
    Outcome const made =
        stepscope("synth --ranks 2 --steps " + std::to_string(steps) + " --fault " + fault +
                  " --seed " + std::to_string(seed) + " -o " + name);
    ASSERT_EQ(made.code, 0) << made.output;
  }
  /// A baseline of four runs in the folder `base`, and a fifth run that is no worse.
  void make_baseline() const {
    for (int i = 1; i <= 5; ++i) make("good-" + std::to_string(i), "none", i);
    Outcome const made = stepscope("check good-1 good-2 good-3 good-4 --update-baseline base");
    ASSERT_EQ(made.code, 0) << made.output;
    EXPECT_THAT(
        made.output,
        testing::AllOf(testing::StartsWith("BASELINE WRITTEN: train: 4 runs, in base/train.json."),
                       HasSubstr("\nNext: stepscope check NEW… --baseline base\n")));
  }
  void write(std::string const& name, std::string const& text) const {
    std::ofstream(path(name)) << text;
  }
  [[nodiscard]] std::string read(std::string const& name) const {
    std::ifstream file(path(name));
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  void expect_code(std::string const& arguments, int code, std::string const& what) const {
    Outcome const outcome = stepscope("check " + arguments);
    EXPECT_EQ(outcome.code, code) << arguments << "\n" << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr(what)) << arguments;
  }
};

TEST_F(Check, AnUnchangedProgramPasses) {
  make_baseline();
  for (int seed = 11; seed <= 16; ++seed) {
    make("new", "none --force", seed);
    expect_code("new --baseline base", 0, "PASSED: train: 2 checks passed");
  }
}

TEST_F(Check, ASlowdownOfFivePercentFailsWithItsCause) {
  make_baseline();
  make("slow-1", "input=0.75", 21);
  make("slow-2", "input=0.75", 22);

  Outcome const outcome = stepscope("check slow-1 slow-2 --baseline base --json");
  EXPECT_EQ(outcome.code, 1) << outcome.output;
  auto const json = nlohmann::json::parse(outcome.output);
  EXPECT_EQ(json["verdict"], "failed");

  auto const& metric = json["comparison"]["metrics"][0];
  double const slower = metric["new"].get<double>() / metric["base"].get<double>() - 1;
  EXPECT_GT(slower, 0.03);
  EXPECT_LT(slower, 0.07);
  EXPECT_THAT(json["checks"][0]["message"].get<std::string>(),
              HasSubstr("Most of it: more idle time: waiting for input"));
}

TEST_F(Check, BaselinesAreDeterministicAndSmall) {
  make_baseline();
  std::string const first = read("base/train.json");
  EXPECT_EQ(stepscope("check good-1 good-2 good-3 good-4 --update-baseline again.json").code, 0);
  EXPECT_EQ(read("again.json"), first);
  EXPECT_LT(first.size(), size_t{1} << 20U);
  // A run, its baseline and a folder of baselines are one to the gate.
  for (std::string const base : {"good-1 good-2 good-3 good-4", "again.json", "base"})
    expect_code("good-5 --baseline " + base, 0, "PASSED");
}

TEST_F(Check, ARegressionDoesNotBecomeTheBaseline) {
  make_baseline();
  make("slow", "input=4", 21);
  std::string const before = read("base/train.json");
  expect_code("slow --baseline base --update-baseline base", 1,
              "unchanged, because the check did not pass");
  EXPECT_EQ(read("base/train.json"), before);
  expect_code("good-5 --baseline base --update-baseline base", 0, "PASSED");
  EXPECT_NE(read("base/train.json"), before);
}

TEST_F(Check, BudgetsAreKeptOrBrokenOrUnclear) {
  make("new", "none", 1);
  write("b.toml",
        "[default]\nstep_time_ms = \"<= 100\"\n[workload.train]\npeak_memory_gb = \"<= 70\"\n");
  expect_code("new --budget b.toml", 0, "PASSED: train: 2 checks passed");
  write("b.toml", "[default]\nstep_time_ms = \"<= 1\"\n");
  expect_code("new --budget b.toml", 1, "step_time_ms <= 1 ms");
  write("b.toml", "[default]\nidle_share = \"<= 99 %\"\n");
  expect_code("new --budget b.toml --steps 3:5", 3, "Too few steps");
}

TEST_F(Check, MistakesInBudgetFilesHaveTheirPlace) {
  make("new", "none", 1, 4);
  write("b.toml", "[default]\nstep_time = \"<= 1\"\n");
  expect_code("new --budget b.toml", 2,
              "b.toml:2:1: step_time is no budget. Did you mean step_time_ms?");
  write("b.toml", "[default]\nstep_time_ms = \"<= x\"\n");
  expect_code("new --budget b.toml", 2, "b.toml:2:16");
  write("b.toml", "[workload.gpt]\nstep_time_ms = \"<= 1\"\n");
  expect_code("new --budget b.toml", 2, "no budget for workload train");
}

TEST_F(Check, WritesWhatCiSystemsRead) {
  make_baseline();
  make("slow", "input=4", 21);
  expect_code(
      "slow --baseline base --junit j.xml --sarif s.json --markdown m.md --json-file c.json", 1,
      "FAILED");

  EXPECT_THAT(read("j.xml"),
              testing::AllOf(HasSubstr("<testsuites>"), HasSubstr("failures=\"1\"")));
  EXPECT_THAT(read("m.md"), HasSubstr("### Stepscope: FAILED"));
  EXPECT_EQ(nlohmann::json::parse(read("c.json"))["verdict"], "failed");
  auto const sarif = nlohmann::json::parse(read("s.json"));
  EXPECT_EQ(sarif["runs"][0]["results"].size(), 1U);

  EXPECT_EQ(stepscope("compare good-1 --vs slow --markdown compare.md").code, 1);
  EXPECT_THAT(read("compare.md"), HasSubstr("### Stepscope: SLOWER"));
}

TEST_F(Check, AnnotatesRunsOfGitHubActions) {
  make_baseline();
  make("slow", "input=4", 21);
  std::string const command = program() + " check slow --baseline base";

  Outcome const on = shell("GITHUB_ACTIONS=true " + command);
  EXPECT_THAT(on.output, testing::AllOf(testing::StartsWith("::stop-commands::stepscope-"),
                                        HasSubstr("\n::error title=train%3A step time failed::")));
  EXPECT_THAT(shell("GITHUB_ACTIONS=true " + command + " --no-github").output,
              Not(HasSubstr("::error")));
  EXPECT_THAT(shell("GITHUB_ACTIONS= " + command).output, Not(HasSubstr("::error")));

  Outcome const json = shell("GITHUB_ACTIONS=true " + command + " --json 2>/dev/null");
  EXPECT_TRUE(nlohmann::json::accept(json.output)) << json.output;
}

TEST_F(Check, AllOutputsAreWrittenOrNone) {
  make("new", "none", 1);
  write("b.toml", "[default]\nstep_time_ms = \"<= 100\"\n");

  expect_code("new --budget b.toml --junit j.xml --sarif nowhere/s.json", 2, "nowhere/s.json");
  expect_code("new --budget b.toml --junit j.xml --markdown ./j.xml", 2, "named twice");
  expect_code("new --budget b.toml --junit j.xml --update-baseline b.toml", 2, "b.toml");
  EXPECT_FALSE(fs::exists(path("j.xml")));

  size_t files = 0;
  for (auto const& entry : fs::directory_iterator(folder_))
    files += entry.is_regular_file() ? 1 : 0;
  EXPECT_EQ(files, 1U);  // b.toml, nothing beside it
}

TEST_F(Check, AHistorySaysSinceWhichRunAStepIsSlower) {
  for (int i = 1; i <= 8; ++i) {
    make("run", "none --force", i);
    expect_code("run --append-history kept/h.json --label good-" + std::to_string(i), 0,
                "History: " + std::to_string(i) + " run");
  }

  for (int i = 1; i <= 5; ++i) {
    make("run", "input=2 --force", 20 + i);
    EXPECT_EQ(
        stepscope("check run --append-history kept/h.json --label slow-" + std::to_string(i)).code,
        0);
  }

  expect_code("--history kept/h.json", 0, "SLOWER since run 9 (slow-1)");
  expect_code("--history kept/h.json", 0, "HISTORY: train: 13 runs; nothing was checked");

  auto const json = nlohmann::json::parse(stepscope("check --history kept/h.json --json").output);
  ASSERT_EQ(json["history"]["changes"].size(), 1U);
  EXPECT_EQ(json["history"]["changes"][0]["run"], 8);
  EXPECT_EQ(json["history"]["changes"][0]["most"], "input");
}

TEST_F(Check, RefusesWhatItCannotCheck) {
  make_baseline();
  expect_code("good-5", 2, "nothing to compare with");
  expect_code("--baseline base", 2, "name the runs");
  expect_code("nowhere --baseline base", 2, "nowhere");
  expect_code("good-5 --baseline nowhere.json", 2, "nowhere.json");
  expect_code("good-5 ./good-5 --baseline base", 2, "is named twice");
  expect_code("good-5 --baseline base base", 2, "is named twice");
  expect_code("nowhere nowhere --baseline base", 2, "cannot open");
  expect_code("good-5 --baseline base --name gpt", 2, "no baseline of gpt (it has train)");
  expect_code("good-5 --baseline base --name ../base/train", 2, "--name");
  expect_code("good-5 --baseline base --steps 400:500", 2, "not in the run");
  expect_code("good-5 --history base --append-history base/train.json", 2, "is no history");

  std::string text = read("base/train.json");
  write("newer.json", text.replace(text.find("\"schema\":1"), 10, "\"schema\":2"));
  expect_code("good-5 --baseline newer.json", 2, "newer Stepscope");
  write("cut.json", text.substr(0, text.size() / 2));
  expect_code("good-5 --baseline cut.json", 2, "cut.json");
}

}  // namespace
}  // namespace stepscope::e2e
