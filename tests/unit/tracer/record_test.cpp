#include "tracer/record.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <ostream>
#include <string>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/paths.h"
#include "tests/support/sanitized.h"
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
    options.library = support::build_path("lib/libstepscope-tracer.so");
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
  std::string const program = support::build_path("tests/traced_program");
};

TEST_F(RecordTest, runs_a_program_and_says_what_was_recorded) {
  if (char const* const reason = why_no_injection()) GTEST_SKIP() << reason;
  options.next = "stepscope analyze run";
  std::string const output = stderr_during([&] {
    EXPECT_EQ(record_command(options, {program, "train"}).value(), 0);
  });
  EXPECT_THAT(output, HasSubstr("recorded 1 trace file"));
  EXPECT_THAT(output, HasSubstr("; next: stepscope analyze run\n"));
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
  EXPECT_THAT(trace.info().facts,
              ::testing::Contains(std::pair<std::string, std::string>("buffer", "7 MiB")));
}

TEST_F(RecordTest, passes_on_how_many_buffers_cuda_gets_and_how_large_they_are) {
  options.cuda_buffer_mb = 64;
  options.cuda_buffer_kb = 1024;
  std::vector<std::string> const command = {
      "sh", "-c", R"(test "$STEPSCOPE_CUDA_BUFFER_MB/$STEPSCOPE_CUDA_BUFFER_KB" = 64/1024)"};
  stderr_during([&] { EXPECT_EQ(record_command(options, command).value(), 0); });
}

TEST_F(RecordTest, returns_the_exit_code_of_the_command) {
  stderr_during([&] { EXPECT_EQ(record_command(options, {program, "return", "42"}).value(), 42); });
}

TEST_F(RecordTest, returns_128_plus_the_signal_that_killed_the_command) {
  stderr_during([&] {
    EXPECT_EQ(record_command(options, {"sh", "-c", "kill -TERM $$"}).value(), 128 + SIGTERM);
  });
}

