#include "analyzer/metrics/work/kernel_roles.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "analyzer/metrics/work/kernel_traits.h"

namespace stepscope::analyzer {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// Whether the part, in small letters, occurs in the name in whatever letters.
bool names(std::string_view name, std::string_view part) {
  auto const same = [](char a, char b) { return lower(a) == b; };
  return std::search(name.begin(), name.end(), part.begin(), part.end(), same) != name.end();
}

bool names_any(std::string_view name, std::span<std::string_view const> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return names(name, part); });
}

/// PyTorch's softmax of one warp a row tells by its fifth argument whether it takes the logarithm:
/// "softmax_warp_forward<float, float, float, 10, true, false>".
bool is_logarithm_of_warp(std::string_view name) {
  size_t const at = name.find("softmax_warp_");
  size_t begin = at == std::string_view::npos ? at : name.find('<', at);
  for (int comma = 0; comma < 4 && begin != std::string_view::npos; ++comma)
    begin = name.find(',', begin + 1);
  if (begin == std::string_view::npos) return false;

  std::string_view argument = name.substr(begin + 1);
  argument.remove_prefix(std::min(argument.find_first_not_of(' '), argument.size()));
  return argument.starts_with("true") || argument.starts_with("(bool)1");
}

/// "align1" but not "align16".
bool ends_number(std::string_view name, size_t end) {
  return end == name.size() || name[end] < '0' || name[end] > '9';
}

}  // namespace

bool is_softmax(std::string_view kernel) {
  static constexpr std::array<std::string_view, 6> kLosses = {
      "logsoftmax", "log_softmax", "crossentropy", "cross_entropy", "nll_loss", "nllloss"};
  return names(kernel, "softmax") && !names_any(kernel, kLosses) && !is_logarithm_of_warp(kernel) &&
         !is_fused_attention(kernel);
}

bool is_fused_attention(std::string_view kernel) {
  static constexpr std::array<std::string_view, 7> kNames = {
      "flash", "fmha", "attention", "attn", "sdpa", "mha_fwd", "mha_bwd"};
  return names_any(kernel, kNames);
}

bool is_matrix_product(std::string_view kernel) {
  static constexpr std::array<std::string_view, 6> kNames = {"gemm",   "cijk_",     "nvjet",
                                                             "matmul", "triton_mm", "triton_tem"};
  static constexpr std::array<std::string_view, 6> kOthers = {"implicit", "conv",  "fprop",
                                                              "dgrad",    "wgrad", "splitkreduce"};
  return names_any(kernel, kNames) && !names_any(kernel, kOthers);
}

bool is_misaligned_product(std::string_view kernel) {
  static constexpr std::string_view kAlign = "align";
  if (uses_tensor_cores(kernel) != std::optional(true)) return false;

  for (size_t at = kernel.find(kAlign); at != std::string_view::npos;
       at = kernel.find(kAlign, at + 1)) {
    size_t const digit = at + kAlign.size();
    if (digit < kernel.size() && (kernel[digit] == '1' || kernel[digit] == '2') &&
        ends_number(kernel, digit + 1))
      return true;
  }
  return false;
}

bool is_elementwise(std::string_view kernel) {
  static constexpr std::array<std::string_view, 5> kNames = {"elementwise", "element_wise",
                                                             "pointwise", "tensorcwise", "cwiseop"};
  static constexpr std::array<std::string_view, 3> kFused = {"triton", "multi_tensor", "fusion"};
  return names_any(kernel, kNames) && !names_any(kernel, kFused);
}

}  // namespace stepscope::analyzer
