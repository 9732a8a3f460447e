// Rules about the kernels of a network: the roles of names, and both sides of each threshold.
#include <functional>

#include <gtest/gtest.h>

#include "analyzer/analyze.h"
#include "analyzer/metrics/work/kernel_roles.h"
#include "analyzer/rules/rule.h"
#include "tests/unit/analyzer/made_ranks.h"
#include "tests/unit/analyzer/rules/work/work_run.h"

namespace stepscope::analyzer {
namespace {

using testing_support::all_reduce_of;
using testing_support::finding_of;
using testing_support::MadeRanks;
using testing_support::metric_of;
using testing_support::WorkRun;

constexpr int64_t kUs = 1'000;
constexpr int64_t kSteps = 6;
constexpr char kProduct[] = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x4_nn";
constexpr char kSoftmax[] =
    "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16, float>";
constexpr char kMisaligned[] =
    "void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_128x128_nn_align1>";
constexpr char kElementwise[] =
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >";

TEST(KernelRoles, SoftmaxOfAttentionIsNotTheLogarithmOfALoss) {
  EXPECT_TRUE(is_softmax(kSoftmax));
  EXPECT_TRUE(is_softmax(
      "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false, false>"));
  EXPECT_TRUE(is_softmax("scaled_upper_triang_masked_softmax_warp_forward"));

  EXPECT_FALSE(is_softmax(
      "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, true, false>"));
  EXPECT_FALSE(
      is_softmax("void at::native::cunn_SoftMaxForward<4, float, float, float, "
                 "at::native::LogSoftMaxForwardEpilogue>"));
  EXPECT_FALSE(is_softmax("triton_red_fused__log_softmax_nll_loss_forward_3"));
  EXPECT_TRUE(is_softmax("softmax_warp_forward<"));  // cut off: the name does not show which
}

TEST(KernelRoles, OnlyTensorCoreKernelsShowThatRowsAreMisaligned) {
  EXPECT_TRUE(is_misaligned_product(kMisaligned));
  EXPECT_TRUE(is_misaligned_product("cutlass_80_tensorop_f16_s16816gemm_f16_64x64_32x6_tn_align2"));
  EXPECT_FALSE(
      is_misaligned_product("cutlass_80_tensorop_f16_s16816gemm_f16_64x64_32x6_tn_align16"));
  EXPECT_FALSE(
      is_misaligned_product("cutlass_80_tensorop_f16_s16816gemm_f16_64x64_32x6_tn_align8"));
  EXPECT_FALSE(is_misaligned_product("cutlass_80_simt_sgemm_128x32_8x5_nn_align1"));
  EXPECT_FALSE(is_misaligned_product("align"));
}

TEST(KernelRoles, WhatIsFusedIsNotElementwise) {
  EXPECT_TRUE(is_elementwise(kElementwise));
  EXPECT_FALSE(is_elementwise("triton_poi_fused_add_pointwise_3"));
  EXPECT_FALSE(is_elementwise(kProduct));
  EXPECT_TRUE(
      is_fused_attention("void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64> >"));
  EXPECT_FALSE(
      is_matrix_product("sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw"));
}

struct Op {
  char const* name;
  int64_t ns;
};
/// The same ops one after the other in every step of 1 ms; nothing is launched in its rest.
Analysis steps_of(std::vector<Op> const& ops) {
  WorkRun run;
  for (int64_t step = 0; step < kSteps; ++step) {
    int64_t const begin = step * 1'000 * kUs;
    int64_t at = begin + 5 * kUs, host = begin;

    for (Op const& op : ops) {
      uint64_t const call = run.launch(host, 100);
      host += 100;
      run.kernel(at, op.ns, call, op.name);
      at += op.ns;
    }
    run.step(begin, 1'000 * kUs, step);
  }
  return analyze(run.finish());
}

/// Two layers of attention, and another kernel for the rest of the device's work.
std::vector<Op> attention(int64_t softmax_ns, int64_t rest_ns) {
  std::vector<Op> ops;
  for (int layer = 0; layer < 2; ++layer)
    for (Op const& op : {Op{kProduct, 20 * kUs},
                         {kElementwise, kUs},
                         {kSoftmax, softmax_ns / 2},
                         {kProduct, 20 * kUs}})
      ops.push_back(op);
  ops.push_back({"rest", rest_ns});
  return ops;
}

TEST(UnfusedAttention, SpeaksFromATenthOfTheOpsOn) {
  Analysis const analysis = steps_of(attention(110 * kUs, 800 * kUs));
  Finding const* const finding = finding_of(analysis, "unfused-attention");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::kWarning);
  EXPECT_FALSE(finding->cost_ns_per_step.has_value());
  EXPECT_EQ(metric_of(*finding, "at_most_ns_per_step"), 110 * kUs);
  EXPECT_EQ(metric_of(*finding, "calls_per_step"), 2);
  EXPECT_EQ(finding_of(steps_of(attention(90 * kUs, 820 * kUs)), "unfused-attention"), nullptr);
}

TEST(UnfusedAttention, NeedsProductsAroundTheSoftmaxInSeveralLayersAndNoFusedKernel) {
  std::vector<Op> ops = attention(200 * kUs, 400 * kUs);
  ASSERT_NE(finding_of(steps_of(ops), "unfused-attention"), nullptr);

  ops.push_back({"void pytorch_flash::flash_fwd_kernel<64>", 10 * kUs});
  EXPECT_EQ(finding_of(steps_of(ops), "unfused-attention"), nullptr);

  // The softmax of a classification head runs once a step.
  EXPECT_EQ(
      finding_of(steps_of({{kProduct, 100 * kUs}, {kSoftmax, 200 * kUs}, {kProduct, 100 * kUs}}),
                 "unfused-attention"),
      nullptr);

  // Products elsewhere.
  std::vector<Op> apart(4, {kProduct, 50 * kUs});
  for (int i = 0; i < 8; ++i) apart.push_back({"rest", 10 * kUs});
  apart.push_back({kSoftmax, 100 * kUs});
  apart.push_back({kSoftmax, 100 * kUs});
  for (int i = 0; i < 8; ++i) apart.push_back({"rest", 10 * kUs});
  EXPECT_EQ(finding_of(steps_of(apart), "unfused-attention"), nullptr);
}

TEST(MisalignedMatrices, SpeaksFromATenthOfTheOpsOn) {
  EXPECT_NE(finding_of(steps_of({{kMisaligned, 110 * kUs}, {kProduct, 800 * kUs}}),
                       "misaligned-matrices"),
            nullptr);
  EXPECT_EQ(
      finding_of(steps_of({{kMisaligned, 80 * kUs}, {kProduct, 800 * kUs}}), "misaligned-matrices"),
      nullptr);
  // It is all that a nearly idle device does.
  EXPECT_EQ(finding_of(steps_of({{kMisaligned, 90 * kUs}}), "misaligned-matrices"), nullptr);
}

TEST(ElementwiseDominated, SpeaksFromHalfOfTheOpsOn) {
  auto const with = [](int64_t each) {
    std::vector<Op> ops(4, {kElementwise, each});
    ops.push_back({kProduct, 400 * kUs});
    return steps_of(ops);
  };

  EXPECT_NE(finding_of(with(101 * kUs), "elementwise-dominated"), nullptr);
  EXPECT_EQ(finding_of(with(99 * kUs), "elementwise-dominated"), nullptr);
  EXPECT_EQ(finding_of(steps_of({{kElementwise, 600 * kUs}, {kProduct, 200 * kUs}}),
                       "elementwise-dominated"),
            nullptr);
}

/// Steps of 10 ms: `count` all-reduces of `each_ns` after 1 ms of compute. The run has only the
/// first `recorded` of `expected` ranks.
Analysis reduced(int64_t count, int64_t each_ns, uint64_t bytes, int32_t recorded,
                 uint32_t expected) {
  MadeRanks made(recorded);
  for (int32_t r = 0; r < recorded; ++r)
    for (int64_t step = 0; step < kSteps; ++step) {
      int64_t const begin = step * 10'000 * kUs;
      made.step(r, begin, begin + 10'000 * kUs, step);
      made.kernel(r, begin, begin + 1'000 * kUs, begin);

      for (int64_t i = 0; i < count; ++i) {
        model::CollectiveDetail detail = all_reduce_of(r, static_cast<int32_t>(expected),
                                                       static_cast<uint64_t>(step * count + i) + 1);
        detail.bytes = bytes;
        int64_t const at = begin + 1'000 * kUs + i * each_ns;
        made.collective(r, at, at + each_ns, begin, detail);
      }
    }
  return analyze(made.finish());
}

TEST(UnbucketedGradients, SpeaksFromFiftyShortAllReducesOfUnknownSizeOn) {
  Analysis const analysis = reduced(50, 20 * kUs, 0, 2, 2);
  Finding const* const finding = finding_of(analysis, "unbucketed-gradients");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->severity, Severity::kWarning);
  EXPECT_EQ(metric_of(*finding, "collectives_per_step"), 50);
  EXPECT_EQ(metric_of(*finding, "at_most_ns_per_step"), 1'000 * kUs);

  EXPECT_EQ(finding_of(reduced(49, 20 * kUs, 0, 2, 2), "unbucketed-gradients"), nullptr);
  EXPECT_EQ(finding_of(reduced(60, 101 * kUs, 0, 2, 2), "unbucketed-gradients"), nullptr);
  EXPECT_EQ(finding_of(reduced(50, 20 * kUs, 4096, 2, 2), "unbucketed-gradients"), nullptr);
}

TEST(ApparentBandwidth, IsALowerBoundWhereRanksAreMissing) {
  // 10 MB in 2 ms, × 2 · 3 / 4 on the bus: 7.5 GB/s.
  Analysis const analysis = reduced(2, 2'000 * kUs, 10'000'000, 1, 4);
  Finding const* const finding = finding_of(analysis, "apparent-bandwidth");
  ASSERT_NE(finding, nullptr);
  EXPECT_NEAR(metric_of(*finding, "apparent_gbps"), 7.5, 1e-6);
  EXPECT_FALSE(finding->cost_ns_per_step.has_value());
  EXPECT_LT(finding, finding_of(analysis, "exposed-communication"));
  // 10.5 GB/s is the rate of a link. With all ranks recorded, waiting is known.
  EXPECT_EQ(finding_of(reduced(2, 2'000 * kUs, 14'000'000, 1, 4), "apparent-bandwidth"), nullptr);
  EXPECT_EQ(finding_of(reduced(2, 2'000 * kUs, 10'000'000, 4, 4), "apparent-bandwidth"), nullptr);
}

/// Steps of 1 ms in which the host records `frames` calls of Python functions before a kernel of
/// 0.1 ms.
Analysis recorded_with_stack(int64_t frames,
                             char const* name = "torch/nn/modules/module.py(1501): _call_impl") {
  WorkRun run;
  for (int64_t step = 0; step < kSteps; ++step) {
    int64_t const begin = step * 1'000 * kUs;
    for (int64_t i = 0; i < frames; ++i) run.range(begin + i * 500, 500, name);
    run.kernel(begin + 900 * kUs, 100 * kUs, run.launch(begin + 890 * kUs, 5 * kUs));
    run.step(begin, 1'000 * kUs, step);
  }
  return analyze(run.finish());
}

TEST(ProfilerOverhead, ComesFirstWhereItIsMostOfTheHostsLateness) {
  Analysis const most = recorded_with_stack(1'600);
  EXPECT_EQ(most.findings.at(0).rule, "profiler-overhead");
  EXPECT_EQ(metric_of(most.findings.at(0), "python_frames_per_step"), 1'600);
  Analysis const some = recorded_with_stack(100);
  EXPECT_EQ(some.findings.at(0).rule, "host-bound-launches");
  EXPECT_NE(finding_of(some, "profiler-overhead"), nullptr);
  EXPECT_EQ(finding_of(recorded_with_stack(99), "profiler-overhead"), nullptr);
  EXPECT_EQ(finding_of(recorded_with_stack(1'600, "read.py(x): frame"), "profiler-overhead"),
            nullptr);
}

TEST(IdleRules, SayNothingOfADeviceThatIsGivenCopiesAlone) {
  auto const run_of = [](bool with_kernel) {
    WorkRun run;
    for (int64_t step = 0; step < kSteps; ++step) {
      int64_t const begin = step * 1'000 * kUs;
      if (with_kernel) run.kernel(begin + 10 * kUs, 10 * kUs, run.launch(begin, kUs));
      run.range(begin + 20 * kUs, 800 * kUs, "bookkeeping");

      model::CopyDetail copy;
      copy.bytes = 1'000;
      run.copy(begin + 900 * kUs, 10 * kUs, run.launch(begin + 890 * kUs, kUs), "copy", copy);
      run.step(begin, 1'000 * kUs, step);
    }
    return analyze(run.finish());
  };

  EXPECT_NE(finding_of(run_of(true), "host-bound-launches"), nullptr);
  EXPECT_EQ(finding_of(run_of(false), "host-bound-launches"), nullptr);
}

}  // namespace
}  // namespace stepscope::analyzer
