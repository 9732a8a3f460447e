// `stepscope tune` as a user runs it: wrong use, programs that fail, searches that go on, and a
// training whose known faults are found.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/e2e/main_job/program.h"

namespace stepscope::e2e {
namespace {

using nlohmann::json;

class Tune : public Program {
 protected:
  void write(std::string const& name, std::string const& text) const {
    std::ofstream(path(name)) << text;
  }
  [[nodiscard]] std::string read(std::string const& name) const {
    std::ifstream file(path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void expect_output(std::string const& arguments, int code, std::string const& what) const {
    Outcome const outcome = stepscope("tune " + arguments);
    EXPECT_EQ(outcome.code, code) << arguments << "\n" << outcome.output;
    EXPECT_NE(outcome.output.find(what), std::string::npos) << arguments << "\n" << outcome.output;
  }
  /// The last line of each trial, in order.
  [[nodiscard]] std::vector<json> trials(std::string const& folder) const {
    std::vector<json> found;
    std::ifstream file(path(folder + "/trials.jsonl"));
    for (std::string line; std::getline(file, line);) {
      json const trial = json::parse(line, nullptr, false);
      if (!trial.contains("trial")) continue;

      size_t const number = trial["trial"];
      found.resize(std::max(found.size(), number + 1));
      found[number] = trial;
    }
    return found;
  }
  /// Answers all that the search asks for. `runs`: of each command.
  void tell_all(std::string const& folder, std::map<std::string, std::string> const& runs) const {
    for (int asked = 0; asked < 100; ++asked) {
      json const action = json::parse(stepscope("tune ask " + folder + " --json").output, nullptr,
                                      /*allow_exceptions=*/false);
      if (!action.is_object()) return;

      std::string words = "tune tell " + folder + " " + action["trial"].dump();
      for (char const* const side : {"base", "candidate"})
        if (action.contains(side)) words += " " + runs.at(action[side]["command"]);
      ASSERT_EQ(stepscope(words).code, 0) << words;
    }
    ADD_FAILURE() << "the search does not end";
  }
};

constexpr char const* kOneKnob = "[knob.n]\nvalues = [1, 2]\ndefault = 1\n";

TEST_F(Tune, RefusesWrongUse) {
  write("space.toml", kOneKnob);
  write("bad.toml", "[knob.n]\nvalues = [1, 2]\ndefault = 3\n");
  expect_output("", 2, "name a workload");
  expect_output("nothing", 2, "neither a workload nor a search");
  expect_output("allreduce", 2, "has nothing to tune");
  expect_output("--space absent.toml -- true", 2, "absent.toml");

  expect_output("--space space.toml", 2, "after --");
  expect_output("--space space.toml -- true", 2, "does not have {n}");
  expect_output("--space bad.toml -- true {n}", 2, "bad.toml:3:");
  expect_output("cifar10 --time soon", 2, "--time");
  expect_output("nowhere --resume", 2, "holds no search");
  expect_output("ask nowhere", 2, "holds no search");
}

TEST_F(Tune, ADefaultThatFailsEndsTheSearchAndIsATrial) {
  write("space.toml", kOneKnob);
  expect_output("--space space.toml -o fails -- sh -c 'echo out of luck; exit 7' {n}", 2,
                "exit code 7");
  ASSERT_EQ(trials("fails").size(), 1U);
  EXPECT_EQ(trials("fails")[0]["verdict"], "failed");
  expect_output("--space space.toml -o silent -- true {n}", 2, "do not run");
  expect_output("--space space.toml -o hangs --timeout 1s -- sleep {n}00", 2, "--timeout");
  EXPECT_NE(trials("hangs")[0]["reason"].get<std::string>().find("printed nothing"),
            std::string::npos);
}

TEST_F(Tune, AFolderHoldsOneSearch) {
  write("space.toml", kOneKnob);
  std::string const search = "--space space.toml -o tuned --prepare -- true {n}";
  ASSERT_EQ(stepscope("tune " + search).code, 0);
  expect_output(search, 2, "holds a search already");
  expect_output("tuned", 0, "Not over");

  ASSERT_EQ(shell("echo '{\"kind\":\"stepscope tuning trials\",\"schema\":1,\"space\":\"0\"}' > "
                  "tuned/trials.jsonl")
                .code,
            0);
  expect_output("tuned --resume", 2, "another search");
}

TEST_F(Tune, AskAndTellLeaveTheRunsToTheCaller) {
  write("space.toml", kOneKnob);
  ASSERT_EQ(stepscope("tune --space space.toml -o tuned --prepare -- train {n}").code, 0);
  ASSERT_EQ(stepscope("synth --ranks 1 --steps 40 -o run").code, 0);

  Outcome const asked = stepscope("tune ask tuned --json");
  ASSERT_EQ(asked.code, 0) << asked.output;
  json const action = json::parse(asked.output);
  EXPECT_EQ(action["trial"], 0);
  EXPECT_EQ(action["candidate"]["command"], "train 1");

  expect_output("tell tuned 1 run run", 2, "is not what was asked for");
  expect_output("tell tuned 0 run", 2, "a pair has two runs");
  for (int i = 0; i < 3; ++i) ASSERT_EQ(stepscope("tune tell tuned 0 run run").code, 0);
  expect_output("ask tuned", 0, "train 2");
  EXPECT_EQ(trials("tuned")[0]["verdict"], "done");
}

TEST_F(Tune, ACutLineIsReportedAndMeasuredAgain) {
  write("space.toml", kOneKnob);
  ASSERT_EQ(stepscope("tune --space space.toml -o tuned --prepare -- train {n}").code, 0);
  ASSERT_EQ(stepscope("synth --ranks 1 --steps 40 -o run").code, 0);
  for (int i = 0; i < 2; ++i) ASSERT_EQ(stepscope("tune tell tuned 0 run run").code, 0);

  std::string const whole = read("tuned/trials.jsonl");
  write("tuned/trials.jsonl", whole.substr(0, whole.size() - 5));
  expect_output("tuned", 0, "the last line is cut");
  ASSERT_EQ(stepscope("tune tell tuned 0 run run").code, 0);
  EXPECT_EQ(trials("tuned")[0]["costs_ns"].size(), 8U);
}

TEST_F(Tune, AFolderIsReportedAsAPage) {
  write("space.toml", kOneKnob);
  ASSERT_EQ(stepscope("tune --space space.toml -o tuned --prepare -- train {n}").code, 0);
  Outcome outcome = stepscope("report tuned");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_NE(read("tuning.html").find("Nothing has been measured so far."), std::string::npos);

  ASSERT_EQ(stepscope("synth --ranks 1 --steps 40 -o run").code, 0);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(stepscope("tune tell tuned 0 run run").code, 0);
  std::string const told = read("tuned/trials.jsonl");
  ASSERT_EQ(stepscope("report tuned --lang zh -o page.html").code, 0);
  EXPECT_NE(read("page.html").find("lang=\"zh-CN\""), std::string::npos);
  EXPECT_NE(read("page.html").find("id=\"trials-table\""), std::string::npos);

  // The page is of a search alone, and a search that is going on is only read.
  outcome = stepscope("report tuned run");
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  EXPECT_NE(outcome.output.find("name it alone"), std::string::npos) << outcome.output;
  outcome = stepscope("report tuned --json numbers.json");
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  EXPECT_EQ(read("tuned/trials.jsonl"), told);
}

TEST_F(Tune, ADamagedFolderIsNotReported) {
  write("space.toml", kOneKnob);
  auto const expect_refusal = [&](std::string const& what) {
    Outcome const outcome = stepscope("report tuned");
    EXPECT_EQ(outcome.code, 2) << outcome.output;
    EXPECT_NE(outcome.output.find(what), std::string::npos) << outcome.output;
  };
  ASSERT_EQ(stepscope("tune --space space.toml -o tuned --prepare -- train {n}").code, 0);
  std::string const header = read("tuned/trials.jsonl"), plan = read("tuned/study.json");

  write("tuned/trials.jsonl", header + "{\"trial\":0}\n");
  expect_refusal("tuned/trials.jsonl:2:");
  write("tuned/trials.jsonl", "no header\n");
  expect_refusal("tuned/trials.jsonl");
  write("tuned/trials.jsonl", header);
  write("tuned/study.json", plan.substr(0, plan.size() / 2));
  expect_refusal("tuned/study.json");
  ASSERT_EQ(shell("rm tuned/study.json").code, 0);
  expect_refusal("missing beside trials.jsonl");
}

TEST_F(Tune, FurtherPairsNeedAnAnswer) {
  write("space.toml", kOneKnob);
  ASSERT_EQ(stepscope("tune --space space.toml -o tuned --prepare -- train {n}").code, 0);
  expect_output("tuned --confirm 20", 2, "has no answer yet");
  expect_output("tuned --confirm 1", 2, "--confirm");
  expect_output("tuned --confirm many", 2, "--confirm");
  expect_output("nowhere --confirm 20", 2, "holds no search");

  ASSERT_EQ(stepscope("synth --ranks 1 --steps 16 -o run").code, 0);
  expect_output("run --confirm 20", 2, "holds no search");
  tell_all("tuned", {{"train 1", "run"}, {"train 2", "run"}});
  expect_output("tuned --confirm 20", 2, "nothing better than the default");
}

TEST_F(Tune, FurtherPairsThatDoNotRunLeaveTheAnswer) {
  write("space.toml", kOneKnob);
  ASSERT_EQ(stepscope("tune --space space.toml -o tuned --prepare -- false {n}").code, 0);
  ASSERT_EQ(stepscope("synth --ranks 1 --steps 16 -o fast").code, 0);
  ASSERT_EQ(stepscope("synth --ranks 1 --steps 16 --fault input=8 -o slow").code, 0);
  tell_all("tuned", {{"false 1", "slow"}, {"false 2", "fast"}});
  std::vector<json> const before = trials("tuned");
  expect_output("tuned", 0, "Better: n=2 saves");

  // They begin anew each time: what has failed is a trial that is over.
  expect_output("tuned --confirm 3", 2, "The further pairs ended early: it ended with exit code 1");
  expect_output("tuned --confirm 3", 2, "Better: n=2 saves");
  std::vector<json> const after = trials("tuned");
  ASSERT_EQ(after.size(), before.size() + 2);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), after.begin()));
  EXPECT_EQ(after.back()["kind"], "check");
  EXPECT_EQ(after.back()["verdict"], "failed");
  EXPECT_NE(read("tuned/tuning.html").find("The further pairs ended early"), std::string::npos);
}

TEST_F(Tune, PredictsOtherBatchesByASecondRecording) {
  write("space.toml",
        "[objective]\nmaximize = \"samples_per_second\"\nsamples = \"{batch}\"\n"
        "[knob.batch]\nvalues = [50, 100, 200, 300]\ndefault = 100\nmeans = \"batch-size\"\n");
  ASSERT_EQ(stepscope("tune --space space.toml -o tuned --prepare -- train {batch}").code, 0);
  std::map<std::string, std::string> runs;
  for (std::string const size : {"50", "100", "200", "300"}) {
    ASSERT_EQ(stepscope("synth --pattern pipeline --fault none --steps 16 --ranks 2 "
                        "--micro-batch-percent " +
                        size + " -o run" + size)
                  .code,
              0);
    runs["train " + size] = "run" + size;
  }

  tell_all("tuned", runs);

  // Both recordings serve again from the accepted batch on.
  size_t recordings = 0;
  for (json const& trial : trials("tuned")) {
    recordings += trial["kind"] == "recording" ? 1 : 0;
    if (trial["kind"] == "candidate" && trial["settings"]["batch"] == "50") {
      EXPECT_EQ(trial["verdict"], "dropped");
    }
    if (trial["verdict"] == "accepted" && trial["kind"] == "candidate") {
      EXPECT_EQ(trial["change"], "batch:100,300=300");
      EXPECT_NEAR(trial["predicted"].get<double>(), trial["measured"].get<double>(), 0.005);
    }
  }
  EXPECT_EQ(recordings, 2U);
  expect_output("tuned", 0, "second recording, batch=300: done");
  expect_output("tuned", 0, "Better: batch=300 saves");
  ASSERT_EQ(stepscope("report tuned -o page.html").code, 0);
  EXPECT_NE(read("page.html").find("A second recording: with the first one"), std::string::npos);
}

/// The faults of the default are large, so that a busy machine does not hide them.
TEST_F(Tune, CuresATrainingThatWaitsForItsInput) {
  Outcome outcome = stepscope(
      "tune cifar10 --device host:2 --batch 4 --steps 40 --log-every 0 --input-delay-ms 60 "
      "--min-effect 25 --time 1m --pairs 4 -o tuned");
  // A busy machine takes longer, and the command says how to go on.
  for (int more = 0; more < 2 && (outcome.code == 1 || outcome.code == 3); ++more)
    outcome = stepscope("tune tuned --resume --time 2m");
  if (outcome.code == 3) GTEST_SKIP() << "the machine is too noisy: " << outcome.output;
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_NE(read("tuned/best.toml").find("input-delay-ms = \"0\""), std::string::npos);
  EXPECT_NE(outcome.output.find("Better: "), std::string::npos) << outcome.output;

  for (json const& trial : trials("tuned")) {
    if (trial["verdict"] == "accepted") {
      EXPECT_GT(trial["low"].get<double>(), 0.25);
    }
  }

  EXPECT_NE(outcome.output.find("tuned/tuning.html"), std::string::npos) << outcome.output;
  EXPECT_NE(read("tuned/tuning.html").find("Set input-delay-ms=0: it saves"), std::string::npos);
  Outcome const checked = stepscope("tune tuned --confirm 3 --no-report");
  EXPECT_TRUE(checked.code == 0 || checked.code == 1) << checked.output;
  EXPECT_NE(checked.output.find("3 further pairs: saves"), std::string::npos) << checked.output;
  EXPECT_EQ(trials("tuned").back()["kind"], "check");
  EXPECT_EQ(trials("tuned").back()["costs_ns"].size(), 12U);
}

}  // namespace
}  // namespace stepscope::e2e
