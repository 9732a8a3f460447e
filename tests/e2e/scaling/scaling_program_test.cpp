// `stepscope report` of several runs as a user runs it: what is a series, its page and summary, and
// clear refusals.
#include <cmath>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "tests/e2e/main_job/program.h"

namespace stepscope::e2e {
namespace {

class Scaling : public Program {
 protected:
  void SetUp() override {
    for (int const ranks : {1, 2, 4}) make("series/" + std::to_string(ranks), ranks, 1);
  }
  void make(std::string const& name, int ranks, int seed,
            std::string const& more = "--steps 10") const {
    Outcome const made = stepscope("synth --fault none --ranks " + std::to_string(ranks) +
                                   " --seed " + std::to_string(seed) + " " + more + " -o " + name);
    ASSERT_EQ(made.code, 0) << made.output;
  }
  [[nodiscard]] std::string read(std::string const& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void expect_refused(std::string const& arguments, std::string const& what) const {
    Outcome const outcome = stepscope("report " + arguments);
    EXPECT_EQ(outcome.code, 2) << arguments << "\n" << outcome.output;
    EXPECT_NE(outcome.output.find(what), std::string::npos) << arguments << "\n" << outcome.output;
  }
};

TEST_F(Scaling, AFolderOfRunsIsASeries) {
  Outcome const outcome =
      stepscope("report series -o page.html --json series.json --markdown series.md");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("4 devices do"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("Weak scaling"), std::string::npos) << outcome.output;

  auto const json = nlohmann::json::parse(read("series.json"));
  EXPECT_EQ(json["points"].size(), 3U);
  EXPECT_EQ(json["points"][2]["devices"], 4);
  for (auto const& loss : json["losses"]) {
    int64_t sum = 0;
    for (auto const& part : loss["parts"]) sum += part["ns"].get<int64_t>();
    EXPECT_EQ(sum, loss["step_ns"].get<int64_t>() - loss["ideal_ns"].get<int64_t>());
  }

  std::string const page = read("page.html");
  EXPECT_NE(page.find("<section id=\"factors\""), std::string::npos);
  EXPECT_NE(read("series.md").find("## Scaling"), std::string::npos);
}

/// Data-parallel runs on 2, 4, 8 and 16 ranks: a replay of the largest one knows the others.
TEST_F(Scaling, AReplayPredictsTheMeasuredSteps) {
  for (int const ranks : {8, 16}) make("series/" + std::to_string(ranks), ranks, 1);
  Outcome const outcome = stepscope("report series -o page.html --json series.json");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("A replay of the run on 16 devices"), std::string::npos)
      << outcome.output;

  auto const curve = nlohmann::json::parse(read("series.json"))["replayed"];
  EXPECT_TRUE(curve["refused"].is_null());
  EXPECT_EQ(curve["base_devices"], 16);
  EXPECT_LT(std::abs(double(curve["base_error"])), 0.001);
  EXPECT_TRUE(curve["collectives_measured"]);

  int measured = 0;
  for (auto const& point : curve["points"]) {
    if (point["devices"] == 1 || point["error"].is_null()) continue;
    EXPECT_LT(std::abs(double(point["error"])), 0.01) << point["devices"];
    ++measured;
  }
  EXPECT_EQ(measured, 3);
  EXPECT_NE(read("page.html").find("replayed-table"), std::string::npos);
}

TEST_F(Scaling, AReplayPredictsMoreRanksThanItHas) {
  make("more/4", 4, 1);
  make("more/2", 2, 1);
  EXPECT_EQ(stepscope("report more --json more.json").code, 0);

  make("later", 16, 1);
  auto const later = nlohmann::json::parse(
      stepscope("whatif later --only-changes --change class:compute=*1 --json 2> /dev/null")
          .output);
  auto const curve = nlohmann::json::parse(read("more.json"))["replayed"];
  for (auto const& point : curve["points"]) {
    if (point["devices"] != 16) continue;
    EXPECT_NEAR(double(point["step_ns"]["value"]) / double(later["baseline"]["step_ns"]), 1, 0.01);
  }
}

TEST_F(Scaling, NoReplayLeavesTheCurveOut) {
  EXPECT_EQ(stepscope("report series --no-replay --json series.json").code, 0);
  EXPECT_TRUE(nlohmann::json::parse(read("series.json"))["replayed"].is_null());
}

TEST_F(Scaling, StagesAreNoRanksThatCouldBeMore) {
  make("stages/2", 2, 1, "--steps 6 --pattern pipeline");
  make("stages/4", 4, 1, "--steps 6 --pattern pipeline");
  Outcome const outcome = stepscope("report stages --scaling weak --json series.json");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_EQ(nlohmann::json::parse(read("series.json"))["replayed"]["refused"], "pipeline");
  EXPECT_NE(outcome.output.find("stages of a pipeline"), std::string::npos) << outcome.output;
}

TEST_F(Scaling, RunsOfDifferentNumbersOfDevicesAreASeriesAndThoseOfOneAreRepeats) {
  make("again", 2, 2);
  Outcome const outcome = stepscope("report again series/4 series/1 series/2 --json series.json");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  auto const json = nlohmann::json::parse(read("series.json"));
  EXPECT_EQ(json["points"][1]["runs"].size(), 2U);
  EXPECT_EQ(json["points"][0]["devices"], 1);
  EXPECT_FALSE(read("scaling.html").empty());
}

TEST_F(Scaling, TheRanksOfOneRunAreNoSeries) {
  Outcome const outcome =
      stepscope("report series/2/rank-0.stepscope series/2/rank-1.stepscope -o run.html");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_EQ(outcome.output.find("scaling series"), std::string::npos) << outcome.output;
  EXPECT_NE(read("run.html").find("<section id=\"timeline\""), std::string::npos);
}

TEST_F(Scaling, WhatIsSaidOfTheKindCounts) {
  EXPECT_EQ(stepscope("report series --scaling strong --samples 256 --json series.json").code, 0);
  auto const json = nlohmann::json::parse(read("series.json"));
  EXPECT_EQ(json["scaling"], "strong");
  EXPECT_EQ(json["known_by"], "asked");
  EXPECT_EQ(json["throughput_unit"], "samples/s");
}

TEST_F(Scaling, RefusesWhatIsNoSeries) {
  make("other", 2, 2);
  expect_refused("series/2 other", "stepscope compare");
  expect_refused("series/2 other --series", "all runs are of 2 devices");
  expect_refused("series/2 --json x.json", "this is one run");
  expect_refused("series/1 nowhere", "nowhere");
  expect_refused("series --scaling odd", "--scaling");
  expect_refused("series --samples 0", "--samples");
  expect_refused("series --series --one-run", "--one-run");
  expect_refused("series -o missing/page.html", "missing");
}

TEST_F(Scaling, SaysFirstThatRunsAreOfDifferentPrograms) {
  make("moe", 8, 1, "--steps 4 --pattern moe");
  Outcome const outcome = stepscope("report series/1 moe --scaling weak");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  size_t const note = outcome.output.find("Less than half of the kernel time"),
               verdict = outcome.output.find("8 devices do");
  ASSERT_NE(note, std::string::npos) << outcome.output;
  EXPECT_LT(note, verdict);
}

TEST_F(Scaling, AFewStepsMakeAPageThatSaysSo) {
  make("short", 8, 1, "--steps 2");
  Outcome const outcome = stepscope("report series/1 short");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("needs 3"), std::string::npos) << outcome.output;
}

}  // namespace
}  // namespace stepscope::e2e
