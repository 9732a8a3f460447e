// `stepscope doctor` as a user runs it: what is complete is called so, what is lost is named with
// its reason.
#include <filesystem>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "tests/e2e/main_job/program.h"

namespace stepscope::e2e {
namespace {

namespace fs = std::filesystem;

class Doctor : public Program {
 protected:
  void make_run() const { ASSERT_EQ(stepscope("synth --ranks 2 --events 200000 -o run").code, 0); }
  void flip_a_byte(std::string const& name, uintmax_t offset) const {
    std::fstream file(path(name), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    auto const byte = static_cast<char>(file.get() ^ 1);
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(byte);
  }
};

TEST_F(Doctor, CallsACompleteRunComplete) {
  make_run();
  Outcome const outcome = stepscope("doctor run");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("rank-1.stepscope"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("complete"), std::string::npos) << outcome.output;
  EXPECT_EQ(outcome.output.find("lost "), std::string::npos) << outcome.output;
}

TEST_F(Doctor, SaysUntilWhenACutFileReaches) {
  make_run();
  fs::resize_file(path("run/rank-0.stepscope"), fs::file_size(path("run/rank-0.stepscope")) / 2);
  Outcome const outcome = stepscope("doctor run/rank-0.stepscope");
  EXPECT_EQ(outcome.code, 1) << outcome.output;
  EXPECT_NE(outcome.output.find("everything after the last block"), std::string::npos)
      << outcome.output;
  EXPECT_NE(outcome.output.find("it ends in the middle of"), std::string::npos) << outcome.output;
  EXPECT_EQ(stepscope("doctor run").code, 1) << "the other file is complete, the run is not";
}

TEST_F(Doctor, NamesTheDamagedPlace) {
  make_run();
  flip_a_byte("run/rank-0.stepscope", fs::file_size(path("run/rank-0.stepscope")) / 2);

  Outcome const outcome = stepscope("doctor --json run/rank-0.stepscope");
  EXPECT_EQ(outcome.code, 1) << outcome.output;

  auto const report = nlohmann::json::parse(outcome.output, nullptr, false);
  ASSERT_TRUE(report.is_object() && report["files"].size() == 1) << outcome.output;
  ASSERT_EQ(report["files"][0]["lost"].size(), 1U) << outcome.output;
  EXPECT_NE(report["files"][0]["lost"][0]["what"].get<std::string>().find("events of "),
            std::string::npos)
      << outcome.output;
}

TEST_F(Doctor, SaysWhichConclusionsAMissingRankWeakens) {
  make_run();
  fs::remove(path("run/rank-0.stepscope"));
  Outcome const outcome = stepscope("doctor run");
  EXPECT_EQ(outcome.code, 0) << "what is there is complete: " << outcome.output;
  EXPECT_NE(outcome.output.find("Trust: 80 of 100"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("weakens  late ranks"), std::string::npos) << outcome.output;
  auto const report = nlohmann::json::parse(stepscope("doctor --json run").output, nullptr, false);
  ASSERT_TRUE(report.is_object());
  EXPECT_EQ(report["trust"]["missing_ranks"], nlohmann::json::array({0}));
}

TEST_F(Doctor, ExaminesTracesOfOtherToolsToo) {
  std::ofstream(path("trace.json")) << R"json({"schemaVersion": 1, "traceEvents": [
    {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 10, "dur": 4, "args": {"device": 0, "stream": 7, "correlation": 3}},
    {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 12, "dur": 4, "args": {"device": 0, "stream": 7, "correlation": 4}},
    {"ph": "X", "cat": "ker)json";

  Outcome const outcome = stepscope("doctor trace.json");
  EXPECT_EQ(outcome.code, 1) << outcome.output;
  EXPECT_NE(outcome.output.find("the file ends in the middle of an event"), std::string::npos)
      << outcome.output;
  EXPECT_NE(outcome.output.find("fault    1 device op that overlaps another on the same stream"),
            std::string::npos)
      << outcome.output;
  EXPECT_NE(outcome.output.find("fault    2 device ops whose launch is not in the trace"),
            std::string::npos)
      << outcome.output;
}

TEST_F(Doctor, DoesNotVouchForBytesWhoseFormatHasNoChecksums) {
  std::ofstream(path("trace.json"))
      << R"json({"traceEvents": [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1}]})json";
  Outcome const outcome = stepscope("doctor trace.json");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("read to its end, nothing was skipped"), std::string::npos)
      << outcome.output;
  EXPECT_EQ(outcome.output.find("every byte"), std::string::npos) << outcome.output;
}

TEST_F(Doctor, DoubtsATraceWithoutEvents) {
  std::ofstream(path("trace.json")) << R"json({"schemaVersion": 1, "traceEvents": []})json";
  Outcome const outcome = stepscope("doctor trace.json");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("doubt  has no events"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("Trust: 0 of 100"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("fault    1 trace without events"), std::string::npos)
      << outcome.output;
  EXPECT_EQ(outcome.output.find("complete"), std::string::npos) << outcome.output;
}

TEST_F(Doctor, RefusesWhatIsNoTrace) {
  std::ofstream(path("notes.txt")) << "not a trace";
  fs::create_directories(path("empty"));
  for (char const* const argument : {"notes.txt", "empty", "nothing-here"}) {
    Outcome const outcome = stepscope(std::string("doctor ") + argument);
    EXPECT_EQ(outcome.code, 2) << outcome.output;
    EXPECT_NE(outcome.output.find("stepscope: "), std::string::npos) << outcome.output;
    EXPECT_EQ(outcome.output.find("internal error"), std::string::npos) << outcome.output;
  }
}

TEST_F(Doctor, WithoutARunExaminesTheMachine) {
  Outcome const outcome = stepscope("doctor");
  EXPECT_NE(outcome.output.find("clock"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("disk"), std::string::npos) << outcome.output;
  bool const is_ready = outcome.output.find("\nready") != std::string::npos;
  EXPECT_EQ(outcome.code, is_ready ? 0 : 1) << outcome.output;
  EXPECT_EQ(is_ready, outcome.output.find("FAIL") == std::string::npos) << outcome.output;
}

TEST_F(Doctor, SaysOfTheMachineAsJsonWhatItSaysInWords) {
  Outcome const outcome = stepscope("doctor --json");
  auto const report = nlohmann::json::parse(outcome.output, nullptr, false);
  ASSERT_TRUE(report.is_object()) << outcome.output;

  bool has_failed = false;
  for (auto const& check : report["checks"]) {
    has_failed = has_failed || check["verdict"] == "FAIL";
    EXPECT_EQ(check["fix"].get<std::string>().empty(), check["verdict"] == "OK") << check;
  }
  EXPECT_EQ(report["ready"].get<bool>(), !has_failed);
  EXPECT_EQ(outcome.code, has_failed ? 1 : 0);
}

TEST_F(Doctor, NamesAnotherToolsLibraryInTheEnvironment) {
  Outcome const outcome =
      shell("CUDA_INJECTION64_PATH=/opt/other/libinject.so " + program() + " doctor");
  EXPECT_NE(outcome.output.find("CUDA_INJECTION64_PATH=/opt/other/libinject.so"), std::string::npos)
      << outcome.output;
}

}  // namespace
}  // namespace stepscope::e2e
