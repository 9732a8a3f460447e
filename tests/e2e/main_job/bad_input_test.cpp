// Wrong use, broken input, killed programs: a clear error or a readable run, never a crash, never a
// lost run.
#include <csignal>
#include <fstream>
#include <string>

#include <gmock/gmock.h>

#include "tests/e2e/main_job/program.h"
#include "trace/import/open/open_run.h"

namespace stepscope::e2e {
namespace {

using ::testing::Test;

class BadInput : public Program {
 protected:
  /// The program must refuse with exit code 2, say `what`, and neither crash nor print a stack of
  /// anything.
  void expect_refused(std::string const& arguments, std::string const& what) const {
    Outcome const outcome = stepscope(arguments);
    EXPECT_EQ(outcome.code, 2) << arguments << "\n" << outcome.output;
    EXPECT_NE(outcome.output.find("stepscope: "), std::string::npos) << outcome.output;
    EXPECT_NE(outcome.output.find(what), std::string::npos) << arguments << "\n" << outcome.output;
    EXPECT_EQ(outcome.output.find("internal error"), std::string::npos) << outcome.output;
  }
};

TEST_F(BadInput, WrongUseOfAWorkloadIsSaid) {
  expect_refused("run nosuch", "nosuch");
  expect_refused("run cifar10 --device gpu:7", "gpu:7");
  expect_refused("run cifar10 --device host:0", "host:0");
  expect_refused("run cifar10 --steps 0", "--steps");
  expect_refused("run cifar10 --batch 0", "--batch");
  expect_refused("run cifar10 --nosuch", "--nosuch");
  expect_refused("run cifar10 --pathology straggler=0.5", "whole number");
  expect_refused("run cifar10 --scale 1,two", "two");
  expect_refused("run cifar10 --scale 1,2,2", "twice");
  expect_refused("run cifar10 --scale 1,2 --device host:2", "--device host");

  expect_refused("run", "workload");
  expect_refused("nosuch", "nosuch");
  expect_refused("record", "--");
  expect_refused("report run --lang xx", "{en,zh}");
  expect_refused("record --steps 9:3 -- true", "9:3");
  expect_refused("record --turn-steps 4 -- true", "--in-turn");
  expect_refused("record --in-turn new -- true", "with : between them");
  expect_refused("profile cifar10 --trace-steps 9:3", "--trace-steps 9:3");

  for (char const* const megabytes : {"0", "-5", "2000000", "99999999999999999999"})
    expect_refused(std::string("record --buffer-mb ") + megabytes + " -- true",
                   "from 1 to 1048576");
}

TEST_F(BadInput, AProgramThatASignalEndsBeforeItDidAnythingIsSaidToHaveBeen) {
  Outcome const outcome = stepscope("record -o run -- sh -c 'kill -s BUS $$'");
  EXPECT_EQ(outcome.code, 128 + SIGBUS);
  EXPECT_THAT(outcome.output,
              ::testing::HasSubstr("was ended by signal " + std::to_string(SIGBUS)));
}

TEST_F(BadInput, BadDataFilesAreNamed) {
  expect_refused("run cifar10 --data missing", "missing");

  std::filesystem::create_directory(path("short"));
  for (char const* const name : {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                 "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"})
    std::ofstream(path(std::string("short/") + name)) << std::string(3072, '\0');
  expect_refused("run cifar10 --data short", "data_batch_1.bin");

  std::filesystem::create_directory(path("label"));
  for (char const* const name : {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                 "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"})
    std::ofstream(path(std::string("label/") + name)) << std::string(3073 * 4, '\x0B');
  expect_refused("run cifar10 --data label", "label");
}

TEST_F(BadInput, AMemoryLimitThatIsTooSmallNamesWhatWasAskedFor) {
  expect_refused("run cifar10 --memory-limit 1 --batch 4 --steps 2", "MiB");
}

TEST_F(BadInput, ARunFolderIsNeverOverwrittenWithoutForce) {
  std::string const profile = "profile cifar10 -o run" + kSmall;
  ASSERT_EQ(stepscope(profile).code, 0);
  expect_refused(profile, "--force");
  EXPECT_EQ(stepscope(profile + " --force").code, 0);
}

TEST_F(BadInput, ForceDoesNotTakeFilesThatAreNotOurs) {
  std::filesystem::create_directory(path("run"));
  std::ofstream(path("run/thesis.txt")) << "precious";
  ASSERT_EQ(stepscope("record -o run --force -- " + program() + " run cifar10" + kSmall).code, 0);
  EXPECT_TRUE(std::filesystem::exists(path("run/thesis.txt")));
}

TEST_F(BadInput, AFolderThatCannotBeWrittenIsSaidBeforeTraining) {
  expect_refused("profile cifar10 -o /proc/nosuch/run" + kSmall, "/proc/nosuch/run");
}

TEST_F(BadInput, ACommandThatDoesNotExistIs127AsInAShell) {
  EXPECT_EQ(stepscope("record -o run -- ./no-such-program").code, 127);
}

TEST_F(BadInput, AProgramThatNeverAnnotatesIsToldApart) {
  Outcome const outcome = stepscope("record -o run -- true");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.output.find("NVTX"), std::string::npos) << outcome.output;
}

TEST_F(BadInput, FilesThatAreNoTracesAreRefused) {
  std::ofstream(path("text.stepscope")) << "hello";
  std::ofstream(path("empty.stepscope")) << "";
  expect_refused("analyze text.stepscope", "text.stepscope");
  expect_refused("analyze empty.stepscope", "empty.stepscope");
  expect_refused("analyze missing", "missing");
  expect_refused("report missing -o r.html", "missing");
  std::filesystem::create_directory(path("folder"));
  expect_refused("info folder", "no trace");
  EXPECT_FALSE(std::filesystem::exists(path("r.html")));
}

TEST_F(BadInput, AReportIntoAFolderThatIsNotThereIsAnError) {
  ASSERT_EQ(stepscope("record -o run -- " + program() + " run cifar10" + kSmall).code, 0);
  expect_refused("report run -o missing/r.html", "missing/r.html");
}

/// Waits until the recorded program has written events, then sends `signal` to it.
std::string kill_when_recording(std::string const& program, std::string const& signal,
                                std::string const& target) {
  return program + " record -o run -- " + program +
         " run cifar10 --batch 4 --steps 1000000 --no-evaluate --log-every 0 & recorder=$!; "
         "for i in $(seq 600); do [ \"$(cat run/*.stepscope 2>/dev/null | wc -c)\" -gt 20000 ] && "
         "break; sleep 0.1; done; worker=$(ps -o pid= --ppid $recorder | tr -d ' '); kill -" +
         signal + " " + target + "; wait $recorder";
}

TEST_F(BadInput, AKilledProgramLeavesAReadableRun) {
  Outcome const outcome = shell(kill_when_recording(program(), "KILL", "$worker"));
  EXPECT_EQ(outcome.code, 137) << outcome.output;
  auto const run = import::open_run(path("run"));
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_GT(run->ranks.front().trace.event_count(), 100U);
  EXPECT_TRUE(run->ranks.front().trace.log().truncated);
  EXPECT_EQ(run->ranks.front().trace.log().lost_blocks, 0U);
  EXPECT_EQ(stepscope("analyze run").code, 0);
}

TEST_F(BadInput, CtrlCEndsTrainingAndLeavesAWholeRun) {
  Outcome const outcome = shell(kill_when_recording(program(), "INT", "$worker"));
  EXPECT_EQ(outcome.code, 130) << outcome.output;
  auto const run = import::open_run(path("run"));
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_FALSE(run->ranks.front().trace.log().truncated);
  EXPECT_EQ(run->ranks.front().trace.log().unmatched_launches, 0U);
}

}  // namespace
}  // namespace stepscope::e2e
