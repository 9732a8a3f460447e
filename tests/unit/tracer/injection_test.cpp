// The real library in a real program: NVTX loads it, and what the program did is in the file.
#include <algorithm>
#include <bit>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/paths.h"
#include "tests/unit/tracer/child_program.h"
#include "tests/unit/tracer/saved_events.h"
#include "trace/model/details.h"

namespace stepscope::tracer {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class Injection : public ::testing::Test {
 protected:
  void SetUp() override {
    if (char const* const reason = why_no_injection()) GTEST_SKIP() << reason;
  }
  /// The only trace of the folder.
  model::Trace only_trace() {
    auto traces = read_traces(folder.path());
    EXPECT_THAT(traces, SizeIs(1));
    if (traces.empty()) throw std::runtime_error("no trace: " + stderr_of(folder.path()));
    return std::move(traces.begin()->second);
  }
  TestFolder folder;
};

std::vector<uint32_t> rows_of_kind(model::Trace const& trace, model::EventKind kind) {
  std::vector<uint32_t> rows;
  for (uint32_t row = 0; row < trace.event_count(); ++row) {
    if (trace.kind(row) == kind) rows.push_back(row);
  }
  return rows;
}

TEST_F(Injection, records_training_with_every_kind_track_and_payload) {
  ASSERT_EQ(run_child(folder.path(), {"train", "3"}), 0) << stderr_of(folder.path());
  model::Trace const trace = only_trace();

  using model::EventKind;
  auto const steps = rows_of_kind(trace, EventKind::kStep);
  ASSERT_THAT(steps, SizeIs(3));
  for (size_t i = 0; i < steps.size(); ++i)
    EXPECT_EQ(trace.detail<model::StepDetail>(steps[i]).index, static_cast<int64_t>(i));

  EXPECT_THAT(rows_of_kind(trace, EventKind::kPhase), SizeIs(3));
  EXPECT_THAT(rows_of_kind(trace, EventKind::kInputWait), SizeIs(3));
  EXPECT_THAT(rows_of_kind(trace, EventKind::kLaunch), SizeIs(9));
  EXPECT_THAT(rows_of_kind(trace, EventKind::kSync), SizeIs(3));
  EXPECT_THAT(rows_of_kind(trace, EventKind::kStreamWait), SizeIs(3));

  auto const kernels = rows_of_kind(trace, EventKind::kKernel);
  ASSERT_THAT(kernels, SizeIs(3));
  EXPECT_EQ(trace.name(kernels[0]), "conv1");
  EXPECT_EQ(trace.track(kernels[0]).name, "compute");
  EXPECT_EQ(trace.detail<model::KernelDetail>(kernels[0]).flops, 1.5e6);
  EXPECT_TRUE(trace.columns().link[kernels[0]].valid()) << "the kernel is not tied to its launch";

  auto const copies = rows_of_kind(trace, EventKind::kMemcpy);
  ASSERT_THAT(copies, SizeIs(3));
  EXPECT_EQ(trace.detail<model::CopyDetail>(copies[0]).bytes, 512U);
  EXPECT_EQ(trace.detail<model::CopyDetail>(copies[0]).direction,
            model::CopyDirection::kHostToDevice);

  auto const collectives = rows_of_kind(trace, EventKind::kCollective);
  ASSERT_THAT(collectives, SizeIs(3));
  auto const& collective = trace.detail<model::CollectiveDetail>(collectives[1]);
  EXPECT_EQ(collective.op, model::CollectiveOp::kAllReduce);
  EXPECT_EQ(collective.bytes, 1U << 20);
  EXPECT_EQ(collective.communicator, 77U);
  EXPECT_EQ(collective.sequence, 10U);
  EXPECT_EQ(collective.rank, 1);
  EXPECT_EQ(collective.peer, -1);
  EXPECT_EQ(trace.track(collectives[0]).stream_kind, model::StreamKind::kCommunication);

  auto const memory = rows_of_kind(trace, EventKind::kMemory);
  ASSERT_THAT(memory, SizeIs(1));
  EXPECT_EQ(trace.detail<model::MemoryDetail>(memory[0]).bytes, 1U << 16);
  EXPECT_EQ(trace.detail<model::MemoryDetail>(memory[0]).purpose, model::MemoryPurpose::kWeights);

  ASSERT_THAT(trace.devices(), SizeIs(1));
  EXPECT_EQ(trace.devices()[0].threads, 2U);
  EXPECT_EQ(trace.log().unknown_events, 0U);
  EXPECT_EQ(trace.log().unmatched_launches, 0U);
  EXPECT_EQ(trace.log().negative_latencies, 0U);
  EXPECT_FALSE(trace.log().truncated);
  EXPECT_THAT(trace.info().command, HasSubstr("traced_program train 3"));
}

TEST_F(Injection, records_what_ranges_say_beside_their_names) {
  ASSERT_EQ(run_child(folder.path(), {"annotated-ranges"}), 0) << stderr_of(folder.path());
  model::Trace const trace = only_trace();

  auto const ranges = rows_of_kind(trace, model::EventKind::kAnnotatedRange);
  ASSERT_THAT(ranges, SizeIs(2));
  EXPECT_EQ(trace.name(ranges[0]), "coloured");
  EXPECT_EQ(trace.detail<model::RangeDetail>(ranges[0]).color, 0xFF76B900U);
  EXPECT_EQ(trace.name(ranges[1]), "NCCL: ncclAllGather");
  EXPECT_EQ(trace.detail<model::RangeDetail>(ranges[1]).bytes, 1U << 20);
  EXPECT_EQ(trace.detail<model::RangeDetail>(ranges[1]).communicator, 77U);

  auto const marks = rows_of_kind(trace, model::EventKind::kAnnotatedMark);
  ASSERT_THAT(marks, SizeIs(1));
  auto const& mark = trace.detail<model::RangeDetail>(marks[0]);
  EXPECT_EQ(mark.category, 3U);
  EXPECT_EQ(mark.payload_type, model::NumberType::kReal);
  EXPECT_EQ(std::bit_cast<double>(mark.payload), 0.25);

  EXPECT_THAT(
      trace.info().facts,
      ::testing::IsSupersetOf({std::pair<std::string, std::string>("category 3", "loading"),
                               std::pair<std::string, std::string>("category 4 of NCCL", "init")}));
}

TEST_F(Injection, notes_keep_their_numbers_and_are_curves) {
  ASSERT_EQ(run_child(folder.path(), {"notes"}), 0) << stderr_of(folder.path());
  model::Trace const trace = only_trace();
  auto const marks = rows_of_kind(trace, model::EventKind::kAnnotatedMark);
  ASSERT_THAT(marks, SizeIs(5));
  auto const payload = [&](size_t i) { return trace.detail<model::RangeDetail>(marks[i]).payload; };
  EXPECT_EQ(trace.name(marks[0]), "loss");
  EXPECT_EQ(trace.detail<model::RangeDetail>(marks[0]).payload_type, model::NumberType::kReal);
  EXPECT_EQ(std::bit_cast<double>(payload(0)), 0.7);
  EXPECT_EQ(std::bit_cast<double>(payload(1)), 0.7);
  EXPECT_EQ(trace.detail<model::RangeDetail>(marks[2]).payload_type, model::NumberType::kSigned);
  EXPECT_EQ(static_cast<int64_t>(payload(2)), (int64_t{1} << 53) + 1);
  EXPECT_EQ(static_cast<int64_t>(payload(3)), -3);

  std::map<std::string, std::vector<double>> curves;
  for (uint32_t const row : rows_of_kind(trace, model::EventKind::kSample))
    curves[std::string(trace.name(row))].push_back(trace.detail<model::SampleDetail>(row).value);
  EXPECT_THAT(curves,
              ::testing::ElementsAre(
                  ::testing::Pair("loss", ::testing::ElementsAre(0.7, 0.7)),
                  ::testing::Pair("tokens", ::testing::ElementsAre(9007199254740992.0, -3))));
}

TEST_F(Injection, records_every_call_of_the_core_api) {
  ASSERT_EQ(run_child(folder.path(), {"nvtx"}), 0) << stderr_of(folder.path());
  model::Trace const trace = only_trace();
  std::map<std::string, int> const expected = {
      {"outer", 1}, {"wide \u00e4\u4e2d", 1}, {"library: registered", 2},  {"across threads", 1},
      {"mark", 1},  {"unnamed", 1},           {std::string(4096, 'x'), 1}, {"left open", 1}};
  EXPECT_EQ(count_names(trace), expected);
  ASSERT_THAT(trace.tracks(), SizeIs(1));
  EXPECT_EQ(trace.tracks()[0].name, "trainer");
  EXPECT_EQ(rows_of_kind(trace, model::EventKind::kMark).size(), 3U);
}

/// What "train-part" prints.
struct PartResult {
  int started = -1, stopped = -1, level = 0, threads = 0, again = -1, grown_kib = -1, signals = -1;
};

PartResult part_result(std::string const& printed) {
  PartResult result;
  std::sscanf(printed.c_str(),
              "started %d stopped %d level %d threads %d again %d grown %d KiB signals %d",
              &result.started, &result.stopped, &result.level, &result.threads, &result.again,
              &result.grown_kib, &result.signals);
  return result;
}

/// Three steps of four device ops and three launches each, and nothing of what was before and
/// behind.
void expect_only_the_part(model::Trace const& trace) {
  auto names = count_names(trace);
  EXPECT_EQ(names.count("too late"), 0U);
  EXPECT_EQ(names.count("step"), 0U);
  EXPECT_EQ(names["around the end"], 1);
  EXPECT_EQ(names["flood"], 400'000);
  EXPECT_THAT(rows_of_kind(trace, model::EventKind::kKernel), SizeIs(3));
  EXPECT_THAT(rows_of_kind(trace, model::EventKind::kLaunch), SizeIs(9));
  EXPECT_EQ(trace.log().dropped, 0U);
}

/// Nothing of the tracer runs, holds memory, handles signals, or is called by NVTX (which answers
/// −2 without a tool).
void expect_nothing_is_left(PartResult const& result) {
  EXPECT_EQ(result.threads, 1);
  EXPECT_EQ(result.level, -2);
  EXPECT_EQ(result.signals, 0) << "handled by the tracer";
  EXPECT_LT(result.grown_kib, 4096) << "no rings of 10 MB and more";
  EXPECT_EQ(result.again, 0);
}

TEST_F(Injection, records_what_code_asks_for_and_is_gone_behind_it) {
  ASSERT_EQ(run_child(folder.path(), {"train-part"}, {{"STEPSCOPE_FROM_CODE", "1"}}), 0)
      << stderr_of(folder.path());
  std::string const printed = stdout_of(folder.path());
  PartResult const result = part_result(printed);
  EXPECT_EQ(result.started, 1) << printed;
  EXPECT_EQ(result.stopped, 1) << printed;
  expect_nothing_is_left(result);
  EXPECT_THAT(printed, HasSubstr("it can be started once in a process"));
  expect_only_the_part(only_trace());
}

TEST_F(Injection, records_from_code_without_the_command) {
  std::string const library = support::build_path("lib/libstepscope-tracer.so");
  Environment const none = {
      {"STEPSCOPE_TRACER", library}, {"NVTX_INJECTION64_PATH", ""}, {"STEPSCOPE_OUTPUT", ""}};
  std::string const run = (folder.path() / "run").string();
  ASSERT_EQ(run_child(folder.path(), {"train-part", run}, none), 0) << stderr_of(folder.path());

  PartResult const result = part_result(stdout_of(folder.path()));
  EXPECT_EQ(result.started, 1) << stdout_of(folder.path());
  EXPECT_EQ(result.stopped, 1) << stdout_of(folder.path());
  expect_nothing_is_left(result);
  EXPECT_THAT(stdout_of(folder.path()), HasSubstr("environment is as it was"))
      << "children would be recorded";

  auto const traces = read_traces(run);
  ASSERT_THAT(traces, SizeIs(1));
  expect_only_the_part(traces.begin()->second);

  // The run is there: a second one is never mixed with it.
  ASSERT_EQ(run_child(folder.path(), {"train-part", run}, none), 0);
  EXPECT_EQ(part_result(stdout_of(folder.path())).started, 0);
  EXPECT_THAT(stdout_of(folder.path()), HasSubstr(run));
  EXPECT_THAT(read_traces(run), SizeIs(1));
}

void expect_windows(std::string const& run) {
  for (int i = 1; i <= 3; ++i) {
    auto const traces = read_traces(run + "/window-" + std::to_string(i));
    ASSERT_THAT(traces, SizeIs(1));
    model::Trace const& trace = traces.begin()->second;
    EXPECT_THAT(rows_of_kind(trace, model::EventKind::kKernel), SizeIs(1)) << i;
    EXPECT_THAT(rows_of_kind(trace, model::EventKind::kLaunch), SizeIs(3)) << i;
  }
}

TEST_F(Injection, records_windows_from_code_without_the_command) {
  std::string const library = support::build_path("lib/libstepscope-tracer.so");
  Environment const none = {
      {"STEPSCOPE_TRACER", library}, {"NVTX_INJECTION64_PATH", ""}, {"STEPSCOPE_OUTPUT", ""}};
  std::string const run = (folder.path() / "run").string();
  ASSERT_EQ(run_child(folder.path(), {"train-windows", run}, none), 0) << stderr_of(folder.path());

  std::string const printed = stdout_of(folder.path());
  EXPECT_THAT(printed, HasSubstr("window 3: started 1 stopped 1"));
  EXPECT_THAT(printed, HasSubstr("elsewhere 0: "));
  EXPECT_THAT(printed, HasSubstr("all windows of a process go to one folder, which is " + run));
  expect_windows(run);
}

TEST_F(Injection, records_windows_from_code_under_the_command) {
  ASSERT_EQ(run_child(folder.path(), {"train-windows"}, {{"STEPSCOPE_FROM_CODE", "repeat"}}), 0)
      << stderr_of(folder.path());
  EXPECT_THAT(stdout_of(folder.path()), HasSubstr("window 3: started 1 stopped 1"));
  expect_windows(folder.path());
}

TEST_F(Injection, says_from_code_that_there_is_no_tracer) {
  if (std::filesystem::path(support::build_path("lib")).is_relative())
    GTEST_SKIP() << "the bundle's programs find the tracer beside them";
  Environment const none = {{"NVTX_INJECTION64_PATH", ""}, {"STEPSCOPE_OUTPUT", ""}};
  ASSERT_EQ(run_child(folder.path(), {"train-part", "run"}, none), 0);
  EXPECT_EQ(part_result(stdout_of(folder.path())).started, 0);
  EXPECT_THAT(stdout_of(folder.path()), HasSubstr("libstepscope-tracer.so was not found"));
}

TEST_F(Injection, stops_by_itself_after_the_duration) {
  ASSERT_EQ(run_child(folder.path(), {"run", "1500"}, {{"STEPSCOPE_DURATION_NS", "300000000"}}), 0);
  model::Trace const trace = only_trace();
  int const ranges = count_names(trace)["around"];
  EXPECT_GT(ranges, 10);
  // Less than one a millisecond, of 1,500 ms; a busy machine may end the capture late.
  EXPECT_LT(ranges, 1'000);
}

TEST_F(Injection, begins_after_the_delay) {
  ASSERT_EQ(run_child(folder.path(), {"run", "1500"}, {{"STEPSCOPE_DELAY_NS", "500000000"}}), 0);
  model::Trace const trace = only_trace();
  ASSERT_GT(trace.event_count(), 0U) << "a busy machine has a second to begin";
  EXPECT_GE(trace.start(0), 500'000'000);
}

TEST_F(Injection, bears_odd_payloads) {
  ASSERT_EQ(run_child(folder.path(), {"odd-payloads"}), 0) << stderr_of(folder.path());
  model::Trace const trace = only_trace();
  auto const kernels = rows_of_kind(trace, model::EventKind::kKernel);
  ASSERT_THAT(kernels, SizeIs(3));
  std::multiset<uint64_t> bytes;
  for (uint32_t const row : kernels) bytes.insert(trace.detail<model::KernelDetail>(row).bytes);
  EXPECT_EQ(bytes, (std::multiset<uint64_t>{0, 0, 64}))
      << "the size that was left open comes from the schema";
  EXPECT_EQ(trace.name(kernels[0]), "kernel") << "without a message the schema gives the name";
}

/// The newest time stamp that "run-for-ever" recorded; 0 without any.
int64_t newest_stamp(model::Trace const& trace) {
  int64_t newest = 0;
  for (uint32_t row = 0; row < trace.event_count(); ++row) {
    if (trace.name(row) != "around")
      newest = std::max<int64_t>(newest, std::stoll(std::string(trace.name(row))));
  }
  return newest;
}

/// How often to kill: STEPSCOPE_TEST_KILLS, for more than the few that a test should take.
int kill_count() {
  char const* const text = std::getenv("STEPSCOPE_TEST_KILLS");
  return text != nullptr ? std::atoi(text) : 5;
}

/// How often a moment is tried. The promise is kept where the tracer's threads get a core within
/// half a second; on a machine that is busier than that, one try says nothing. A fault fails all.
constexpr int kTries = 3;
constexpr int64_t kPromisedMs = 1000;

/// Waits until a recorded program has begun its file: the moments to kill it at count from there.
void wait_for_a_file(std::filesystem::path const& folder) {
  auto const has_begun = [](auto const& entry) { return entry.file_size() > 0; };
  auto const deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (std::chrono::steady_clock::now() < deadline) {
    auto const files = std::filesystem::directory_iterator(folder);
    if (std::any_of(begin(files), end(files), has_begun)) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

/// Kills a program that records for so long, and reads its file, which must be undamaged. Returns
/// how many ms the file lacks; 0 for a program so young that the file may show nothing yet.
int64_t lost_to_kill_9(std::filesystem::path const& folder, int64_t after_ms) {
  std::filesystem::create_directory(folder);
  pid_t const child = start_child(folder, {"run-for-ever"});
  wait_for_a_file(folder);
  std::this_thread::sleep_for(std::chrono::milliseconds(after_ms));
  ::kill(child, SIGKILL);
  int64_t const killed_at = epoch_ms();
  int const status = wait_for(child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << stderr_of(folder);

  auto const traces = read_traces(folder);
  EXPECT_THAT(traces, SizeIs(1));
  if (traces.empty()) return 0;
  model::Trace const& trace = traces.begin()->second;
  EXPECT_TRUE(trace.log().truncated);
  EXPECT_EQ(trace.log().lost_blocks, 0U);

  int64_t const begun_at = trace.info().origin_epoch_ns / 1'000'000;
  return killed_at - begun_at < kPromisedMs ? 0 : killed_at - newest_stamp(trace);
}

TEST_F(Injection, loses_less_than_a_second_to_kill_9_at_any_moment) {
  std::mt19937 random(20);
  for (int i = 0; i < kill_count(); ++i) {
    int64_t const after_ms = i == 0 ? 1700 : 200 + static_cast<int64_t>(random() % 2300);
    int64_t lost_ms = kPromisedMs;

    for (int attempt = 0; attempt < kTries && lost_ms >= kPromisedMs; ++attempt) {
      std::string const name = std::to_string(i) + "_" + std::to_string(attempt);
      lost_ms = lost_to_kill_9(folder.path() / name, after_ms);
    }
    EXPECT_LT(lost_ms, kPromisedMs) << "kill " << i << " after " << after_ms << " ms";
  }
}

TEST_F(Injection, loses_less_than_a_second_to_an_exit_that_runs_no_handlers) {
  int64_t lost_ms = kPromisedMs;
  for (int attempt = 0; attempt < kTries && lost_ms >= kPromisedMs; ++attempt) {
    auto const one = folder.path() / std::to_string(attempt);
    std::filesystem::create_directory(one);
    int const status = run_child(one, {"run-and-exit-now", "1400"});
    EXPECT_EQ(WEXITSTATUS(status), 7);

    auto const traces = read_traces(one);
    ASSERT_THAT(traces, SizeIs(1));
    model::Trace const& trace = traces.begin()->second;
    EXPECT_TRUE(trace.log().truncated);
    lost_ms = std::stoll(stdout_of(one)) - newest_stamp(trace);
  }
  EXPECT_LT(lost_ms, kPromisedMs);
}

TEST_F(Injection, records_thousands_of_short_threads_in_a_file_that_grows_with_their_number) {
  constexpr uint32_t kThreads = 3000;
  ASSERT_EQ(run_child(folder.path(), {"tasks", std::to_string(kThreads)}), 0)
      << stderr_of(folder.path());

  model::Trace const trace = only_trace();
  EXPECT_EQ(trace.event_count(), kThreads);
  EXPECT_THAT(trace.tracks(), SizeIs(kThreads));
  EXPECT_EQ(trace.log().dropped, 0U);

  // Each track is described once or twice, and has a block of one row.
  constexpr uintmax_t kBytesPerThread = 700;
  EXPECT_LT(std::filesystem::file_size(std::filesystem::directory_iterator(folder.path())->path()),
            kThreads * kBytesPerThread);
}

TEST_F(Injection, keeps_what_was_recorded_when_the_program_calls_exit_at_once) {
  int const status = run_child(folder.path(), {"exit-now"});
  EXPECT_EQ(WEXITSTATUS(status), 7);
  model::Trace const trace = only_trace();
  EXPECT_EQ(rows_of_kind(trace, model::EventKind::kStep).size(), 2U);
  EXPECT_EQ(rows_of_kind(trace, model::EventKind::kKernel).size(), 2U);
}

TEST_F(Injection, gives_a_fork_its_own_file_and_leaves_the_parents_alone) {
  ASSERT_EQ(run_child(folder.path(), {"fork"}, {{"RANK", "5"}}), 0) << stderr_of(folder.path());
  auto const traces = read_traces(folder.path());
  ASSERT_THAT(traces, SizeIs(2));
  ASSERT_TRUE(traces.contains("rank-5.stepscope"));

  for (auto const& [name, trace] : traces) {
    bool const is_parent = name == "rank-5.stepscope";
    std::map<std::string, int> const expected =
        is_parent ? std::map<std::string, int>{{"parent before", 1}, {"parent after", 1}}
                  : std::map<std::string, int>{{"child", 1}};
    EXPECT_EQ(count_names(trace), expected) << name;
    EXPECT_FALSE(trace.log().truncated) << name;
    EXPECT_EQ(trace.info().rank, 5);
  }
}

TEST_F(Injection, survives_forks_while_other_threads_record) {
  ASSERT_EQ(run_child(folder.path(), {"fork-under-load"}), 0) << stderr_of(folder.path());
  auto const traces = read_traces(folder.path());
  EXPECT_THAT(traces, SizeIs(31));

  int children = 0;
  for (auto const& [name, trace] : traces) {
    EXPECT_FALSE(trace.log().truncated) << name;
    auto const names = count_names(trace);
    children += names.contains("child") ? names.at("child") : 0;
  }
  EXPECT_EQ(children, 30);
}

TEST_F(Injection, records_what_destructors_and_exit_handlers_do) {
  ASSERT_EQ(run_child(folder.path(), {"annotate-late"}), 0) << stderr_of(folder.path());
  std::map<std::string, int> const expected = {{"static destructor", 1},
                                               {"exit handler", 1},
                                               {"thread destructor", 1},
                                               {"key destructor", 1},
                                               {"in thread", 1}};
  EXPECT_EQ(count_names(only_trace()), expected);
}

TEST_F(Injection, records_before_and_after_an_exec) {
  ASSERT_EQ(run_child(folder.path(), {"exec"}, {{"EXEC_WHAT", "train"}}), 0)
      << stderr_of(folder.path());
  auto const traces = read_traces(folder.path());
  ASSERT_THAT(traces, SizeIs(2));

  std::map<std::string, int> all;
  for (auto const& [name, trace] : traces) {
    for (auto const& [text, count] : count_names(trace)) all[text] += count;
  }

  EXPECT_EQ(all["before exec"], 1);
  EXPECT_EQ(all["step"], 3);
}

TEST_F(Injection, records_only_the_chosen_steps_and_earlier_allocations) {
  ASSERT_EQ(run_child(folder.path(), {"train", "6"}, {{"STEPSCOPE_STEPS", "2:3"}}), 0)
      << stderr_of(folder.path());
  model::Trace const trace = only_trace();

  auto const steps = rows_of_kind(trace, model::EventKind::kStep);
  ASSERT_THAT(steps, SizeIs(2));
  EXPECT_EQ(trace.detail<model::StepDetail>(steps[0]).index, 2);
  EXPECT_EQ(trace.detail<model::StepDetail>(steps[1]).index, 3);

  EXPECT_THAT(rows_of_kind(trace, model::EventKind::kLaunch), SizeIs(6));
  EXPECT_THAT(rows_of_kind(trace, model::EventKind::kKernel), SizeIs(2));
  EXPECT_THAT(rows_of_kind(trace, model::EventKind::kMemory), SizeIs(1));
  EXPECT_THAT(trace.devices(), SizeIs(1));
  EXPECT_EQ(trace.log().unmatched_launches, 0U);
  EXPECT_EQ(trace.log().unmatched_ops, 0U);
}

TEST_F(Injection, counts_what_does_not_fit_a_tiny_buffer_and_names_the_setting) {
  ASSERT_EQ(run_child(folder.path(), {"flood", "8", "200000"}, {{"STEPSCOPE_BUFFER_MB", "1"}}), 0);
  model::Trace const trace = only_trace();
  EXPECT_EQ(trace.event_count() + trace.log().dropped, 1'600'000U);
  EXPECT_GT(trace.log().dropped, 0U);
  EXPECT_THAT(stderr_of(folder.path()), HasSubstr("--buffer-mb"));
}

TEST_F(Injection, lets_training_go_on_when_the_disk_is_full_and_keeps_what_was_written) {
  ASSERT_EQ(run_child(folder.path(), {"fill-disk"}), 0) << stderr_of(folder.path());
  EXPECT_EQ(stdout_of(folder.path()), "done\n");
  model::Trace const trace = only_trace();
  EXPECT_TRUE(trace.log().truncated);
  std::string const output = stderr_of(folder.path());
  EXPECT_THAT(output, HasSubstr("events were lost"));
  EXPECT_EQ(std::count(output.begin(), output.end(), '\n'), 1) << output;
}

TEST_F(Injection, leaves_the_program_alone_when_the_folder_cannot_be_written) {
  EXPECT_EQ(run_child(folder.path(), {"train"}, {{"STEPSCOPE_OUTPUT", "/proc/nowhere"}}), 0);
  EXPECT_EQ(stdout_of(folder.path()), "done\n");
  EXPECT_THAT(stderr_of(folder.path()), HasSubstr("nothing was recorded"));
}

TEST_F(Injection, is_silent_when_not_asked_to_report) {
  EXPECT_EQ(run_child(folder.path(), {"flood", "4", "200000"},
                      {{"STEPSCOPE_BUFFER_MB", "1"}, {"STEPSCOPE_REPORT_LOSS", "0"}}),
            0);
  EXPECT_EQ(stderr_of(folder.path()), "");
}

TEST_F(Injection, does_nothing_without_an_output_folder) {
  EXPECT_EQ(run_child(folder.path(), {"train"}, {{"STEPSCOPE_OUTPUT", ""}}), 0);
  EXPECT_EQ(stdout_of(folder.path()), "done\n");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace stepscope::tracer
