#include "tracer/core/options.h"

#include <cstdlib>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tracer/core/process/job_labels.h"
#include "tracer/nvtx/wide_text.h"

namespace stepscope::tracer {
namespace {

TEST(ParseSteps, are_parsed_with_open_ends) {
  EXPECT_EQ(parse_steps("3:7")->first, 3);
  EXPECT_EQ(parse_steps("3:7")->last, 7);
  EXPECT_EQ(parse_steps("5:")->last, INT64_MAX);
  EXPECT_EQ(parse_steps(":5")->first, 0);
}

TEST(ParseSteps, that_make_no_range_are_refused) {
  for (char const* const text :
       {"", ":", "7", "a:b", "7:3", "-1:4", "1:2:3", "1 :2", "99999999999999999999:"})
    EXPECT_FALSE(parse_steps(text)) << text;
}

TEST(ParseSteps, of_several_windows_are_apart_from_each_other) {
  EXPECT_THAT(*parse_step_ranges("3:7"), testing::ElementsAre(StepRange{3, 7}));
  EXPECT_THAT(*parse_step_ranges("3:7,9:9,20:"),
              testing::ElementsAre(StepRange{3, 7}, StepRange{9, 9}, StepRange{20, INT64_MAX}));
  for (char const* const text : {"", ",", "3:7,", ",3:7", "3:7,8:9", "3:7,5:9", "9:9,3:7", "3:,9:9",
                                 "3:7,9", "3:7;9:9", "3:7,9:9,a:b"})
    EXPECT_FALSE(parse_step_ranges(text)) << text;
}

TEST(ParseSteps, of_the_environment_are_windows) {
  ::setenv(kOutputVariable, "/tmp", 1);
  ::setenv(kStepsVariable, "3:7,9:9", 1);
  WindowOptions const listed = options_from_environment()->window;
  EXPECT_EQ(listed.steps, (StepRange{3, 7}));
  EXPECT_THAT(listed.later_steps, testing::ElementsAre(StepRange{9, 9}));
  EXPECT_TRUE(listed.repeats());

  ::setenv(kStepsVariable, "500:504", 1);
  EXPECT_FALSE(options_from_environment()->window.repeats());
  ::setenv(kEveryVariable, "500", 1);
  EXPECT_EQ(options_from_environment()->window.every_steps, 500);
  EXPECT_TRUE(options_from_environment()->window.repeats());
  for (char const* const variable : {kOutputVariable, kStepsVariable, kEveryVariable})
    ::unsetenv(variable);
}

TEST(JobLabels, are_those_of_the_cluster_that_the_process_runs_on) {
  for (auto const& [name, value] : {std::pair{"SLURM_JOB_ID", "4711"},
                                    {"SLURM_JOB_NAME", "train <b>"},
                                    {"SLURM_PROCID", "3"},
                                    {"SLURMD_NODENAME", ""},
                                    {"POD_NAME", "of something else"}})
    ::setenv(name, value, 1);
  EXPECT_THAT(job_labels(), testing::ElementsAre(std::pair("Slurm job", "4711"),
                                                 std::pair("Slurm job name", "train <b>"),
                                                 std::pair("Slurm task", "3")));

  for (char const* const name :
       {"SLURM_JOB_ID", "SLURM_JOB_NAME", "SLURM_PROCID", "SLURMD_NODENAME"})
    ::unsetenv(name);
  EXPECT_THAT(job_labels(), testing::IsEmpty());

  ::setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
  EXPECT_THAT(job_labels(), testing::ElementsAre(std::pair("Kubernetes pod", "of something else")));
  ::unsetenv("KUBERNETES_SERVICE_HOST");
  ::unsetenv("POD_NAME");
}

TEST(NcclPlugin, is_none_in_any_case) {
  for (char const* const value : {"none", "None", "NONE"})
    EXPECT_TRUE(means_no_nccl_plugin(value)) << value;
  for (char const* const value : {"", "non", "nones", "inspector"})
    EXPECT_FALSE(means_no_nccl_plugin(value)) << value;
}

TEST(BufferVariables, say_how_much_memory_each_kind_of_event_may_take) {
  ::setenv(kOutputVariable, "/tmp", 1);
  EXPECT_EQ(options_from_environment()->cuda_buffers_bytes, kDefaultCudaBufferMb << 20);

  for (auto const& [text, megabytes] :
       {std::pair{"7", size_t{7}}, {"0", kDefaultCudaBufferMb}, {"much", kDefaultCudaBufferMb}}) {
    ::setenv(kCudaBufferVariable, text, 1);
    EXPECT_EQ(options_from_environment()->cuda_buffers_bytes, megabytes << 20) << text;
    EXPECT_EQ(options_from_environment()->buffer_bytes, kDefaultBufferMb << 20);
  }

  ::unsetenv(kCudaBufferVariable);
  ::unsetenv(kOutputVariable);
}

TEST(BufferVariables, say_how_large_each_buffer_of_cuda_is) {
  ::setenv(kOutputVariable, "/tmp", 1);
  EXPECT_EQ(options_from_environment()->cuda_buffer_bytes, kDefaultCudaBufferBytes);

  for (auto const& [text, bytes] : {std::pair{"1024", size_t{1} << 20},
                                    {"15", kDefaultCudaBufferBytes},
                                    {"big", kDefaultCudaBufferBytes}}) {
    ::setenv(kCudaBufferSizeVariable, text, 1);
    EXPECT_EQ(options_from_environment()->cuda_buffer_bytes, bytes) << text;
  }

  ::unsetenv(kCudaBufferSizeVariable);
  ::unsetenv(kOutputVariable);
}

TEST(FileName, of_a_rank_gives_way_to_one_that_exists) {
  CaptureOptions options;
  EXPECT_EQ(trace_file_name(options, 42, 0), "process-42.stepscope");
  EXPECT_EQ(trace_file_name(options, 42, 1), "process-42-2.stepscope");
  options.rank = 3;
  EXPECT_EQ(trace_file_name(options, 42, 0), "rank-3.stepscope");
  EXPECT_EQ(trace_file_name(options, 42, 1), "rank-3-process-42.stepscope");
  EXPECT_EQ(trace_file_name(options, 42, 2), "rank-3-process-42-2.stepscope");
  options.forked = true;
  EXPECT_EQ(trace_file_name(options, 42, 0), "process-42.stepscope");
}

TEST(WideText, becomes_utf8_of_whole_characters) {
  EXPECT_EQ(utf8_from_wide(L"a\u00e4\u4e2d\U0001F600", 100),
            "a\xC3\xA4\xE4\xB8\xAD\xF0\x9F\x98\x80");
  EXPECT_EQ(utf8_from_wide(L"\U0001F600\U0001F600", 7), "\xF0\x9F\x98\x80");
  wchar_t const bad[] = {static_cast<wchar_t>(0xD800), static_cast<wchar_t>(0x110000), 0};
  EXPECT_EQ(utf8_from_wide(bad, 100), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(utf8_from_wide(nullptr, 100), "");
}

}  // namespace
}  // namespace stepscope::tracer
