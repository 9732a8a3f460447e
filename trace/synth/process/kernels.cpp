#include "trace/synth/process/kernels.h"

#include <array>

namespace stepscope::synth {
namespace {

/// Work and launch shape: bytes moved, operations, blocks, threads a block, registers a thread,
/// bytes of shared memory.
constexpr model::KernelDetail work(uint64_t bytes, double flops, uint32_t blocks, uint32_t threads,
                                   uint32_t registers = 32, uint32_t shared_memory = 0) {
  return {bytes, flops, blocks, 1, 1, threads, 1, 1, registers, shared_memory};
}
constexpr uint64_t kMiB = 1U << 20;

constexpr std::array kConvolutionForward = {
    KernelSpec{"aten::cudnn_convolution",
               "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16_"
               "stage4_warpsize2x2x1_g1_tensor16x8x8_kernel_cudnn",
               92'000, work(34 * kMiB, 6.6e9, 784, 128, 238, 65'536)},
    KernelSpec{"aten::cudnn_batch_norm",
               "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512, true, 1, true>",
               41'000, work(50 * kMiB, 1.3e7, 256, 512, 40, 4'112)},
    KernelSpec{"aten::relu_",
               "void at::native::vectorized_elementwise_kernel<4, "
               "at::native::launch_clamp_scalar(at::TensorIteratorBase&, c10::Scalar, c10::Scalar, "
               "at::native::detail::ClampLimits)::{lambda(float)#1}, at::detail::Array<char*, 2> >",
               19'000, work(26 * kMiB, 6.4e6, 12'544, 128, 20)},
    KernelSpec{"aten::cudnn_convolution",
               "void implicit_convolve_sgemm<float, float, 1024, 5, 5, 3, 3, 3, 1, false, false, "
               "true>(int, int, int, float const*)",
               118'000, work(42 * kMiB, 9.1e9, 1'568, 256, 126, 33'792)},
    KernelSpec{"aten::cudnn_batch_norm",
               "void cudnn::bn_fw_tr_1C11_singleread<float, 512, true, 1, 2, 0>", 33'000,
               work(44 * kMiB, 1.1e7, 512, 512, 44, 2'064)},
    KernelSpec{"aten::add_",
               "void at::native::vectorized_elementwise_kernel<4, "
               "at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3> >",
               24'000, work(39 * kMiB, 6.4e6, 12'544, 128, 24)},
};

constexpr std::array kConvolutionBackward = {
    KernelSpec{"ReluBackward0",
               "void at::native::vectorized_elementwise_kernel<4, "
               "at::native::threshold_kernel_impl<float>, at::detail::Array<char*, 3> >",
               21'000, work(39 * kMiB, 6.4e6, 12'544, 128, 24)},
    KernelSpec{"CudnnBatchNormBackward0",
               "void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 512, true, 1>", 58'000,
               work(76 * kMiB, 2.6e7, 256, 512, 56, 8'224)},
    KernelSpec{"ConvolutionBackward0",
               "sm80_xmma_dgrad_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x64x16_"
               "stage4_warpsize2x2x1_g1_tensor16x8x8_kernel_cudnn",
               104'000, work(36 * kMiB, 6.6e9, 1'568, 128, 184, 49'152)},
    KernelSpec{"ConvolutionBackward0",
               "sm80_xmma_wgrad_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nhwc_"
               "tilesize128x128x16_stage4_warpsize2x2x1_g1_tensor16x8x8_kernel_cudnn",
               97'000, work(37 * kMiB, 6.6e9, 392, 128, 230, 65'536)},
    KernelSpec{"ConvolutionBackward0",
               "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true, 0>", 17'000,
               work(26 * kMiB, 0, 6'272, 256, 30, 4'224)},
    KernelSpec{"CudnnBatchNormBackward0",
               "void cudnn::bn_bw_1C11_singleread<float, 512, true, 1, 2, 0>", 47'000,
               work(66 * kMiB, 2.2e7, 512, 512, 60, 4'112)},
    KernelSpec{"ConvolutionBackward0",
               "void cudnn::cnn::wgrad_alg0_engine<float, 512, 6, 5, 3, 3, 3, false, 512>", 131'000,
               work(44 * kMiB, 9.1e9, 784, 256, 122, 16'384)},
    KernelSpec{"ConvolutionBackward0",
               "void cudnn::cnn::dgrad2d_alg1_1<float, 0, 6, 7, 5, 4, 5, false, true>", 126'000,
               work(42 * kMiB, 9.1e9, 1'568, 256, 118, 24'576)},
};

constexpr std::array kMixedConvolutionForward = {
    KernelSpec{"aten::cudnn_convolution",
               "sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_"
               "tilesize128x128x64_warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn",
               96'000, work(17 * kMiB, 2.6e10, 784, 384, 168, 213'000)},
    KernelSpec{
        "aten::cudnn_batch_norm",
        "void cudnn::bn_fw_tr_1C11_kernel_NCHW<__nv_bfloat16, float, int, 512, true, 1, true>",
        31'000, work(25 * kMiB, 1.3e7, 264, 512, 40, 4'112)},
    KernelSpec{"aten::relu_",
               "void at::native::vectorized_elementwise_kernel<8, "
               "at::native::launch_clamp_scalar(at::TensorIteratorBase&, c10::Scalar, c10::Scalar, "
               "at::native::detail::ClampLimits)::{lambda(c10::BFloat16)#1}, "
               "at::detail::Array<char*, 2> >",
               16'000, work(13 * kMiB, 6.4e6, 12'544, 128, 20)},
    KernelSpec{"aten::cudnn_convolution",
               "sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_"
               "tilesize256x128x64_warpgroupsize2x1x1_g1_execute_segment_k_off_kernel__5x_cudnn",
               121'000, work(21 * kMiB, 3.6e10, 1'568, 384, 168, 213'000)},
    KernelSpec{"aten::cudnn_batch_norm",
               "void cudnn::bn_fw_tr_1C11_singleread<__nv_bfloat16, 512, true, 1, 2, 0>", 27'000,
               work(22 * kMiB, 1.1e7, 512, 512, 44, 2'064)},
    KernelSpec{"aten::add_",
               "void at::native::vectorized_elementwise_kernel<8, "
               "at::native::CUDAFunctor_add<c10::BFloat16>, at::detail::Array<char*, 3> >",
               22'000, work(20 * kMiB, 6.4e6, 12'544, 128, 24)},
};

constexpr std::array kMixedConvolutionBackward = {
    KernelSpec{"ReluBackward0",
               "void at::native::vectorized_elementwise_kernel<8, "
               "at::native::threshold_kernel_impl<c10::BFloat16>, at::detail::Array<char*, 3> >",
               19'000, work(20 * kMiB, 6.4e6, 12'544, 128, 24)},
    KernelSpec{"CudnnBatchNormBackward0",
               "void cudnn::bn_bw_1C11_kernel_new<__nv_bfloat16, float, float2, 512, true, 1>",
               47'000, work(38 * kMiB, 2.6e7, 264, 512, 56, 8'224)},
    KernelSpec{"ConvolutionBackward0",
               "sm90_xmma_dgrad_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_"
               "tilesize128x128x64_warpgroupsize1x1x1_g1_execute_kernel__5x_cudnn",
               112'000, work(18 * kMiB, 2.6e10, 1'568, 384, 168, 213'000)},
    KernelSpec{"ConvolutionBackward0",
               "sm90_xmma_wgrad_implicit_gemm_indexed_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_"
               "tilesize128x128x64_warpgroupsize1x1x1_g1_execute_kernel__5x_cudnn",
               104'000, work(19 * kMiB, 2.6e10, 396, 384, 168, 213'000)},
    KernelSpec{"CudnnBatchNormBackward0",
               "void cudnn::bn_bw_1C11_singleread<__nv_bfloat16, 512, true, 1, 2, 0>", 41'000,
               work(33 * kMiB, 2.2e7, 512, 512, 60, 4'112)},
    KernelSpec{"ConvolutionBackward0",
               "sm90_xmma_dgrad_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_"
               "tilesize256x128x64_warpgroupsize2x1x1_g1_execute_kernel__5x_cudnn",
               133'000, work(22 * kMiB, 3.6e10, 784, 384, 168, 213'000)},
    KernelSpec{"ConvolutionBackward0",
               "sm90_xmma_wgrad_implicit_gemm_indexed_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_"
               "tilesize256x128x64_warpgroupsize2x1x1_g1_execute_kernel__5x_cudnn",
               127'000, work(21 * kMiB, 3.6e10, 1'568, 384, 168, 213'000)},
};

constexpr std::array kAttentionForward = {
    KernelSpec{"aten::native_layer_norm",
               "void at::native::(anonymous "
               "namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>",
               18'000, work(32 * kMiB, 6.7e7, 4'096, 128, 40, 24)},
    KernelSpec{"aten::linear", "ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_tn",
               236'000, work(72 * kMiB, 5.2e10, 384, 256, 234, 98'304)},
    KernelSpec{"rotary_embedding", "triton_poi_fused_add_cat_cos_mul_neg_sin_3", 22'000,
               work(64 * kMiB, 3.4e7, 8'192, 256, 28)},
    KernelSpec{"flash_attn::_flash_attn_forward",
               "void flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, "
               "cutlass::bfloat16_t>, false, true, false, true, false>",
               171'000, work(48 * kMiB, 3.4e10, 512, 128, 255, 81'920)},
    KernelSpec{"aten::linear", "cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_32x3_tn_align8",
               84'000, work(40 * kMiB, 1.7e10, 128, 256, 236, 73'728)},
};

constexpr std::array kAttentionBackward = {
    KernelSpec{"LinearBackward0", "ampere_bf16_s16816gemm_bf16_256x128_ldg8_f2f_stages_64x3_nn",
               88'000, work(40 * kMiB, 1.7e10, 128, 256, 236, 98'304)},
    KernelSpec{"LinearBackward0", "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x4_nt",
               91'000, work(40 * kMiB, 1.7e10, 256, 128, 218, 81'920)},
    KernelSpec{"flash_attn::_flash_attn_backward",
               "void flash_bwd_dot_do_o_kernel<true, Flash_bwd_kernel_traits<128, 64, 128>>",
               26'000, work(34 * kMiB, 1.7e7, 4'096, 256, 36)},
    KernelSpec{"flash_attn::_flash_attn_backward",
               "void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<128, 64, "
               "128, 8, 2, 4, 2, false, false, cutlass::bfloat16_t>, false, true>",
               412'000, work(96 * kMiB, 8.6e10, 512, 256, 255, 147'456)},
    KernelSpec{"LinearBackward0", "ampere_bf16_s16816gemm_bf16_256x128_ldg8_f2f_stages_64x3_nn",
               239'000, work(72 * kMiB, 5.2e10, 384, 256, 236, 98'304)},
    KernelSpec{"LinearBackward0", "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x4_nt",
               244'000, work(72 * kMiB, 5.2e10, 768, 128, 218, 81'920)},
    KernelSpec{"NativeLayerNormBackward0",
               "void at::native::(anonymous "
               "namespace)::layer_norm_grad_input_kernel_vectorized<c10::BFloat16, float>",
               31'000, work(48 * kMiB, 1.3e8, 4'096, 128, 48, 32)},
};