TEST_F(RecordTest, hands_sigterm_on_and_still_reports) {
  int exit_code = 0;
  std::string const output = stderr_during([&] {
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
  EXPECT_THAT(output, HasSubstr("nothing was recorded"));
}

TEST_F(RecordTest, leaves_ctrl_c_to_the_command) {
  int exit_code = 0;
  stderr_during([&] {
    pid_t const child = ::fork();
    if (child == 0) {
      ::setpgid(0, 0);  // a terminal sends Ctrl-C to the whole foreground group
      auto const result = record_command(options, {"sh", "-c",
                                                   "trap 'exit 5' INT; echo > " + options.output +
                                                       "/ready; while :; do sleep 0.02; done"});
      ::_exit(result.value_or(99));
    }

    while (!fs::exists(options.output + "/ready")) std::this_thread::yield();
    ::kill(-child, SIGINT);
    exit_code = WEXITSTATUS(wait_for(child));
  });

  EXPECT_EQ(exit_code, 5);
}

TEST_F(RecordTest, says_when_the_command_used_nothing_that_can_be_recorded) {
  std::string const output =
      stderr_during([&] { EXPECT_EQ(record_command(options, {"true"}).value(), 0); });
  EXPECT_THAT(output, HasSubstr("neither CUDA nor NVTX"));
  bool const can_use_cuda = fs::exists("/dev/nvidiactl") || fs::exists("/dev/dxg");
  EXPECT_EQ(output.find("has no NVIDIA device") == std::string::npos, can_use_cuda) << output;
}

/// How a program ends, and how many processes of it record.
struct Ending {
  char const* how;
  int processes = 1;
  int records = 1;  ///< of 1000 ranges and one that stays open, in all processes
  int exit_code = 7;

  friend void PrintTo(Ending const& ending, std::ostream* out) { *out << ending.how; }
};

class EndingTest : public RecordTest, public ::testing::WithParamInterface<Ending> {};

TEST_P(EndingTest, loses_nothing) {
  if (char const* const reason = why_no_injection()) GTEST_SKIP() << reason;
  // Sanitizers handle faults themselves.
  if (support::kSanitized && GetParam().exit_code == 128 + SIGSEGV)
    GTEST_SKIP() << "the sanitizer ends the program";

  std::string const ending_program = support::build_path("tests/ending_program");
  std::string const output = stderr_during([&] {
    EXPECT_EQ(record_command(options, {ending_program, GetParam().how}).value(),
              GetParam().exit_code);
  });

  auto const traces = read_traces(options.output);
  EXPECT_THAT(traces, SizeIs(GetParam().processes)) << output;
  std::map<std::string, int> all;
  for (auto const& [name, trace] : traces) {
    EXPECT_FALSE(trace.log().truncated) << name;
    for (auto const& [text, count] : count_names(trace)) all[text] += count;
  }

  std::map<std::string, int> const expected = {{"range", 1000 * GetParam().records},
                                               {"left open", GetParam().records}};
  EXPECT_EQ(all, expected) << output;
}

/// No step is marked and nothing is asked for; the second time no request could reach the program.
TEST_P(EndingTest, is_the_programs_own_where_it_waits_for_requests) {
  if (char const* const reason = why_no_injection()) GTEST_SKIP() << reason;
  if (support::kSanitized && GetParam().exit_code == 128 + SIGSEGV)
    GTEST_SKIP() << "the sanitizer ends the program";

  options.on_request = true;
  options.force = true;
  for (bool const can_listen : {true, false}) {
    fs::remove_all(fs::path(options.output) / "requests");
    if (!can_listen) std::ofstream(options.output + "/requests") << "a file";
    std::string const output = stderr_during([&] {
      EXPECT_EQ(
          record_command(options, {support::build_path("tests/ending_program"), GetParam().how})
              .value(),
          GetParam().exit_code);
    });
    EXPECT_THAT(output, HasSubstr("was asked for no steps"));
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, EndingTest,
                         ::testing::Values(Ending{"return"}, Ending{"_exit"}, Ending{"_Exit"},
                                           Ending{"quick_exit"}, Ending{"execv"}, Ending{"execve"},
                                           Ending{"execvp"}, Ending{"execl"}, Ending{"execlp"},
                                           Ending{"execle"}, Ending{"signal-handler"},
                                           Ending{"fork", 2, 2}, Ending{"vfork", 1, 2},
                                           Ending{"failing-exec", 1, 2}, Ending{"handled-fault"},
                                           Ending{"main-thread-first"},
                                           Ending{"abort", 1, 1, 128 + SIGABRT},
                                           Ending{"sent-fault", 1, 1, 128 + SIGSEGV},
                                           Ending{"fault", 1, 1, 128 + SIGSEGV}),
                         [](auto const& test) {
                           std::string name = test.param.how;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_F(RecordTest, says_that_a_program_was_killed_before_anything_reached_its_file) {
  if (char const* const reason = why_no_injection()) GTEST_SKIP() << reason;

  std::string const output = stderr_during([&] {
    EXPECT_EQ(
        record_command(options, {support::build_path("tests/ending_program"), "killed"}).value(),
        128 + SIGKILL);
  });

  EXPECT_THAT(output, HasSubstr("nothing was recorded"));
  EXPECT_THAT(output, HasSubstr("was ended"));
  EXPECT_THAT(output, ::testing::Not(HasSubstr("neither CUDA nor NVTX")));
  EXPECT_THAT(read_traces(options.output), SizeIs(1)) << "a file that says who recorded";
}

TEST_F(RecordTest, says_which_tools_of_the_user_saw_nothing) {
  ::setenv("CUDA_INJECTION64_PATH", "/opt/other/tool.so", 1);
  ::setenv("NVTX_INJECTION64_PATH", "/opt/stepscope/lib/libstepscope-tracer.so", 1);
  std::string const output =
      stderr_during([&] { EXPECT_EQ(record_command(options, {"true"}).value(), 0); });
  ::unsetenv("CUDA_INJECTION64_PATH");
  ::unsetenv("NVTX_INJECTION64_PATH");
  EXPECT_THAT(output, HasSubstr("CUDA_INJECTION64_PATH=/opt/other/tool.so was replaced"));
  EXPECT_THAT(output, ::testing::Not(HasSubstr("NVTX_INJECTION64_PATH=")))
      << "an outer record is no other tool";
}

TEST_F(RecordTest, says_that_none_of_the_steps_was_reached) {
  if (char const* const reason = why_no_injection()) GTEST_SKIP() << reason;
  options.steps = "1000:2000";
  std::string output = stderr_during([&] {
    EXPECT_EQ(record_command(options, {program, "nvtx"}).value(), 0);
  });
  EXPECT_THAT(output, HasSubstr("none of the steps 1000:2000"));

  // Memory that was allocated before would have counted in them.
  options.force = true;
  output = stderr_during([&] {
    EXPECT_EQ(record_command(options, {program, "train"}).value(), 0);
  });
  EXPECT_THAT(output, HasSubstr("none of the steps 1000:2000"));
  EXPECT_GT(read_traces(options.output).begin()->second.event_count(), 0U);
}

TEST_F(RecordTest, says_what_never_began) {
  if (char const* const reason = why_no_injection()) GTEST_SKIP() << reason;
  options.range = "no such range";
  std::string output = stderr_during([&] {
    EXPECT_EQ(record_command(options, {program, "nvtx"}).value(), 0);
  });
  EXPECT_THAT(output, HasSubstr("opened no NVTX range no such range"));

  options.force = true;
  options.range.clear();
  options.from_code = true;
  output = stderr_during([&] { EXPECT_EQ(record_command(options, {program, "nvtx"}).value(), 0); });
  EXPECT_THAT(output, HasSubstr("called neither cudaProfilerStart()"));

  options.from_code = false;
  options.delay_ns = 3'600'000'000'000;
  output = stderr_during([&] { EXPECT_EQ(record_command(options, {program, "nvtx"}).value(), 0); });
  EXPECT_THAT(output, HasSubstr("did nothing after 60 min 0 s"));
}

TEST_F(RecordTest, records_the_windows_that_code_opens_before_anything_else) {
  if (char const* const reason = why_no_injection()) GTEST_SKIP() << reason;
  options.from_code = options.repeats = true;
  std::string const output = stderr_during([&] {
    EXPECT_EQ(record_command(options, {program, "train-windows"}).value(), 0);
  });
  EXPECT_THAT(output, HasSubstr("recorded 3 trace files"));
  for (char const* const window : {"/window-1", "/window-2", "/window-3"})
    EXPECT_THAT(read_traces(options.output + window), SizeIs(1)) << window;
}

TEST_F(RecordTest, repeats_only_what_code_opens) {
  options.repeats = true;
  EXPECT_THAT(error_of({"true"}), HasSubstr("--repeat: goes with --from-code"));
  EXPECT_FALSE(fs::exists(options.output));
}

TEST_F(RecordTest, records_the_range_that_was_named) {
  if (char const* const reason = why_no_injection()) GTEST_SKIP() << reason;

  options.range = "outer";
  stderr_during([&] { EXPECT_EQ(record_command(options, {program, "nvtx"}).value(), 0); });

  auto const traces = read_traces(options.output);
  ASSERT_THAT(traces, SizeIs(1));
  EXPECT_EQ(count_names(traces.begin()->second),
            (std::map<std::string, int>{{"outer", 1}, {"wide \u00e4\u4e2d", 1}}));
  EXPECT_THAT(traces.begin()->second.info().facts,
              ::testing::Contains(
                  std::pair<std::string, std::string>("recorded part", "the first range outer")));
}

TEST_F(RecordTest, refuses_two_ways_to_begin) {
  options.steps = "1:2";
  options.from_code = true;
  EXPECT_THAT(error_of({"true"}), HasSubstr("give one of them"));
  EXPECT_FALSE(fs::exists(options.output));
}

TEST_F(RecordTest, lets_programs_with_the_address_sanitizer_start_with_the_options_of_the_user) {
  ::setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
  std::string const list = options.output + "/list";
  stderr_during([&] {
    EXPECT_EQ(
        record_command(options, {"sh", "-c", "printf %s \"$ASAN_OPTIONS\" > " + list}).value(), 0);
  });
  ::unsetenv("ASAN_OPTIONS");

  std::string text;
  std::ifstream in(list);
  std::getline(in, text);
  EXPECT_EQ(text, "verify_asan_link_order=0:detect_leaks=0");
}

TEST_F(RecordTest, preloads_its_library_in_front_of_what_is_preloaded_and_only_once) {
  ::setenv("LD_PRELOAD", "/nowhere/other.so", 1);
  std::string const list = options.output + "/list";
  stderr_during([&] {
    EXPECT_EQ(record_command(options, {"sh", "-c", "printf %s \"$LD_PRELOAD\" > " + list}).value(),
              0);
  });
  ::unsetenv("LD_PRELOAD");

  std::string text;
  std::getline(std::ifstream(list), text);
  // In the bundle the folder is relative to where the tests run.
  EXPECT_EQ(text, fs::canonical(support::build_path("lib/libstepscope-exit.so")).string() +
                      ":/nowhere/other.so");
}

TEST_F(RecordTest, returns_127_for_a_command_that_does_not_exist_and_leaves_no_folder) {
  std::string const output = stderr_during(
      [&] { EXPECT_EQ(record_command(options, {"no-such-command-here"}).value(), 127); });
  EXPECT_THAT(output, HasSubstr("command not found"));
  EXPECT_FALSE(fs::exists(options.output));
}

TEST_F(RecordTest, returns_126_for_a_file_that_cannot_be_executed) {
  std::string const file = (folder.path() / "plain").string();
  std::ofstream(file) << "text";
  std::string const output =
      stderr_during([&] { EXPECT_EQ(record_command(options, {file}).value(), 126); });
  EXPECT_THAT(output, HasSubstr("cannot be executed"));
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
  options.buffer_mb = 99'999'999'999;
  EXPECT_THAT(error_of({"true"}), HasSubstr("--buffer-mb"));

  options.buffer_mb = 0;
  options.cuda_buffer_mb = 1;
  options.cuda_buffer_kb = 513;
  EXPECT_THAT(error_of({"true"}), HasSubstr("two of them must fit"));

  options.cuda_buffer_mb = options.cuda_buffer_kb = 0;
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
