// The command `stepscope export` as a user runs it. The file is whole or not there, and nothing is
// overwritten unasked. It holds the run, or the part of it that was asked for.
#include <fstream>
#include <set>

#include <nlohmann/json.hpp>

#include "tests/e2e/main_job/program.h"

namespace stepscope::e2e {
namespace {

using nlohmann::json;

class Export : public Program {
 protected:
  void SetUp() override { ASSERT_EQ(stepscope("synth --ranks 2 --events 6000 -o run").code, 0); }
  void expect_refused(std::string const& arguments, std::string const& what) const {
    Outcome const outcome = stepscope("export " + arguments);
    EXPECT_EQ(outcome.code, 2) << arguments << "\n" << outcome.output;
    EXPECT_NE(outcome.output.find("stepscope: "), std::string::npos) << outcome.output;
    EXPECT_NE(outcome.output.find(what), std::string::npos) << arguments << "\n" << outcome.output;
    EXPECT_EQ(outcome.output.find("internal error"), std::string::npos) << outcome.output;
  }
  [[nodiscard]] std::set<std::string> files() const {
    std::set<std::string> names;
    for (auto const& entry : std::filesystem::directory_iterator(folder_))
      names.insert(entry.path().filename().string());
    return names;
  }
  [[nodiscard]] json document(std::string const& name) const {
    std::ifstream file(path(name));
    return json::parse(file, nullptr, false);
  }
  /// What `analyze` says of devices, steps and collectives, but the numbers of communicators and
  /// when the run began.
  [[nodiscard]] json facts_of(std::string const& run) const {
    Outcome const outcome = stepscope("analyze " + run + " --json 2> /dev/null");
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    json const analysis = json::parse(outcome.output);
    json facts;
    for (json const& rank : analysis.at("ranks")) facts["devices"].push_back(rank.at("devices"));
    facts["steps"] = analysis.at("steps");
    facts["collectives"] = analysis.at("collectives");
    return without(facts, {"memory", "comm", "begin_ns", "host_begin_ns", "period_begin_ns"});
  }
  static json without(json document, std::set<std::string> const& keys) {
    if (document.is_object())
      for (std::string const& key : keys) document.erase(key);
    if (document.is_structured())
      for (json& member : document) member = without(member, keys);
    return document;
  }
};

TEST_F(Export, TheNameOfTheFileTellsTheFormat) {
  Outcome const outcome = stepscope("export run -o run.pftrace");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_NE(outcome.output.find(" events of 2 processes, in run.pftrace"), std::string::npos)
      << outcome.output;
  EXPECT_GT(std::filesystem::file_size(path("run.pftrace")), 100'000U);

  ASSERT_EQ(stepscope("export run -o run.json").code, 0);
  EXPECT_GT(document("run.json").at("traceEvents").size(), 12'000U);

  ASSERT_EQ(stepscope("export run --format perfetto -o run.other").code, 0);
  EXPECT_EQ(std::filesystem::file_size(path("run.other")),
            std::filesystem::file_size(path("run.pftrace")));
}

TEST_F(Export, WhatIsThereIsReplacedOnlyWithForce) {
  ASSERT_EQ(stepscope("export run --rank 0 -o run.json").code, 0);
  auto const size = std::filesystem::file_size(path("run.json"));
  expect_refused("run -o run.json", "--force");
  EXPECT_EQ(std::filesystem::file_size(path("run.json")), size);
  ASSERT_EQ(stepscope("export run -o run.json --force").code, 0);
  EXPECT_GT(std::filesystem::file_size(path("run.json")), size);
  EXPECT_EQ(files(), (std::set<std::string>{"run", "run.json"}));
}

TEST_F(Export, AFolderOfJsonIsTheSameRun) {
  ASSERT_EQ(stepscope("export run --format chrome -o json/").code, 0);
  EXPECT_TRUE(std::filesystem::exists(path("json/rank-1.json")));
  json const difference = json::diff(facts_of("run"), facts_of("json"));
  EXPECT_TRUE(difference.empty()) << difference.dump(1).substr(0, 1000);
  expect_refused("run --format chrome -o json", "--force");
}

TEST_F(Export, OnlyAWholeRunRemovesWhatWasThereOfALargerOne) {
  std::filesystem::create_directory(path("json"));
  for (char const* const name : {"json/rank-0.json", "json/rank-7.json", "json/rank-of-mine.json"})
    std::ofstream(path(name)) << "{}";

  Outcome const part = stepscope("export run --format chrome --rank 1 -o json --force");
  ASSERT_EQ(part.code, 0) << part.output;
  EXPECT_EQ(part.output.find("removed"), std::string::npos) << part.output;
  EXPECT_TRUE(std::filesystem::exists(path("json/rank-0.json")) &&
              std::filesystem::exists(path("json/rank-7.json")));

  Outcome const whole = stepscope("export run --format chrome -o json --force");
  ASSERT_EQ(whole.code, 0) << whole.output;
  EXPECT_NE(whole.output.find("removed 1 file of a larger run"), std::string::npos) << whole.output;
  EXPECT_FALSE(std::filesystem::exists(path("json/rank-7.json")));
  EXPECT_TRUE(std::filesystem::exists(path("json/rank-of-mine.json")));
}

TEST_F(Export, AFileOfSeveralRanksSaysThatItIsForViewing) {
  std::string const words = "2 ranks in one file: for viewing; -o FOLDER/";
  EXPECT_NE(stepscope("export run -o run.json").output.find(words), std::string::npos);
  EXPECT_EQ(stepscope("export run --rank 0 -o part.json").output.find("for viewing"),
            std::string::npos);
  EXPECT_EQ(stepscope("export run --format chrome -o json/").output.find("for viewing"),
            std::string::npos);
}

TEST_F(Export, WhereTheResultCannotBeIsSaidAtOnce) {
  std::filesystem::create_directory(path("there"));
  // The run is not even looked for.
  expect_refused("nosuch --format sqlite -o there", "such as -o there/run.sqlite");
  expect_refused("nosuch --format sqlite -o new/", "such as -o new/run.sqlite");
  expect_refused("nosuch --format perfetto -o there", "such as -o there/run.pftrace");
  expect_refused("nosuch -o missing/run.sqlite", "there is no folder missing");
  EXPECT_EQ(files(), (std::set<std::string>{"run", "there"}));
}

TEST_F(Export, APartIsAllThatIsWritten) {
  ASSERT_EQ(stepscope("export run --rank 1 --steps 2:3 -o part.json").code, 0);
  std::set<std::string> steps;
  json const part = document("part.json");
  for (json const& event : part.at("traceEvents"))
    if (std::string const name = event.at("name"); name.starts_with("ProfilerStep#"))
      steps.insert(name);
  EXPECT_TRUE(steps.contains("ProfilerStep#2") && steps.contains("ProfilerStep#3"));
  // Parts of the steps before and behind may be needed to understand these two.
  EXPECT_FALSE(steps.contains("ProfilerStep#6"));
  EXPECT_EQ(part.at("distributedInfo").at("rank"), 1);

  ASSERT_EQ(stepscope("export run --time 0.01:0.02 -o time.json").code, 0);
  EXPECT_LT(document("time.json").at("traceEvents").size(), 6000U);

  expect_refused("run --steps 900:901 -o none.json", "--steps 900:901");
  expect_refused("run --rank 7 -o none.json", "2 ranks from 0 to 1");
  EXPECT_FALSE(std::filesystem::exists(path("none.json")));
}

TEST_F(Export, WrongUseIsSaidWithWhatIsRight) {
  expect_refused("run -o run.xyz", "perfetto, chrome");
  expect_refused("run --format nosuch -o run.json", "perfetto");
  expect_refused("run", "--output");
  expect_refused("nosuch -o run.json", "nosuch");
  expect_refused("run -o missing/run.json", "missing/run.json");
  expect_refused("run --format perfetto -o missing/", "missing");
  EXPECT_EQ(files(), (std::set<std::string>{"run"}));

  Outcome const help = stepscope("export --help");
  EXPECT_EQ(help.code, 0);
  EXPECT_NE(help.output.find(".pftrace"), std::string::npos) << help.output;
}

TEST_F(Export, TheRunItselfIsNeverTheOutput) {
  expect_refused("run --format perfetto -o run/rank-0.stepscope --force", "another place");
  expect_refused("run/rank-0.stepscope --format perfetto -o run/rank-0.stepscope --force",
                 "another place");
  expect_refused("run --format chrome -o run --force", "another place");
  expect_refused("run -o run/more.json", "another place");
  EXPECT_EQ(stepscope("info run").code, 0);
  EXPECT_TRUE(std::filesystem::exists(path("run/rank-1.stepscope")));
}

TEST_F(Export, AFullDiskLeavesNothing) {
  for (char const* const name : {"run.pftrace", "run.json"}) {
    // The system refuses files beyond this size.
    Outcome const outcome =
        shell("trap '' XFSZ; ulimit -f 64; " + program() + " export run -o " + name);
    EXPECT_EQ(outcome.code, 2) << outcome.output;
    EXPECT_NE(outcome.output.find(std::string(name) + ": cannot write"), std::string::npos)
        << outcome.output;
  }
  EXPECT_EQ(files(), (std::set<std::string>{"run"}));
}

}  // namespace
}  // namespace stepscope::e2e
