// `stepscope whatif` as a user runs it: what to do first, questions one at a time and together,
// JSON, Markdown, and clear refusals.
#include <filesystem>
#include <string>

#include <nlohmann/json.hpp>

#include "tests/e2e/main_job/program.h"

namespace stepscope::e2e {
namespace {

using nlohmann::json;

class WhatIf : public Program {
 protected:
  void SetUp() override {
    Outcome const made = stepscope("synth --ranks 2 --steps 16 --fault input=8 -o slow");
    ASSERT_EQ(made.code, 0) << made.output;
  }
  [[nodiscard]] json predict(std::string const& arguments) const {
    Outcome const outcome = stepscope("whatif slow --json " + arguments + " 2> /dev/null");
    EXPECT_EQ(outcome.code, 0) << arguments << "\n" << outcome.output;
    return json::parse(outcome.output, nullptr, false);
  }
  void expect_in_output(std::string const& arguments, int code, std::string const& what) const {
    Outcome const outcome = stepscope("whatif " + arguments);
    EXPECT_EQ(outcome.code, code) << arguments << "\n" << outcome.output;
    EXPECT_NE(outcome.output.find(what), std::string::npos) << arguments << "\n" << outcome.output;
  }
};

TEST_F(WhatIf, SaysWhatToFixFirst) {
  expect_in_output("slow", 0, "Fix input-bound first: input=0 makes the step");
  expect_in_output("slow --markdown", 0, "| input-bound | input=0 |");
  expect_in_output("slow --steps 4:12", 0, "Fix input-bound first");
}

TEST_F(WhatIf, EachChangeIsAQuestionUnlessTheyAreTogether) {
  json const two = predict("--change input=0 --change class:compute=/2");
  ASSERT_EQ(two["answers"].size(), 2U);
  EXPECT_EQ(two["answers"][0]["change"], "input=0");
  EXPECT_GT(two["answers"][0]["gain"], 0.05);
  EXPECT_GT(two["fixes"].size(), 0U);

  json const one = predict("--change input=0 --change class:compute=/2 --together --only-changes");
  ASSERT_EQ(one["answers"].size(), 1U);
  EXPECT_EQ(one["answers"][0]["change"], "input=0 + class:compute=/2");
  EXPECT_EQ(one["fixes"].size(), 0U);
  EXPECT_GT(one["answers"][0]["gain"], two["answers"][0]["gain"]);
  EXPECT_GT(one["answers"][0]["gain"], two["answers"][1]["gain"]);
}

TEST_F(WhatIf, AChangeThatIsNoneIsRefusedBeforeTheRunIsRead) {
  expect_in_output("nowhere --change inputs=0", 2, "inputs");
  expect_in_output("slow --change input=0 --change kernel:", 2, "--change kernel:");
  expect_in_output("slow --change micro-batches=none", 2, "write for example micro-batches=16");
}

TEST_F(WhatIf, ChangesOfTheSameThingContradictEachOther) {
  expect_in_output("slow --change input=0 --change input=2ms --together", 2,
                   "input=0 and input=2ms change the same thing");
  expect_in_output("slow --change input=0 --change input=2ms --only-changes", 0, "input=2ms");
  expect_in_output("slow --change host:a=0 --change host:b=0 --together", 2, "there are");
}

TEST_F(WhatIf, AChangeThatSelectsNothingSaysWhatThereIs) {
  expect_in_output("slow --change kernel:nosuch=0 --only-changes", 2, "there are");
  expect_in_output("slow --change straggler=9", 2, "there are 0, 1");
  // The other questions are answered all the same.
  expect_in_output("slow --change input=0 --change kernel:nosuch=0 --only-changes", 2,
                   "input=0 makes the step");
}

TEST_F(WhatIf, OneStepTellsNothingOfOthers) {
  ASSERT_EQ(stepscope("synth --ranks 2 --steps 1 -o one").code, 0);
  expect_in_output("one --change class:compute=/2", 0, "Only one step is measured");
  Outcome const outcome =
      stepscope("whatif one --json --change class:compute=/2 --only-changes 2> /dev/null");
  json const stats = json::parse(outcome.output, nullptr, false);
  EXPECT_TRUE(stats["baseline"]["spread"].is_null()) << outcome.output;
  EXPECT_TRUE(stats["answers"][0]["low_ns"].is_null()) << outcome.output;
  EXPECT_GT(stats["answers"][0]["gain"], 0.1) << outcome.output;
}

/// What a change does may be more than what its finding promises. The first fix is that of the
/// first finding whose gain is known, on traces of other people's programs.
TEST_F(WhatIf, NamesTheSameFixFirstAsTheAnalysis) {
  std::filesystem::path const folder = STEPSCOPE_REAL_TRACES "/kineto";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not on this machine";

  for (std::string const name : {"resnet50-workers0", "resnet50-workers4", "v100-resnet-ns"}) {
    std::string const trace = "'" + (folder / (name + ".json.gz")).string() + "' 2> /dev/null";
    json const analysis = json::parse(stepscope("analyze --json " + trace).output);
    json const answer = json::parse(stepscope("whatif --json " + trace).output);

    std::string first;
    for (json const& finding : analysis["findings"])
      if (first.empty() && !finding["gain_alone"].is_null()) first = finding["rule"];
    ASSERT_FALSE(answer["fixes"].empty()) << name;
    EXPECT_EQ(answer["fixes"][0]["finding"], first) << name;
  }
}

/// What led to the chosen steps is replayed, too: the late rank was late before them.
TEST_F(WhatIf, ChosenStepsGainWhatAllOfThemGain) {
  ASSERT_EQ(stepscope("synth --ranks 4 --steps 30 --fault straggler -o late").code, 0);
  ASSERT_EQ(stepscope("slice late --steps 12:20 -o part").code, 0);
  auto const gain_of = [&](std::string const& arguments) {
    Outcome const outcome = stepscope("whatif --json " + arguments + " 2> /dev/null");
    return json::parse(outcome.output).at("fixes").at(0).at("gain_alone").get<double>();
  };

  double const of_all = gain_of("late");
  EXPECT_GT(of_all, 0.2);
  EXPECT_NEAR(gain_of("late --steps 12:20"), of_all, 0.01);
  EXPECT_NEAR(gain_of("part"), of_all, 0.01);
}

TEST_F(WhatIf, RefusesWrongUse) {
  expect_in_output("nowhere", 2, "nowhere");
  expect_in_output("slow launch=0", 2, "Write --change launch=0");
  expect_in_output("slow --together", 2, "--change");
  expect_in_output("slow --only-changes", 2, "--change");
  expect_in_output("slow --probe slow", 2, "--change");
  expect_in_output("slow --probe nowhere --change ranks=4:same-batch", 2, "nowhere");
  expect_in_output("slow --json --markdown", 2, "--json");
  expect_in_output("slow --steps 400:500", 2, "not in the run");
}

}  // namespace
}  // namespace stepscope::e2e
