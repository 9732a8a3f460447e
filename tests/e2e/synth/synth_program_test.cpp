// `stepscope synth` as a user runs it: a run that every command takes, and clear refusals.
#include <fstream>

#include "tests/e2e/main_job/program.h"

namespace stepscope::e2e {
namespace {

class Synth : public Program {
 protected:
  void expect_refused(std::string const& arguments, std::string const& what) const {
    Outcome const outcome = stepscope("synth " + arguments);
    EXPECT_EQ(outcome.code, 2) << arguments << "\n" << outcome.output;
    EXPECT_NE(outcome.output.find("stepscope: "), std::string::npos) << outcome.output;
    EXPECT_NE(outcome.output.find(what), std::string::npos) << arguments << "\n" << outcome.output;
    EXPECT_EQ(outcome.output.find("internal error"), std::string::npos) << outcome.output;
  }
};

TEST_F(Synth, MakesARunThatAnalyzeTakes) {
  ASSERT_EQ(stepscope("synth --ranks 2 --events 20000 --pattern moe --seed 3 -o run").code, 0);
  EXPECT_TRUE(std::filesystem::exists(path("run/truth.json")));
  Outcome const analyzed = stepscope("analyze run");
  EXPECT_EQ(analyzed.code, 0) << analyzed.output;
  EXPECT_NE(analyzed.output.find("2 devices"), std::string::npos) << analyzed.output;
}

TEST_F(Synth, ReadProcessByProcessARunHasTheSameAnalysis) {
  for (char const* const pattern : {"dp", "pipeline", "moe"}) {
    SCOPED_TRACE(pattern);
    ASSERT_EQ(
        stepscope(std::string("synth --ranks 3 --steps 40 --seed 5 --force -o run --pattern ") +
                  pattern)
            .code,
        0);

    for (char const* const options : {"", " --steps 4:20", " --rank 1"}) {
      Outcome const in_memory = stepscope(std::string("analyze run --json") + options);
      Outcome const streamed = stepscope(std::string("analyze run --json --stream") + options);
      ASSERT_EQ(in_memory.code, 0) << in_memory.output;
      EXPECT_TRUE(streamed.output == in_memory.output) << options;
    }
  }
}

TEST_F(Synth, WrongCountsAndNamesAreRefused) {
  expect_refused("-o run --ranks 0", "--ranks");
  expect_refused("-o run --ranks -2", "--ranks");
  expect_refused("-o run --ranks 100000", "--ranks");
  expect_refused("-o run --events 0", "--events");
  expect_refused("-o run --events -5", "--events");
  expect_refused("-o run --events 99999999999999999999999", "--events");
  expect_refused("-o run --events many", "--events");
  expect_refused("-o run --seed -1", "--seed");
  expect_refused("-o run --seed 99999999999999999999999",
                 "whole number from 0 to 18446744073709551615");

  expect_refused("-o run --pattern ring", "ring");
  expect_refused("--ranks 2", "--output");
  EXPECT_FALSE(std::filesystem::exists(path("run")));
}

TEST_F(Synth, MakesAJobOfOneFaultThatAnalyzeNames) {
  Outcome const outcome = stepscope("synth --ranks 2 --steps 12 --fault input=6 -o run");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("in 12 steps of 2 ranks"), std::string::npos) << outcome.output;
  Outcome const analyzed = stepscope("analyze run");
  EXPECT_NE(analyzed.output.find("1. CRITICAL"), std::string::npos) << analyzed.output;
  EXPECT_NE(analyzed.output.find("(input-bound)"), std::string::npos) << analyzed.output;
}

TEST_F(Synth, WrongFaultsAreRefusedWithWhatThereIs) {
  expect_refused("-o run --fault nonsense", "small-buckets");
  expect_refused("-o run --fault nonsense", "throttling");
  expect_refused("-o run --fault input=0", "from 0.1 to 10000");
  expect_refused("-o run --fault straggler=0.5", "straggler=TIMES");
  expect_refused("-o run --fault none=3", "takes no amount");

  expect_refused("-o run --fault small-buckets --pattern moe", "--pattern dp");
  expect_refused("-o run --fault straggler --ranks 1", "--ranks 2");
  expect_refused("-o run --steps 0", "--steps");
  expect_refused("-o run --steps 5 --events 100", "--events");

  EXPECT_FALSE(std::filesystem::exists(path("run")));
}

TEST_F(Synth, HelpListsTheFaults) {
  Outcome const outcome = stepscope("synth --help");
  for (char const* const text :
       {"--fault", "late-rank=MS", "serialized-streams", "lost-records=PERCENT"})
    EXPECT_NE(outcome.output.find(text), std::string::npos) << text;
}

TEST_F(Synth, ARunIsOverwrittenOnlyWithForce) {
  ASSERT_EQ(stepscope("synth --events 1 --ranks 3 -o run").code, 0);
  expect_refused("--events 1 --ranks 2 -o run", "--force");
  std::ofstream(path("run/notes.txt")) << "mine";
  ASSERT_EQ(stepscope("synth --events 1 --ranks 2 -o run --force").code, 0);
  EXPECT_TRUE(std::filesystem::exists(path("run/notes.txt")));
  EXPECT_FALSE(std::filesystem::exists(path("run/rank-2.stepscope")));
}

TEST_F(Synth, APlaceThatCannotBeWrittenIsNamed) {
  expect_refused("--events 1 -o /proc/nosuch/run", "/proc/nosuch/run");
  std::ofstream(path("file")) << "";
  expect_refused("--events 1 -o file", "file");
}

TEST_F(Synth, SaysWhatItMadeInWords) {
  Outcome const outcome = stepscope("synth --events 1 --ranks 1 -o run");
  EXPECT_NE(outcome.output.find(" events in 1 step of 1 rank, in run"), std::string::npos)
      << outcome.output;
}

TEST_F(Synth, MoreRanksThanFilesMayBeOpenIsSaidWithTheRemedy) {
  Outcome const refused =
      shell("ulimit -n 64; " + program() + " synth --events 1 --ranks 100 -o run");
  EXPECT_EQ(refused.code, 2);
  EXPECT_NE(refused.output.find("raise it with ulimit -n, or make fewer ranks"), std::string::npos)
      << refused.output;
  EXPECT_FALSE(std::filesystem::exists(path("run")));
  Outcome const raised =
      shell("ulimit -Sn 64; " + program() + " synth --events 1 --ranks 100 -o run");
  EXPECT_EQ(raised.code, 0) << "the soft limit is ours to raise: " << raised.output;
}

TEST_F(Synth, AFullDiskLeavesNoHalfOfARun) {
  // The shell's limit on the size of a file stands in for the disk; the signal that comes with it
  // is ignored.
  Outcome const outcome = shell("trap '' XFSZ; ulimit -f 64; " + program() +
                                " synth --events 2000000 --ranks 2 -o run");
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  EXPECT_NE(outcome.output.find("cannot write"), std::string::npos) << outcome.output;
  EXPECT_FALSE(std::filesystem::exists(path("run"))) << outcome.output;
}

}  // namespace
}  // namespace stepscope::e2e
