// Traits of kernels from their names and launches, and the table of kernels.
#include <gtest/gtest.h>

#include "analyzer/analyze.h"
#include "analyzer/metrics/work/gpu_generation.h"
#include "analyzer/metrics/work/kernel_traits.h"
#include "analyzer/results/analysis.h"
#include "tests/unit/analyzer/rules/work/work_run.h"

namespace stepscope::analyzer {
namespace {

using model::KernelDetail;
using testing_support::grid_of;
using testing_support::WorkRun;

TEST(KernelTraits, NamesOfLibrariesShowTensorCores) {
  for (char const* const name :
       {"volta_h884gemm_64x64_nt",
        "volta_fp16_s884cudnn_fp16_128x128_ldg8_wgrad_idx_exp_interior_nhwc_nt_v1",
        "turing_fp16_s1688gemm_fp16_128x128_ldg8_f2f_tn",
        "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_tn",
        "ampere_h1688gemm_64x64_ldg8_stages_32x6_tn",
        "cutlass_80_tensorop_s1688gemm_64x64_16x6_tn_align4",
        "void "
        "cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x6_tn_align8>("
        "Params)",
        "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize64x128x32_stage5_"
        "warpsize2x2x1_g1_tensor16x8x8_x",
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x64x64_warpgroupsize1x1x1_execute_"
        "segment_k_off_kernel__5x_cublas",
        "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_bias_TNN",
        "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128>>(P)",
        "cutlass3x_sm90_tensorop_s64x128x16gemm_f16_f16_f32_void_f16_128x128x64_warpspecialized_"
        "pingpong",
        "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7",
        "fmha_cutlassF_bf16_aligned_64x64_rf_sm80",
        "_ZN7cutlass6KernelINS_4conv6kernel23ImplicitGemmConvolutionINS_4gemm4warp11MmaTensorOpE",
        "Cijk_Alik_Bljk_HHS_BH_MT128x128x16_MI32x32x8x1_SE", "i16832gemm_x"})
    EXPECT_EQ(uses_tensor_cores(name), std::optional(true)) << name;
}

TEST(KernelTraits, NamesOfLibrariesShowMatrixKernelsWithoutThem) {
  for (char const* const name :
       {"volta_sgemm_128x64_nn", "ampere_sgemm_32x128_nt",
        "volta_scudnn_128x64_relu_interior_nn_v1",
        "cudnn_infer_volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1",
        "void cutlass::Kernel<cutlass_80_simt_sgemm_128x32_8x5_nn_align1>(Params)",
        "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma_aligna4_"
        "alignc4_execute_kernel",
        "void implicit_convolve_sgemm<float, float, 1024, 6, 7, 3, 3, 5, 1, false, true, "
        "true>(int, int)",
        "void cudnn::cnn::wgrad_alg0_engine<float, 128, 6, 7, 3, 3, 5, false, 512>(int)",
        "void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>(int)",
        "sgemm_largek_lds64"})
    EXPECT_EQ(uses_tensor_cores(name), std::optional(false)) << name;
}

TEST(KernelTraits, OtherNamesShowNothing) {
  for (char const* const name :
       {"", "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>(int)",
        "triton_poi_fused_add_1688", "gemma_rms_norm", "ops1688_kernel", "rank_s16880_x",
        "flash_bwd_dot_do_o_kernel", "volta_gcgemm_32x32_nt", "884",
        "void gemmSN_NN_kernel<float>(int)",
        "void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>(int)",
        "Cijk_Ailk_Bljk_SB_MT64x64x8_SE"})
    EXPECT_EQ(uses_tensor_cores(name), std::nullopt) << name;
}

TEST(KernelTraits, GpusWithTensorCoresAreKnownByName) {
  for (char const* const name :
       {"Tesla V100-SXM2-32GB", "NVIDIA A100-PG509-200", "NVIDIA H100 80GB HBM3", "Tesla T4",
        "NVIDIA L4", "NVIDIA GeForce RTX 4090", "NVIDIA GH200 480GB", "NVIDIA TITAN V"})
    EXPECT_TRUE(has_tensor_cores(name)) << name;
  for (char const* const name : {"", "Tesla P100-PCIE-16GB", "NVIDIA GeForce GTX 1080 Ti",
                                 "AMD Instinct MI300X", "host:0", "GPU 0"})
    EXPECT_FALSE(has_tensor_cores(name)) << name;
}

TEST(KernelTraits, BlocksAreTheGridsAndDoNotOverflow) {
  KernelDetail detail;
  EXPECT_EQ(blocks_of(detail), 0U);
  detail.grid_x = 2;
  detail.grid_y = 3;
  detail.grid_z = 4;
  EXPECT_EQ(blocks_of(detail), 24U);
  detail.grid_x = detail.grid_y = detail.grid_z = UINT32_MAX;
  EXPECT_EQ(blocks_of(detail), UINT64_MAX);
}

KernelDetail detailed(uint32_t blocks, double flops, uint64_t bytes, uint8_t occupancy) {
  KernelDetail detail = grid_of(blocks);
  detail.flops = flops;
  detail.bytes = bytes;
  detail.occupancy_percent = occupancy;
  return detail;
}

TEST(KernelTable, RatesAndMeansAreOverTheCallsThatReportThem) {
  WorkRun run("GPU", 100, 4e9);
  run.kernel(0, 100, 0, "k", 7, detailed(100, 400, 800, 50));
  run.kernel(100, 300, 0, "k", 7, detailed(99, 800, 0, 25));
  run.kernel(400, 101, 0, "k", 7);

  Analysis const analysis = analyze(run.finish());
  ASSERT_EQ(analysis.kernels.size(), 1U);
  KernelStats const& kernel = analysis.kernels[0];

  EXPECT_EQ(kernel.mean_ns, 167);
  EXPECT_DOUBLE_EQ(*kernel.flops_rate, 1200.0 / 400 * 1e9);
  EXPECT_DOUBLE_EQ(*kernel.peak_share, 0.75);
  EXPECT_DOUBLE_EQ(*kernel.bytes_rate, 8e9);
  EXPECT_DOUBLE_EQ(*kernel.flops_per_byte, 0.5);
  EXPECT_DOUBLE_EQ(*kernel.occupancy_percent, (50.0 * 100 + 25 * 300) / 400);
  EXPECT_DOUBLE_EQ(*kernel.small_grid_share, 300.0 / 400);
  EXPECT_FALSE(kernel.tensor_cores);
}

TEST(KernelTable, WhatIsNotReportedIsAbsent) {
  WorkRun run("GPU", 0);
  run.kernel(0, 100, 0, "volta_sgemm_128x64_nn", 7, grid_of(3));
  run.copy(200, 10, 0, "copy of hmma", {});

  Analysis const analysis = analyze(run.finish());
  ASSERT_EQ(analysis.kernels.size(), 2U);
  KernelStats const& kernel = analysis.kernels[0];
  EXPECT_FALSE(kernel.flops_rate || kernel.bytes_rate || kernel.flops_per_byte ||
               kernel.peak_share);
  EXPECT_FALSE(kernel.occupancy_percent || kernel.small_grid_share);
  EXPECT_EQ(kernel.tensor_cores, std::optional(false));
  EXPECT_FALSE(analysis.kernels[1].tensor_cores);  // a copy is no kernel
}

TEST(KernelTable, DurationsThatNoMachineHasDoNotOverflow) {
  WorkRun run;
  for (int64_t stream = 1; stream <= 6; ++stream)
    run.kernel(-model::kMaxTime, 2 * model::kMaxTime, 0, "k", stream);
  Analysis const analysis = analyze(run.finish());
  EXPECT_EQ(analysis.kernels.at(0).total_ns, INT64_MAX);
}

TEST(GpuGeneration, OfVoltaAndTuringLacksTf32) {
  for (char const* const name :
       {"Tesla V100-SXM2-32GB", "Tesla V100-DGXS-32GB", "Tesla T4", "NVIDIA GeForce RTX 2080 Ti",
        "Quadro RTX 6000", "NVIDIA TITAN V", "TITAN RTX", "NVIDIA T4"})
    EXPECT_TRUE(lacks_tf32_and_bfloat16(name)) << name;

  for (char const* const name :
       {"NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3", "NVIDIA RTX A6000",
        "NVIDIA GeForce RTX 3090", "NVIDIA RTX 4000 Ada Generation",
        "NVIDIA RTX 2000 Ada Generation", "NVIDIA GeForce RTX 2050", "NVIDIA L4", "Tesla P100",
        "host:0", ""})
    EXPECT_FALSE(lacks_tf32_and_bfloat16(name)) << name;
}

}  // namespace
}  // namespace stepscope::analyzer
