// Two programs that take turns: which one trains when. Neither waits for ever, whatever the other
// does.
#include "tracer/record_interleaved.h"

#include <csignal>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/paths.h"
#include "tests/unit/tracer/child_program.h"
#include "trace/model/kinds.h"

namespace stepscope::tracer {
namespace {

using ::testing::AnyOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Arguments = std::vector<std::string>;

class InTurnTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (char const* const reason = why_no_injection()) GTEST_SKIP() << reason;
    options_.library = support::build_path("lib/libstepscope-tracer.so");
  }
  /// Returns the exit code; message() holds what the command wrote to stderr.
  int record(Arguments first, Arguments second, int64_t steps = 4) {
    for (Arguments* arguments : {&first, &second})
      if (arguments->front().front() != '/')
        arguments->insert(arguments->begin(), support::build_path("tests/traced_program"));

    ::testing::internal::CaptureStderr();
    ::testing::internal::CaptureStdout();
    auto const code = record_interleaved(options_, steps, {run(0), first}, {run(1), second});
    written_ = ::testing::internal::GetCapturedStdout();
    message_ = ::testing::internal::GetCapturedStderr();

    if (!code) message_ = code.error().message;
    return code ? *code : -1;
  }
  [[nodiscard]] std::string run(int side) const {
    return (folder_.path() / (side == 0 ? "first" : "second")).string();
  }
  [[nodiscard]] std::string const& message() const { return message_; }
  [[nodiscard]] std::string const& written() const { return written_; }
  /// The steps of both runs.
  size_t recorded_steps() {
    size_t count = 0;
    for (int side : {0, 1})
      for (auto const& [file, trace] : read_traces(run(side)))
        for (uint32_t row = 0; row < trace.event_count(); ++row)
          count += trace.kind(row) == model::EventKind::kStep ? 1 : 0;
    return count;
  }
  /// What the traces of a run say of turns, one a process.
  std::vector<std::string> turns_facts(int side) {
    std::vector<std::string> found;
    for (auto const& [file, trace] : read_traces(run(side)))
      for (auto const& [name, value] : trace.info().facts)
        if (name == "turns") found.push_back(value);
    return found;
  }
  /// A program of several processes that write the letter in each of their steps.
  [[nodiscard]] Arguments together(int processes, std::string const& letter, int steps) const {
    std::string const one = support::build_path("tests/traced_program") + " train-together " +
                            (folder_.path() / ("barrier-" + letter)).string() + " " +
                            std::to_string(processes) + " " + letter + " " + std::to_string(steps);
    std::string script;
    for (int i = 0; i < processes; ++i) script += one + " & ";
    return {"/bin/sh", "-c", script + "wait"};
  }

  RecordOptions options_;

 private:
  TestFolder folder_;
  std::string message_, written_;
};

TEST_F(InTurnTest, ProgramsTrainOneAfterTheOther) {
  EXPECT_EQ(record({"train-aloud", "a", "24"}, {"train-aloud", "b", "24"}), 0);
  EXPECT_EQ(written(), "aaaabbbbbbbbaaaaaaaabbbbbbbbaaaaaaaabbbbbbbbaaaa");
  EXPECT_THAT(message(), HasSubstr("5 turns each, of 4 steps"));
  EXPECT_THAT(message(), Not(HasSubstr("early")));
  EXPECT_EQ(recorded_steps(), 48U);
  EXPECT_THAT(turns_facts(0), ElementsAre("5 of 4 steps"))
      << "the last steps ran beside no step of the other program";
  EXPECT_THAT(turns_facts(1), ElementsAre("6 of 4 steps"));
}

TEST_F(InTurnTest, AHeldStepIsToldInTheTrace) {
  EXPECT_EQ(record({"train", "12"}, {"train", "12"}), 0);
  for (auto const& [file, trace] : read_traces(run(0))) {
    auto const names = count_names(trace);
    EXPECT_EQ(names.at("held: the other program's turn"), 3);
  }
}

TEST_F(InTurnTest, WhoEndsEarlyHoldsNobody) {
  EXPECT_EQ(record({"train", "6"}, {"train", "50"}), 0);
  EXPECT_EQ(recorded_steps(), 56U);
}

TEST_F(InTurnTest, WhoMarksNoStepsHoldsNobody) {
  EXPECT_EQ(record({"nvtx"}, {"train", "8"}), 0);
  EXPECT_THAT(message(), HasSubstr("no step was in turn"));
  EXPECT_EQ(recorded_steps(), 8U);
  EXPECT_THAT(turns_facts(1), IsEmpty());
}

