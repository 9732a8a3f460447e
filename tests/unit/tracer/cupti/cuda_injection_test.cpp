// The real library in a small program that starts CUDA as the driver does, on machines without a
// driver, too.
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>

#include <dlfcn.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/paths.h"
#include "tests/unit/tracer/child_program.h"
#include "tracer/record.h"

namespace stepscope::tracer {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Pair;
using testing::SizeIs;

std::string const kLibrary = support::build_path("lib/libstepscope-tracer.so");

bool has_driver() {
  void* const driver = ::dlopen("libcuda.so.1", RTLD_LAZY);
  if (driver != nullptr) ::dlclose(driver);
  return driver != nullptr;
}

class CudaInjection : public testing::Test {
 protected:
  void SetUp() override {
    if (char const* const reason = why_no_injection()) GTEST_SKIP() << reason;
  }
  int run(std::string const& what, Environment more) {
    more.emplace("CUDA_INJECTION64_PATH", kLibrary);
    return run_child(folder.path(), {what}, more);
  }
  TestFolder folder;
};

TEST_F(CudaInjection, says_why_there_is_no_cupti_and_records_the_rest) {
  EXPECT_EQ(run("cuda-and-train", {{"STEPSCOPE_CUPTI", "/does/not/exist"}}), 0);
  EXPECT_THAT(stdout_of(folder.path()),
              AllOf(HasSubstr("InitializeInjection: 1\n"), HasSubstr("done\n")));
  EXPECT_THAT(stderr_of(folder.path()),
              AllOf(HasSubstr("stepscope: CUDA calls and kernels were not recorded: "
                              "/does/not/exist: cannot be loaded"),
                    HasSubstr("set STEPSCOPE_CUPTI")));

  auto const traces = read_traces(folder.path());
  ASSERT_THAT(traces, SizeIs(1));
  model::Trace const& trace = traces.begin()->second;
  EXPECT_EQ(count_names(trace).at("step"), 3);
  EXPECT_THAT(trace.info().facts,
              Contains(Pair("cuda tracing", HasSubstr("off: /does/not/exist"))));
  EXPECT_THAT(trace.log().notes,
              Contains(HasSubstr("CUDA calls and kernels were not recorded: /does/not/exist")));
}

TEST_F(CudaInjection, says_that_the_driver_does_not_work) {
  if (has_driver()) GTEST_SKIP() << "this machine has a CUDA driver";
  EXPECT_EQ(run("cuda-and-train", {}), 0);
  EXPECT_THAT(stdout_of(folder.path()), HasSubstr("done\n"));
  EXPECT_THAT(stderr_of(folder.path()), HasSubstr("CUDA calls and kernels were not recorded"));
  EXPECT_EQ(count_names(read_traces(folder.path()).begin()->second).at("step"), 3);
}

TEST_F(CudaInjection, empties_cupti_before_the_destructors_of_that_run) {
  EXPECT_EQ(run("cuda-and-train", {{"STEPSCOPE_CUPTI", STEPSCOPE_CUPTI_STUB}}), 0);
  std::string const output = stdout_of(folder.path());
  EXPECT_THAT(output, AllOf(HasSubstr("cupti: flushed\n"), HasSubstr("cupti: gone\n")));
  EXPECT_LT(output.find("cupti: flushed"), output.find("cupti: gone"));
  EXPECT_EQ(stderr_of(folder.path()), "");
}

TEST_F(CudaInjection, keeps_the_names_of_devices_and_bears_those_of_unknown_streams) {
  EXPECT_EQ(run("cuda-and-names", {{"STEPSCOPE_CUPTI", "/does/not/exist"}}), 0);
  auto const traces = read_traces(folder.path());
  ASSERT_THAT(traces, SizeIs(1));
  auto const devices = traces.begin()->second.devices();
  ASSERT_THAT(devices, SizeIs(1));
  EXPECT_EQ(devices[0].name, "host device (left half)");
}

TEST_F(CudaInjection, is_silent_when_not_asked_to_report) {
  EXPECT_EQ(run("cuda", {{"STEPSCOPE_CUPTI", "/does/not/exist"}, {"STEPSCOPE_REPORT_LOSS", "0"}}),
            0);
  EXPECT_EQ(stderr_of(folder.path()), "");
}

TEST_F(CudaInjection, does_nothing_without_an_output_folder) {
  EXPECT_EQ(run("cuda", {{"STEPSCOPE_OUTPUT", ""}}), 0);
  EXPECT_THAT(stdout_of(folder.path()), HasSubstr("InitializeInjection: 1\n"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST_F(CudaInjection, gives_a_fork_its_own_file_without_cuda) {
  EXPECT_EQ(run("cuda-and-fork", {{"STEPSCOPE_CUPTI", "/does/not/exist"}}), 0);
  auto const traces = read_traces(folder.path());
  ASSERT_THAT(traces, SizeIs(2));
  int with_cuda = 0;
  for (auto const& [name, trace] : traces)
    for (auto const& [fact, text] : trace.info().facts)
      with_cuda += static_cast<int>(fact == "cuda tracing");
  EXPECT_EQ(with_cuda, 1);
}

TEST_F(CudaInjection, is_set_up_by_record) {
  RecordOptions options;
  options.output = folder.path() / "run";
  options.library = kLibrary;
  options.cuda_buffer_mb = 77;

  std::string const file = folder.path() / "environment";
  testing::internal::CaptureStderr();
  EXPECT_EQ(
      record_command(
          options, {"sh", "-c", "echo $CUDA_INJECTION64_PATH $STEPSCOPE_CUDA_BUFFER_MB > " + file})
          .value(),
      0);
  testing::internal::GetCapturedStderr();

  std::string line;
  std::getline(std::ifstream(file), line);
  EXPECT_EQ(line, std::string(std::filesystem::weakly_canonical(kLibrary)) + " 77");
}

}  // namespace
}  // namespace stepscope::tracer
