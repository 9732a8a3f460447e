#include "analyzer/metrics/work/kernel_traits.h"

#include <algorithm>
#include <array>
#include <span>

namespace stepscope::analyzer {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool has(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}
bool has_any(std::string_view name, std::span<std::string_view const> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return has(name, part); });
}

/// Shapes of the instruction as kernels name it: "h884", "s1688", "s16816" and so on, a type's
/// letter before them.
constexpr std::array<std::string_view, 6> kShapes = {"884",  "1688",  "16816",
                                                     "8816", "16832", "16864"};

/// A shape with its letter as a word of its own: "_s1688gemm" but not "_ops1688" or "_s16880".
bool names_instruction(std::string_view name) {
  constexpr std::string_view kTypes = "hsicdz";
  for (std::string_view const shape : kShapes) {
    for (size_t at = name.find(shape); at != std::string_view::npos;
         at = name.find(shape, at + 1)) {
      size_t const end = at + shape.size();
      if (at == 0 || kTypes.find(name[at - 1]) == std::string_view::npos ||
          (end < name.size() && is_digit(name[end])))
        continue;

      if (at == 1 || (!is_letter(name[at - 2]) && !is_digit(name[at - 2]))) return true;
    }
  }
  return false;
}

/// NVIDIA's generated kernels: "sm80_xmma_gemm_…", "sm90_xmma_fprop_…". They have variants for
/// either unit.
std::optional<bool> xmma_uses_tensor_cores(std::string_view name) {
  if (has(name, "_ffma_")) return false;
  static constexpr std::array<std::string_view, 9> kTensor = {
      "_tensor", "warpgroup", "tf32", "bf16", "f16f16", "e4m3", "e5m2", "i8i8", "warp_specialized"};
  return has_any(name, kTensor) ? std::optional(true) : std::nullopt;
}

/// Attention in half precision. What prepares or gathers its results multiplies nothing.
bool is_flash_attention(std::string_view name) {
  static constexpr std::array<std::string_view, 6> kNames = {
      "flash_fwd", "flash_bwd", "FlashAttnFwd", "FlashAttnBwd", "flash_fprop", "flash_bprop"};
  static constexpr std::array<std::string_view, 5> kAround = {"dot_do_o", "convert_dq", "combine",
                                                              "preprocess", "Preprocess"};
  return has_any(name, kNames) && !has_any(name, kAround);
}

/// rocBLAS: "Cijk_…_MT128x128x16_MI32x32x2x1_…" names its matrix instruction.
bool names_amd_instruction(std::string_view name) {
  if (!has(name, "Cijk_")) return false;
  for (size_t at = name.find("_MI"); at != std::string_view::npos; at = name.find("_MI", at + 1))
    if (at + 3 < name.size() && name[at + 3] >= '1' && name[at + 3] <= '9') return true;
  return false;
}

/// "sgemm", "scudnn" and their likes as words: "volta_sgemm_128x64_nn",
/// "implicit_convolve_sgemm<…>", "magma_sgemmEx_kernel".
bool has_word_begin(std::string_view name, std::string_view word) {
  for (size_t at = name.find(word); at != std::string_view::npos; at = name.find(word, at + 1))
    if (at == 0 || !is_letter(name[at - 1])) return true;
  return false;
}

bool is_matrix_kernel_of_plain_cores(std::string_view name) {
  static constexpr std::array<std::string_view, 4> kWords = {"sgemm", "scudnn", "hgemm", "hcudnn"};
  // CUTLASS names its unit; the engines are cuDNN's for single precision before it used CUTLASS.
  static constexpr std::array<std::string_view, 8> kParts = {"_simt_",
                                                             "OpClassSimt",
                                                             "MmaSimt",
                                                             "wgrad_alg0_engine",
                                                             "wgrad_alg1_engine",
                                                             "dgrad_engine",
                                                             "dgrad_alg1_engine",
                                                             "wgrad_alg1_nd_float"};

  return std::any_of(kWords.begin(), kWords.end(),
                     [&](std::string_view word) { return has_word_begin(name, word); }) ||
         has_any(name, kParts);
}

}  // namespace

std::optional<bool> uses_tensor_cores(std::string_view kernel) {
  if (has(kernel, "xmma_")) return xmma_uses_tensor_cores(kernel);

  static constexpr std::array<std::string_view, 12> kTensor = {"tensorop",
                                                               "TensorOp",
                                                               "hmma",
                                                               "wgmma",
                                                               "wmma",
                                                               "Gmma",
                                                               "GMMA",
                                                               "nvjet_",
                                                               "warpspecialized",
                                                               "WarpSpecialized",
                                                               "tcgen05",
                                                               "fmha_cutlassF_f16"};
  static constexpr std::array<std::string_view, 3> kMoreAttention = {
      "fmha_cutlassF_bf16", "fmha_cutlassB_f16", "fmha_cutlassB_bf16"};

  if (has_any(kernel, kTensor) || has_any(kernel, kMoreAttention) || names_instruction(kernel) ||
      is_flash_attention(kernel) || names_amd_instruction(kernel))
    return true;
  if (is_matrix_kernel_of_plain_cores(kernel)) return false;
  return std::nullopt;
}

bool has_tensor_cores(std::string_view device) {
  // Words of names: "NVIDIA A100-SXM4-80GB", "Tesla V100-DGXS-32GB", "NVIDIA GeForce RTX 4090".
  static constexpr std::array<std::string_view, 28> kWords = {
      "V100",  "V100S", "T4",  "A2",   "A10",  "A10G", "A16",   "A30",  "A40",  "A100",
      "A100X", "A800",  "H20", "H100", "H200", "H800", "GH200", "B100", "B200", "B300",
      "GB200", "GB300", "L4",  "L20",  "L40",  "L40S", "RTX",   "GB10"};

  for (size_t at = 0; at < device.size();) {
    auto const is_part = [](char c) { return is_letter(c) || is_digit(c); };
    size_t end = at;
    while (end < device.size() && is_part(device[end])) ++end;

    std::string_view const word = device.substr(at, end - at);
    if (std::find(kWords.begin(), kWords.end(), word) != kWords.end()) return true;
    at = end + 1;
  }
  return has(device, "TITAN V");
}

}  // namespace stepscope::analyzer