constexpr std::array kMlpForward = {
    KernelSpec{"aten::native_layer_norm",
               "void at::native::(anonymous "
               "namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>",
               18'000, work(32 * kMiB, 6.7e7, 4'096, 128, 40, 24)},
    KernelSpec{"aten::linear", "ampere_bf16_s16816gemm_bf16_256x128_ldg8_relu_f2f_stages_64x3_tn",
               314'000, work(104 * kMiB, 6.9e10, 512, 256, 238, 98'304)},
    KernelSpec{"aten::gelu", "triton_poi_fused_gelu_1", 44'000,
               work(128 * kMiB, 5.4e8, 16'384, 256, 30)},
    KernelSpec{"aten::linear", "ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_tn",
               309'000, work(104 * kMiB, 6.9e10, 512, 256, 234, 98'304)},
};

constexpr std::array kMlpBackward = {
    KernelSpec{"LinearBackward0", "ampere_bf16_s16816gemm_bf16_256x128_ldg8_f2f_stages_64x3_nn",
               318'000, work(104 * kMiB, 6.9e10, 512, 256, 236, 98'304)},
    KernelSpec{"LinearBackward0", "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x4_nt",
               322'000, work(104 * kMiB, 6.9e10, 1'024, 128, 218, 81'920)},
    KernelSpec{"GeluBackward0", "triton_poi_fused_gelu_gelu_backward_2", 61'000,
               work(192 * kMiB, 1.1e9, 16'384, 256, 38)},
    KernelSpec{"LinearBackward0", "ampere_bf16_s16816gemm_bf16_256x128_ldg8_f2f_stages_64x3_nn",
               315'000, work(104 * kMiB, 6.9e10, 512, 256, 236, 98'304)},
    KernelSpec{"LinearBackward0", "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x4_nt",
               320'000, work(104 * kMiB, 6.9e10, 1'024, 128, 218, 81'920)},
};

constexpr std::array kRouterForward = {
    KernelSpec{"aten::linear",
               "ampere_bf16_s16816gemm_bf16_64x64_sliced1x2_ldg8_f2f_stages_64x5_tn", 21'000,
               work(34 * kMiB, 5.4e8, 64, 128, 166, 40'960)},
    KernelSpec{"aten::softmax",
               "void at::native::(anonymous namespace)::softmax_warp_forward<float, float, float, "
               "6, false, false>",
               6'000, work(2 * kMiB, 1.6e6, 1'024, 128, 24)},
    KernelSpec{"aten::topk", "void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>",
               16'000, work(2 * kMiB, 0, 8'192, 32, 40, 136)},
    KernelSpec{"aten::sort",
               "void cub::DeviceRadixSortOnesweepKernel<cub::DeviceRadixSortPolicy<int, int, "
               "int>::Policy900, false>",
               19'000, work(4 * kMiB, 0, 86, 384, 60, 49'152)},
    KernelSpec{"permute_tokens",
               "void moe_permute_topk_kernel<__nv_bfloat16, __nv_bfloat16, 8, false>", 38'000,
               work(96 * kMiB, 0, 8'192, 256, 32)},
};

constexpr std::array kRouterBackward = {
    KernelSpec{"UnpermuteBackward",
               "void moe_permute_topk_kernel<__nv_bfloat16, __nv_bfloat16, 8, true>", 42'000,
               work(96 * kMiB, 0, 8'192, 256, 36)},
    KernelSpec{"SoftmaxBackward0",
               "void at::native::(anonymous namespace)::softmax_warp_backward<float, float, float, "
               "6, false, false>",
               7'000, work(3 * kMiB, 1.6e6, 1'024, 128, 26)},
    KernelSpec{"LinearBackward0", "cutlass_80_tensorop_bf16_s16816gemm_bf16_64x64_64x5_nt_align8",
               24'000, work(36 * kMiB, 5.4e8, 64, 128, 168, 40'960)},
};

constexpr std::array kExpertsForward = {
    KernelSpec{"grouped_gemm::gmm",
               "void cutlass::Kernel2<cutlass::gemm::kernel::GemmGrouped<cutlass::bfloat16_t, "
               "RowMajor, ColumnMajor, 128, 256, 64>>",
               286'000, work(160 * kMiB, 5.8e10, 432, 256, 240, 147'456)},
    KernelSpec{"silu_and_mul", "triton_poi_fused_mul_silu_0", 33'000,
               work(96 * kMiB, 2.7e8, 12'288, 256, 30)},
    KernelSpec{"grouped_gemm::gmm",
               "void cutlass::Kernel2<cutlass::gemm::kernel::GemmGrouped<cutlass::bfloat16_t, "
               "RowMajor, ColumnMajor, 256, 128, 64>>",
               149'000, work(120 * kMiB, 2.9e10, 216, 256, 240, 147'456)},
};

constexpr std::array kExpertsBackward = {
    KernelSpec{"GroupedGemmBackward",
               "void cutlass::Kernel2<cutlass::gemm::kernel::GemmGrouped<cutlass::bfloat16_t, "
               "RowMajor, RowMajor, 256, 128, 64>>",
               302'000, work(160 * kMiB, 5.8e10, 432, 256, 240, 147'456)},
    KernelSpec{"SiluBackward", "triton_poi_fused_mul_silu_silu_backward_1", 46'000,
               work(144 * kMiB, 5.4e8, 12'288, 256, 36)},
    KernelSpec{"GroupedGemmBackward",
               "void cutlass::Kernel2<cutlass::gemm::kernel::GemmGrouped<cutlass::bfloat16_t, "
               "ColumnMajor, RowMajor, 128, 128, 64>>",
               331'000, work(168 * kMiB, 5.8e10, 864, 128, 230, 98'304)},
};

constexpr std::array kLoss = {
    KernelSpec{"aten::linear", "cutlass_80_tensorop_s1688gemm_128x128_32x3_tn_align4", 52'000,
               work(20 * kMiB, 4.2e9, 96, 128, 226, 65'536)},
    KernelSpec{
        "aten::log_softmax",
        "void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, float, float>",
        14'000, work(8 * kMiB, 1.6e7, 256, 1'024, 40, 4'096)},
    KernelSpec{
        "aten::nll_loss_forward",
        "void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float>",
        9'000, work(1 * kMiB, 0, 1, 32, 34, 128)},
    KernelSpec{
        "LogSoftmaxBackward0",
        "void at::native::(anonymous namespace)::cunn_SoftMaxBackward<4, float, float, float>",
        15'000, work(8 * kMiB, 1.6e7, 256, 1'024, 42, 4'096)},
};

constexpr std::array kGradientNorm = {
    KernelSpec{
        "aten::_foreach_norm",
        "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<TensorListMetadata<1>, "
        "LpNormFunctor<float, 2>>",
        64'000, work(98 * kMiB, 5.1e7, 320, 512, 32, 256)},
    KernelSpec{"aten::linalg_vector_norm",
               "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, NormTwoOps>>",
               8'000, work(4'096, 1e3, 1, 512, 32, 16)},
};

constexpr std::array kOptimizer = {
    KernelSpec{
        "aten::_foreach_mul_",
        "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<TensorListMetadata<1>, "
        "BinaryOpScalarTensorFunctor<float, 1>>",
        71'000, work(196 * kMiB, 2.5e7, 320, 512, 32)},
    KernelSpec{"aten::_fused_adamw_",
               "void at::native::(anonymous "
               "namespace)::multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>, "
               "FusedAdamMathFunctor<float, 4, ADAM_MODE::ADAMW>>",
               228'000, work(686 * kMiB, 3.6e8, 320, 512, 56)},
    KernelSpec{"aten::_fused_adamw_",
               "void at::native::(anonymous "
               "namespace)::multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>, "
               "FusedAdamMathFunctor<float, 4, ADAM_MODE::ADAMW>>",
               214'000, work(640 * kMiB, 3.4e8, 320, 512, 56)},
    KernelSpec{"aten::_foreach_zero_",
               "void at::native::(anonymous "
               "namespace)::multi_tensor_apply_kernel<TensorListMetadata<1>, ZeroFunctor<float>>",
               52'000, work(98 * kMiB, 0, 320, 512, 20)},
};

}  // namespace

std::span<KernelSpec const> convolution_forward() { return kConvolutionForward; }
std::span<KernelSpec const> convolution_backward() { return kConvolutionBackward; }
std::span<KernelSpec const> mixed_convolution_forward() { return kMixedConvolutionForward; }
std::span<KernelSpec const> mixed_convolution_backward() { return kMixedConvolutionBackward; }
std::span<KernelSpec const> attention_forward() { return kAttentionForward; }
std::span<KernelSpec const> attention_backward() { return kAttentionBackward; }
std::span<KernelSpec const> mlp_forward() { return kMlpForward; }
std::span<KernelSpec const> mlp_backward() { return kMlpBackward; }
std::span<KernelSpec const> router_forward() { return kRouterForward; }
std::span<KernelSpec const> router_backward() { return kRouterBackward; }
std::span<KernelSpec const> experts_forward() { return kExpertsForward; }
std::span<KernelSpec const> experts_backward() { return kExpertsBackward; }
std::span<KernelSpec const> loss_kernels() { return kLoss; }
std::span<KernelSpec const> gradient_norm() { return kGradientNorm; }
std::span<KernelSpec const> optimizer() { return kOptimizer; }

}  // namespace stepscope::synth
