#include "trace/synth/process/kernel_changes.h"

#include <algorithm>
#include <string_view>

namespace stepscope::synth {
namespace {

constexpr double kNsPerPieceUnit = 1'000;  // pieces are given in microseconds

bool names(KernelSpec const& spec, std::string_view part) {
  return spec.name.find(part) != std::string_view::npos;
}
bool is_convolution(KernelSpec const& spec) { return names(spec, "implicit_gemm"); }
bool is_matrix_product(KernelSpec const& spec) {
  return names(spec, "gemm") || names(spec, "Gemm");
}
bool is_attention(KernelSpec const& spec) {
  return names(spec, "flash_fwd") || names(spec, "flash_bwd_dq_dk_dv");
}
bool is_normalization(KernelSpec const& spec) { return names(spec, "norm") || names(spec, "bn_"); }

/// Kernels of equal length that take as long together.
std::vector<ChangedKernel> in_pieces(KernelSpec const& spec, int64_t usual_ns, double piece_us) {
  auto const piece_ns = static_cast<int64_t>(piece_us * kNsPerPieceUnit);
  int64_t const count = std::max<int64_t>(1, usual_ns / piece_ns);
  KernelSpec piece = spec;
  piece.name =
      "void at::native::vectorized_elementwise_kernel<4, "
      "at::native::CUDAFunctor_add<c10::BFloat16>, at::detail::Array<char*, 3> >";
  auto const parts = static_cast<uint64_t>(count);
  piece.detail.bytes /= parts;
  piece.detail.flops /= static_cast<double>(count);
  piece.detail.grid_x =
      std::max(piece.detail.grid_x / static_cast<uint32_t>(count), kMultiprocessors);
  return std::vector<ChangedKernel>(static_cast<size_t>(count),
                                    ChangedKernel{piece, usual_ns / count});
}

ChangedKernel without_tensor_cores(KernelSpec const& spec, int64_t usual_ns, double times) {
  ChangedKernel changed{spec, static_cast<int64_t>(static_cast<double>(usual_ns) * times)};
  changed.spec.name = is_convolution(spec)
                          ? "sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_nchw_"
                            "tilesize128x128x8_stage3_warpsize2x2x1_g1_ffma_kernel_cudnn"
                          : "ampere_sgemm_128x128_tn";
  return changed;
}

/// The products, in half of the fused kernel's time each, and the softmax between them; `times`:
/// what that takes of it.
std::vector<ChangedKernel> without_fusion(KernelSpec const& spec, int64_t usual_ns, double times) {
  KernelSpec product = spec, softmax = spec;
  product.name = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x4_nn";
  product.detail.flops /= 2;
  softmax.name =
      names(spec, "fwd")
          ? "void at::native::(anonymous namespace)::cunn_SoftMaxForward<8, c10::BFloat16, float, "
            "c10::BFloat16, at::native::(anonymous namespace)::SoftMaxForwardEpilogue>"
          : "void at::native::(anonymous namespace)::cunn_SoftMaxBackward<8, c10::BFloat16, float, "
            "c10::BFloat16, at::native::(anonymous namespace)::SoftMaxBackwardEpilogue>";
  softmax.detail.flops = 0;
  auto const softmax_ns = static_cast<int64_t>(static_cast<double>(usual_ns) * times);
  return {{product, usual_ns / 2}, {softmax, softmax_ns}, {product, usual_ns / 2}};
}

ChangedKernel with_odd_sizes(KernelSpec const& spec, int64_t usual_ns, double times) {
  ChangedKernel changed{spec, static_cast<int64_t>(static_cast<double>(usual_ns) * times)};
  changed.spec.name =
      "void cutlass::Kernel2<cutlass_75_tensorop_bf16_s1688gemm_bf16_256x128_tn_align1>";
  return changed;
}

std::vector<ChangedKernel> with_elementwise(KernelSpec const& spec, int64_t usual_ns,
                                            double times) {
  KernelSpec extra = spec;
  extra.op = "aten::mul";
  extra.name =
      "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, "
      "float, at::native::binary_internal::MulFunctor<float> >, at::detail::Array<char*, 3> >";
  extra.detail.flops = 0;
  return {{spec, usual_ns}, {extra, static_cast<int64_t>(static_cast<double>(usual_ns) * times)}};
}

/// The same work in so few blocks: it takes as many times longer as fewer multiprocessors work on
/// it.
ChangedKernel in_few_blocks(KernelSpec const& spec, int64_t usual_ns, double blocks) {
  ChangedKernel changed{
      spec, static_cast<int64_t>(static_cast<double>(usual_ns) * kMultiprocessors / blocks)};
  changed.spec.detail.grid_x = static_cast<uint32_t>(blocks);
  return changed;
}

}  // namespace

std::vector<ChangedKernel> change_kernel(Job const& job, KernelSpec const& spec, int64_t usual_ns) {
  double const amount = job.fault ? job.fault->amount : 0;
  if (job.has(FaultType::kTinyKernels)) return in_pieces(spec, usual_ns, amount);
  if (job.has(FaultType::kTensorCores) && is_matrix_product(spec))
    return {without_tensor_cores(spec, usual_ns, amount)};
  if (job.has(FaultType::kSmallGrids) && is_normalization(spec))
    return {in_few_blocks(spec, usual_ns, amount)};
  if (job.has(FaultType::kUnfusedAttention) && names(spec, "flash_")) {
    if (is_attention(spec)) return without_fusion(spec, usual_ns, amount);
    return {};  // what prepares the fused kernel's backward pass
  }
  if (job.has(FaultType::kMisalignedMatrices) && is_matrix_product(spec))
    return {with_odd_sizes(spec, usual_ns, amount)};
  if (job.has(FaultType::kElementwise)) return with_elementwise(spec, usual_ns, amount);
  return {{spec, usual_ns}};
}

}  // namespace stepscope::synth