TEST_F(InTurnTest, ACrashHoldsNobodyAndItsExitCodeIsHandedOn) {
  EXPECT_EQ(record({"train", "50"}, {"exit-now"}),
            7);  // after two steps, in the middle of its turn
  EXPECT_EQ(recorded_steps(), 52U);
}

/// Processes whose steps need each other: one that had fewer steps than another would keep it for
/// ever.
TEST_F(InTurnTest, ProcessesOfAProgramHaveTheirTurnsTogether) {
  EXPECT_EQ(record(together(3, "a", 24), together(3, "b", 24)), 0);
  std::string expected = std::string(12, 'a');
  for (char const letter : {'b', 'a', 'b', 'a', 'b'}) expected += std::string(24, letter);
  EXPECT_EQ(written(), expected + std::string(12, 'a'));
  EXPECT_THAT(message(), HasSubstr("5 turns each, of 4 steps"));
  EXPECT_THAT(message(), Not(HasSubstr("early")));
  EXPECT_EQ(recorded_steps(), 6 * 24U);
  EXPECT_THAT(turns_facts(0), ElementsAre("5 of 4 steps", "5 of 4 steps", "5 of 4 steps"));
  EXPECT_THAT(turns_facts(1), ElementsAre("6 of 4 steps", "6 of 4 steps", "6 of 4 steps"));
}

TEST_F(InTurnTest, AProgramOfSeveralProcessesHasTurnsBesideOneOfOne) {
  EXPECT_EQ(record(together(2, "a", 40), {"train", "40"}, 8), 0);
  EXPECT_THAT(message(), Not(HasSubstr("early")));
  EXPECT_THAT(turns_facts(0), Each(AnyOf("4 of 8 steps", "5 of 8 steps")));
  EXPECT_EQ(recorded_steps(), 120U);
}

TEST_F(InTurnTest, ProcessesThatFollowEachOtherHaveTurns) {
  std::string const program = support::build_path("tests/traced_program");
  EXPECT_EQ(
      record({"/bin/sh", "-c", program + " train 20; " + program + " train 20"}, {"train", "60"}),
      0);
  EXPECT_THAT(message(), Not(HasSubstr("early")));
  EXPECT_THAT(turns_facts(0), ElementsAre("5 of 4 steps", "5 of 4 steps"));
  EXPECT_EQ(recorded_steps(), 100U);
}

TEST_F(InTurnTest, AProcessThatDiesInItsTurnHoldsNobody) {
  std::string const program = support::build_path("tests/traced_program");
  EXPECT_EQ(record({"/bin/sh", "-c", program + " exit-now & " + program + " train 50; wait"},
                   {"train", "50"}),
            0);
  EXPECT_THAT(message(), Not(HasSubstr("early")));
  EXPECT_EQ(recorded_steps(), 102U);
}

TEST_F(InTurnTest, ProcessesThatMarkNoStepsAreHeldWithTheirProgram) {
  std::string const program = support::build_path("tests/traced_program");
  EXPECT_EQ(record({"/bin/sh", "-c", program + " nvtx & " + program + " train 24; wait"},
                   {"train", "24"}),
            0);
  EXPECT_THAT(message(), HasSubstr("turns each, of 4 steps"));
  EXPECT_THAT(message(), Not(HasSubstr("early")));
  EXPECT_EQ(recorded_steps(), 48U);
}

TEST_F(InTurnTest, ASignalEndsBoth) {
  // The command makes the folders after it began to wait for signals. The signal goes to this
  // thread, since threads of earlier tests might hold it back.
  std::thread sender([second = run(1), recording = ::pthread_self()] {
    while (!std::filesystem::exists(second)) std::this_thread::yield();
    ::pthread_kill(recording, SIGTERM);
  });
  EXPECT_EQ(record({"run-for-ever"}, {"run-for-ever"}), 128 + SIGTERM);
  sender.join();
}

TEST_F(InTurnTest, WhatCannotBeIsRefused) {
  EXPECT_EQ(record({"train"}, {"/no/such/program"}), 127);
  EXPECT_FALSE(std::filesystem::exists(run(0))) << "what was made is taken back";

  options_.steps = "1:2";
  EXPECT_EQ(record({"train"}, {"train"}), -1);
  EXPECT_THAT(message(), HasSubstr("records all steps"));
  options_.steps.clear();

  auto const same = record_interleaved(options_, 4, {run(0), {"a"}}, {run(0) + "/.", {"b"}});
  ASSERT_FALSE(same);
  EXPECT_THAT(same.error().message, HasSubstr("a run of its own"));

  auto const one = record_interleaved(options_, 4, {run(0), {"a"}}, {run(1), {}});
  ASSERT_FALSE(one);
  EXPECT_THAT(one.error().message, HasSubstr("name both programs"));
}

}  // namespace
}  // namespace stepscope::tracer
