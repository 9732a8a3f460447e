#include "tracer/record.h"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/tracer/child_program.h"

namespace stepscope::tracer {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class RecordTest : public ::testing::Test {
 protected:
  RecordTest() {
    options.output = (folder.path() / "run").string();
    options.library = STEPSCOPE_BINARY_DIR "/lib/libstepscope-tracer.so";
  }
  /// What record_command() printed.
  template <class Call>
  std::string stderr_during(Call const& call) {
    ::testing::internal::CaptureStderr();
    call();
    return ::testing::internal::GetCapturedStderr();
  }
  std::string error_of(std::vector<std::string> const& command) {
    auto const result = record_command(options, command);
    EXPECT_FALSE(result);
    return result ? "" : result.error().message;
  }
  TestFolder folder;
  RecordOptions options;
  std::string const program = STEPSCOPE_BINARY_DIR "/tests/traced_program";
};

TEST_F(RecordTest, runs_a_program_and_says_what_was_recorded) {
  if (char const* const reason = why_no_injection()) GTEST_SKIP() << reason;
  std::string const said = stderr_during([&] { EXPECT_EQ(record_command(options, {program, "train"}).value(), 0); });
  EXPECT_THAT(said, HasSubstr("recorded 1 trace file"));
  EXPECT_THAT(read_traces(options.output), SizeIs(1));
}

TEST_F(RecordTest, passes_steps_and_buffer_on) {
  if (char const* const reason = why_no_injection()) GTEST_SKIP() << reason;
  options.steps = "1:1";
  options.buffer_mb = 7;
  stderr_during([&] { EXPECT_EQ(record_command(options, {program, "train"}).value(), 0); });
  auto const traces = read_traces(options.output);
  ASSERT_THAT(traces, SizeIs(1));
  auto const& trace = traces.begin()->second;
  EXPECT_EQ(count_names(trace).at("step"), 1);
  EXPECT_THAT(trace.info().facts, ::testing::Contains(std::pair<std::string, std::string>("buffer", "7 MiB")));
}

TEST_F(RecordTest, returns_the_exit_code_of_the_command) {
  stderr_during([&] { EXPECT_EQ(record_command(options, {program, "return", "42"}).value(), 42); });
}

TEST_F(RecordTest, returns_128_plus_the_signal_that_killed_the_command) {
  stderr_during([&] { EXPECT_EQ(record_command(options, {"sh", "-c", "kill -TERM $$"}).value(), 128 + SIGTERM); });
}

TEST_F(RecordTest, hands_sigterm_on_and_still_reports) {
  int exit_code = 0;
  std::string const said = stderr_during([&] {
    pid_t const child = ::fork();
    if (child == 0) {
      auto const result = record_command(options, {"sh", "-c",
                                                   "trap 'exit 9' TERM; echo > " + options.output +
                                                       "/ready; "
                                                       "while :; do sleep 0.02; done"});
      ::_exit(result.value_or(99));
    }
    while (!fs::exists(options.output + "/ready")) std::this_thread::yield();
    ::kill(child, SIGTERM);
    exit_code = WEXITSTATUS(wait_for(child));
  });
  EXPECT_EQ(exit_code, 9);
  EXPECT_THAT(said, HasSubstr("nothing was recorded"));
}

TEST_F(RecordTest, leaves_ctrl_c_to_the_command) {
  int exit_code = 0;
  stderr_during([&] {
    pid_t const child = ::fork();
    if (child == 0) {
      ::setpgid(0, 0);  // a terminal sends Ctrl-C to the whole foreground group
      auto const result = record_command(
          options, {"sh", "-c", "trap 'exit 5' INT; echo > " + options.output + "/ready; while :; do sleep 0.02; done"});
      ::_exit(result.value_or(99));
    }
    while (!fs::exists(options.output + "/ready")) std::this_thread::yield();
    ::kill(-child, SIGINT);
    exit_code = WEXITSTATUS(wait_for(child));
  });
  EXPECT_EQ(exit_code, 5);
}

TEST_F(RecordTest, says_when_the_command_used_nothing_that_can_be_recorded) {
  std::string const said = stderr_during([&] { EXPECT_EQ(record_command(options, {"true"}).value(), 0); });
  EXPECT_THAT(said, HasSubstr("neither CUDA nor NVTX"));
}

TEST_F(RecordTest, returns_127_for_a_command_that_does_not_exist_and_leaves_no_folder) {
  std::string const said = stderr_during([&] { EXPECT_EQ(record_command(options, {"no-such-command-here"}).value(), 127); });
  EXPECT_THAT(said, HasSubstr("command not found"));
  EXPECT_FALSE(fs::exists(options.output));
}

TEST_F(RecordTest, returns_126_for_a_file_that_cannot_be_executed) {
  std::string const file = (folder.path() / "plain").string();
  std::ofstream(file) << "text";
  std::string const said = stderr_during([&] { EXPECT_EQ(record_command(options, {file}).value(), 126); });
  EXPECT_THAT(said, HasSubstr("cannot be executed"));
}

TEST_F(RecordTest, never_overwrites_a_run_without_force) {
  fs::create_directories(options.output);
  std::ofstream(options.output + "/rank-0.stepscope") << "old";
  EXPECT_THAT(error_of({"true"}), HasSubstr("--force"));
  EXPECT_TRUE(fs::exists(options.output + "/rank-0.stepscope"));
}

TEST_F(RecordTest, as_one_rank_of_a_job_shares_the_folder_with_the_others) {
  fs::create_directories(options.output);
  std::ofstream(options.output + "/rank-0.stepscope") << "of rank 0";
  ::setenv("RANK", "1", 1);
  stderr_during([&] { EXPECT_EQ(record_command(options, {"true"}).value(), 0); });
  std::ofstream(options.output + "/rank-1.stepscope") << "old";
  EXPECT_THAT(error_of({"true"}), HasSubstr("--force"));
  options.force = true;
  stderr_during([&] { EXPECT_EQ(record_command(options, {"true"}).value(), 0); });
  ::unsetenv("RANK");
  EXPECT_TRUE(fs::exists(options.output + "/rank-0.stepscope"));
  EXPECT_FALSE(fs::exists(options.output + "/rank-1.stepscope"));
}

TEST_F(RecordTest, with_force_removes_only_what_is_ours) {
  fs::create_directories(options.output);
  for (char const* const name : {"/rank-0.stepscope", "/report.html", "/notes.txt"})
    std::ofstream(options.output + name) << "old";
  options.force = true;
  stderr_during([&] { EXPECT_EQ(record_command(options, {"true"}).value(), 0); });
  EXPECT_FALSE(fs::exists(options.output + "/rank-0.stepscope"));
  EXPECT_FALSE(fs::exists(options.output + "/report.html"));
  EXPECT_TRUE(fs::exists(options.output + "/notes.txt"));
}

TEST_F(RecordTest, refuses_bad_options_before_it_touches_anything) {
  EXPECT_THAT(error_of({}), HasSubstr("after --"));
  options.steps = "9:1";
  EXPECT_THAT(error_of({"true"}), HasSubstr("A:B"));
  options.steps.clear();
  options.library = "/nowhere/lib.so";
  EXPECT_THAT(error_of({"true"}), HasSubstr("tracer library is missing"));
  EXPECT_FALSE(fs::exists(options.output));
}

TEST_F(RecordTest, refuses_a_folder_that_cannot_be_made_or_is_a_file) {
  options.output = "/proc/nowhere/run";
  EXPECT_THAT(error_of({"true"}), HasSubstr("choose another folder"));
  options.output = (folder.path() / "file").string();
  std::ofstream(options.output) << "text";
  EXPECT_THAT(error_of({"true"}), HasSubstr("is a file"));
}

}  // namespace
}  // namespace stepscope::tracer
