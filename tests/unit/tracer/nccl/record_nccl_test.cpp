// The settings that `stepscope record` passes to NCCL and to the sampler.
#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/paths.h"
#include "tests/unit/tracer/child_program.h"
#include "tracer/core/options.h"
#include "tracer/record.h"

namespace stepscope::tracer {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class RecordNccl : public ::testing::Test {
 protected:
  RecordNccl() {
    options.output = (folder.path() / "run").string();
    options.library = support::build_path("lib/libstepscope-tracer.so");
  }
  ~RecordNccl() override {
    ::unsetenv("NCCL_PROFILER_PLUGIN");
    ::unsetenv(kOtherNcclPluginVariable);
  }
  /// The environment that the command finds; `message` gets what Stepscope prints.
  std::string recorded_environment() {
    std::string const file = folder.path() / "environment";
    ::testing::internal::CaptureStderr();
    auto const code = record_command(
        options, {"sh", "-c",
                  "echo \"$NCCL_PROFILER_PLUGIN,$STEPSCOPE_NCCL_PLUGIN,$STEPSCOPE_NCCL,"
                  "$STEPSCOPE_SAMPLE_MS\" > " +
                      file});
    message = ::testing::internal::GetCapturedStderr();
    EXPECT_TRUE(code);

    std::string line;
    std::getline(std::ifstream(file) >> std::ws, line);
    return line;
  }
  TestFolder folder;
  RecordOptions options;
  std::string message;
};

TEST_F(RecordNccl, gives_nccl_the_tracer_as_its_plugin) {
  ::unsetenv("NCCL_PROFILER_PLUGIN");
  EXPECT_THAT(recorded_environment(), HasSubstr("lib/libstepscope-tracer.so,"));
  EXPECT_THAT(message, Not(HasSubstr("NCCL")));
}

TEST_F(RecordNccl, has_the_plugin_that_the_user_chose_behind_its_own) {
  ::setenv("NCCL_PROFILER_PLUGIN", "inspector", 1);
  EXPECT_THAT(recorded_environment(), HasSubstr("lib/libstepscope-tracer.so,inspector,"));
  EXPECT_THAT(message, Not(HasSubstr("NCCL")));
}

TEST_F(RecordNccl, keeps_a_users_none_and_says_so) {
  ::setenv("NCCL_PROFILER_PLUGIN", "none", 1);
  EXPECT_EQ(recorded_environment(), "none,,,");
  EXPECT_THAT(message, HasSubstr("NCCL_PROFILER_PLUGIN=none is kept"));
}

TEST_F(RecordNccl, leaves_nccl_to_the_users_plugin_where_it_is_not_recorded) {
  ::setenv("NCCL_PROFILER_PLUGIN", "inspector", 1);
  options.nccl = "off";
  EXPECT_EQ(recorded_environment(), "inspector,,off,");
  EXPECT_THAT(message, Not(HasSubstr("NCCL")));
}

TEST_F(RecordNccl, takes_the_tracer_of_an_outer_record_for_none) {
  ::setenv("NCCL_PROFILER_PLUGIN", "/elsewhere/lib/libstepscope-tracer.so", 1);
  EXPECT_THAT(recorded_environment(), Not(HasSubstr("elsewhere")));
  EXPECT_THAT(message, Not(HasSubstr("NCCL")));
}

TEST_F(RecordNccl, takes_over_the_plugin_behind_an_outer_record) {
  ::setenv("NCCL_PROFILER_PLUGIN", "/elsewhere/lib/libstepscope-tracer.so", 1);
  ::setenv(kOtherNcclPluginVariable, "inspector", 1);
  EXPECT_THAT(recorded_environment(), HasSubstr("lib/libstepscope-tracer.so,inspector,"));
}

TEST_F(RecordNccl, passes_on_what_nccl_shall_report_and_refuses_what_it_cannot) {
  options.nccl = "calls";
  EXPECT_THAT(recorded_environment(), HasSubstr(",calls"));
  options.nccl = "everything";
  auto const refused = record_command(options, {"true"});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("off, calls or network"));
}

TEST_F(RecordNccl, passes_on_how_often_the_gpus_are_sampled) {
  options.sample_ms = 0;
  EXPECT_THAT(recorded_environment(), ::testing::EndsWith(",0"));
}

}  // namespace
}  // namespace stepscope::tracer
