// `stepscope compare` as a user runs it: verdicts as exit codes, text, JSON, and clear refusals.
#include <nlohmann/json.hpp>

#include "tests/e2e/main_job/program.h"

namespace stepscope::e2e {
namespace {

class Compare : public Program {
 protected:
  void SetUp() override {
    make("base", "none", 1);
    make("same", "none", 2);
  }
  void make(std::string const& name, std::string const& fault, int seed, int steps = 12) const {
    Outcome const made =
        stepscope("synth --ranks 2 --steps " + std::to_string(steps) + " --fault " + fault +
                  " --seed " + std::to_string(seed) + " -o " + name);
    ASSERT_EQ(made.code, 0) << made.output;
  }
  void expect_refused(std::string const& arguments, std::string const& what) const {
    Outcome const outcome = stepscope("compare " + arguments);
    EXPECT_EQ(outcome.code, 2) << arguments << "\n" << outcome.output;
    EXPECT_NE(outcome.output.find(what), std::string::npos) << arguments << "\n" << outcome.output;
  }
};

TEST_F(Compare, TheSameIsExitCode0) {
  Outcome const outcome = stepscope("compare base --vs same");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("SAME: a step takes"), std::string::npos) << outcome.output;
}

TEST_F(Compare, SlowerIsExitCode1AndFaster0) {
  make("slow", "input=4", 1);
  Outcome const slower = stepscope("compare base --vs slow");
  EXPECT_EQ(slower.code, 1) << slower.output;
  EXPECT_NE(slower.output.find("waiting for input"), std::string::npos) << slower.output;
  EXPECT_EQ(stepscope("compare slow --vs base").code, 0);
  EXPECT_EQ(stepscope("compare base --vs slow --min-effect 50").code, 0);
}

TEST_F(Compare, TooFewStepsAreUnclearWhichIsExitCode3) {
  Outcome const outcome = stepscope("compare base --vs same --steps 3:6");
  EXPECT_EQ(outcome.code, 3) << outcome.output;
  EXPECT_NE(outcome.output.find("UNCLEAR"), std::string::npos) << outcome.output;
}

TEST_F(Compare, TakesSeveralRunsASide) {
  make("third", "none", 3);
  Outcome const outcome = stepscope("compare base same --vs third --json");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  auto const json = nlohmann::json::parse(outcome.output);
  EXPECT_EQ(json["base"]["runs"], nlohmann::json::array({"base", "same"}));
  EXPECT_EQ(json["metrics"][0]["value"], "run");
  EXPECT_EQ(json["metrics"][0]["method"], "student");
}

TEST_F(Compare, ComparesPairsWhereRunsWereMadeInTurn) {
  make("third", "none", 3);
  make("fourth", "none", 4);

  Outcome const outcome = stepscope("compare base same --vs third fourth --paired --json");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  auto const json = nlohmann::json::parse(outcome.output);
  EXPECT_EQ(json["metrics"][0]["value"], "pair");
  EXPECT_EQ(json["metrics"][0]["method"], "paired_student");

  Outcome const text = stepscope("compare base same --vs third fourth --paired");
  EXPECT_NE(text.output.find("2 pairs were compared"), std::string::npos) << text.output;
  expect_refused("base same --vs third --paired", "2 runs before and 1 after");
}

TEST_F(Compare, JsonHoldsEveryPartOfTheChange) {
  make("slow", "sync=100", 1);
  auto const json = nlohmann::json::parse(stepscope("compare base --vs slow --json").output);
  int64_t sum = 0;
  for (auto const& part : json["why"]["parts"]) sum += part["ns"].get<int64_t>();
  EXPECT_EQ(sum, json["new"]["mean_ns"].get<int64_t>() - json["base"]["mean_ns"].get<int64_t>());
}

TEST_F(Compare, RefusesWhatCannotBeCompared) {
  make("one", "none", 1, 1);
  expect_refused("base --vs one", "single step");
  expect_refused("base --vs nowhere", "nowhere");
  expect_refused("base", "--vs is missing");
  expect_refused("base --vs same --steps 400:500", "not in the run");
  expect_refused("base --vs same --min-effect x", "--min-effect");
  expect_refused("base --vs same ./same", "is named twice");
}

}  // namespace
}  // namespace stepscope::e2e
