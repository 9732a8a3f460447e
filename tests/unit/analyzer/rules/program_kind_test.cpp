// Names show whether a program serves a model: its steps or kernels are those of a server, and none
// belongs to training.
#include "analyzer/rules/program_kind.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "analyzer/analyze.h"
#include "analyzer/metrics/steps/step_names.h"
#include "tests/unit/analyzer/rules/work/work_run.h"

namespace stepscope::analyzer {
namespace {
namespace program_kind {

using testing_support::WorkRun;

constexpr int64_t kUs = 1000;

/// Ten steps of one kernel; `in_step` is a range of the host in each.
bool serves(std::string const& step, std::string const& kernel,
            std::string const& in_step = "aten::mm") {
  WorkRun run;
  for (int64_t i = 0; i < 10; ++i) {
    int64_t const begin = i * 1000 * kUs;
    run.range(begin, 900 * kUs, step).range(begin + 1 * kUs, 10 * kUs, in_step);
    uint64_t const call = run.launch(begin + 2 * kUs, 5 * kUs);
    run.kernel(begin + 10 * kUs, 800 * kUs, call, kernel);
  }

  model::Run const made = run.finish();
  return is_inference(made, analyze(made));
}

TEST(ProgramKind, ServersAreKnownByTheirStepsOrKernels) {
  EXPECT_TRUE(serves("execute_context_0(0)_generation_29(29)", "gemm"));
  EXPECT_TRUE(serves("step[DECODE bs=8]", "gemm"));
  EXPECT_TRUE(serves("iteration", "void vllm::rotary_embedding_kernel<c10::BFloat16>"));
  EXPECT_FALSE(serves("iteration", "gemm"));
}

TEST(ProgramKind, WhatLearnsIsNoServer) {
  EXPECT_FALSE(serves("execute_context_0(0)_generation_29(29)", "gemm",
                      "autograd::engine::evaluate_function: MmBackward0"));
  EXPECT_FALSE(serves("iteration", "void vllm::fused_add_rms_norm_kernel<float>",
                      "Optimizer.step#AdamW.step"));
}

TEST(ProgramKind, StepsOfInferenceHaveNamesOfTheirOwn) {
  for (char const* name :
       {"execute_context_1(512)_generation_32(32)", "execute_new_1_cached_32",
        "step[EXTEND bs=1 toks=107]", "[Executor] _forward_step 12: 0 ctx reqs, 3 gen reqs",
        "decode_step 12", "denoising_step_3"})
    EXPECT_TRUE(is_inference_step(name)) << name;
  for (char const* name : {"train_step 12", "ProfilerStep#4", "step 3", "execute_model", "decode",
                           "DeepSpeedEngine.train_batch"})
    EXPECT_FALSE(is_inference_step(name)) << name;
}

}  // namespace program_kind
}  // namespace
}  // namespace stepscope::analyzer
