// What a kernel's name and launch say about it: whether it computes on tensor cores, how many
// blocks it has. Libraries tell the instruction in their kernels' names (cuBLAS, cuDNN, CUTLASS,
// FlashAttention, cuBLASLt's nvjet; rocBLAS on AMD's GPUs):
//   tensor cores   ampere_fp16_s16816gemm_…, volta_h884…, turing_…s1688…, cutlass_80_tensorop_…,
//   sm80_xmma_…_tensor16x8x16_…,
//                  sm90_xmma_…_warpgroupsize…, nvjet_…, …warpspecialized…, flash_fwd_kernel, hmma,
//                  wgmma, Cijk_…_MI16x16x16x1_…
//   without        volta_sgemm_…, volta_scudnn_…, cutlass_80_simt_sgemm_…, sm80_xmma_…_ffma_…,
//   implicit_convolve_sgemm
// Other kernels are no products of matrices, or do not tell.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "trace/model/details.h"

namespace stepscope::analyzer {

/// True: computes on tensor cores. False: multiplies matrices (or convolves) without. None: the
/// name does not tell. O(name).
std::optional<bool> uses_tensor_cores(std::string_view kernel);

/// NVIDIA GPUs by their names: Volta (V100), Turing and later have tensor cores. False for what is
/// not known.
bool has_tensor_cores(std::string_view device);

/// Blocks of the grid; 0 where no GPU ran it. At most 2^64 − 1.
inline uint64_t blocks_of(model::KernelDetail const& kernel) {
  uint64_t const plane = uint64_t{kernel.grid_x} * kernel.grid_y;  // below 2^64
  uint64_t blocks = 0;
  return __builtin_mul_overflow(plane, uint64_t{kernel.grid_z}, &blocks) ? UINT64_MAX : blocks;
}

}  // namespace stepscope::analyzer
