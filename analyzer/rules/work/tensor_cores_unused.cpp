// tensor-cores-unused: matrices are multiplied in single precision on the plain cores of a GPU that
// has tensor cores. Cost: the time in which only such kernels compute, per step, less what it would
// take at the rate that other kernels reach on tensor cores. If the recording does not show that
// rate, half of the time: tensor cores are several times faster, but a kernel also waits for its
// memory.
#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/metrics/work/kernel_traits.h"
#include "analyzer/metrics/work/slow_time.h"
#include "analyzer/rules/rules.h"
#include "analyzer/rules/work/slow_cost.h"

namespace stepscope::analyzer {
namespace {

/// Lower precision is a decision about the model, not a mere setting: it takes more than 1.1 × to
/// be worth it.
constexpr double kLeastTensorCoreShare = 0.10;
/// TF32 on an A100 and FP16 on a V100 compute 8 × as fast as single precision; networks get 1.5 to
/// 3 × of it.
constexpr double kTensorCoreGain = 2;
/// No more than that: who multiplies more slowly than 1/8 waits for something else.
constexpr double kMostTensorCoreGain = 8;
/// A rate of kernels that take less than this share of the time of those it is for is that of odd
/// shapes: of the last layer alone.
constexpr double kLeastReference = 0.01;

bool is_simt_matrix(KernelStats const& kernel) {
  return kernel.tensor_cores == std::optional(false);
}

/// Operations per ns that the device reaches on tensor cores; none where the recording does not
/// tell operations, or of too little.
std::optional<double> tensor_core_rate(std::span<KernelStats const> kernels) {
  double flops = 0, with_ns = 0, without_ns = 0;
  for (KernelStats const& kernel : kernels) {
    auto const ns = static_cast<double>(kernel.total_ns);
    if (is_simt_matrix(kernel)) without_ns += ns;

    if (kernel.tensor_cores != std::optional(true) || !kernel.flops_rate) continue;
    with_ns += ns;
    flops += *kernel.flops_rate / 1e9 * ns;
  }

  if (flops <= 0 || with_ns < kLeastReference * without_ns) return std::nullopt;
  return flops / with_ns;
}

/// Share of their time that kernels without tensor cores would save with them.
double share_that_is_lost(std::span<KernelStats const> kernels) {
  std::optional<double> const rate = tensor_core_rate(kernels);
  double total = 0, left = 0;
  for (KernelStats const& kernel : kernels) {
    if (!is_simt_matrix(kernel)) continue;
    auto const ns = static_cast<double>(kernel.total_ns);

    double const empty = static_cast<double>(kEmptyKernelNs) * static_cast<double>(kernel.count);
    double const least = std::min(ns, std::max(empty, ns / kMostTensorCoreGain));

    total += ns;
    left += rate && kernel.flops_rate ? std::clamp(*kernel.flops_rate / 1e9 * ns / *rate, least, ns)
                                      : ns / kTensorCoreGain;
  }

  return total > 0 ? 1 - left / total : 1 - 1 / kTensorCoreGain;
}

}  // namespace

void find_tensor_cores_unused(RuleInput const& input, std::vector<Finding>& findings) {
  bool const are_used_elsewhere = std::any_of(
      input.facts.kernels.begin(), input.facts.kernels.end(),
      [](KernelStats const& kernel) { return kernel.tensor_cores == std::optional(true); });

  auto const has_them = [&](MeasuredDevice const& device, SlowTime const&) {
    return are_used_elsewhere ||
           has_tensor_cores(
               input.facts.devices[static_cast<size_t>(&device - input.measured.data())].name);
  };

  std::vector<double> lost_shares;  // beside input.measured
  for (MeasuredDevice const& device : input.measured)
    lost_shares.push_back(share_that_is_lost(kernels_of(input, device.ref)));
  auto const lost_share = [&](MeasuredDevice const& device) {
    return lost_shares[static_cast<size_t>(&device - input.measured.data())];
  };
  auto const loss = [&](MeasuredDevice const& device, SlowTime const& slow) {
    return static_cast<int64_t>(
        std::llround(static_cast<double>(slow.simt_matrix_ns) * lost_share(device)));
  };

  auto finding =
      find_slow_cost("tensor-cores-unused", input, kLeastTensorCoreShare, loss, has_them);
  if (!finding) return;

  std::string kernel = heaviest_kernel(input, *finding->where, [](KernelStats const& facts) {
    return is_simt_matrix(facts) ? static_cast<double>(facts.total_ns) : 0.0;
  });
  if (!kernel.empty()) finding->subjects.emplace_back("kernel", std::move(kernel));

  finding->metrics.emplace_back("expected_speedup",
                                1 / (1 - share_that_is_lost(kernels_of(input, *finding->where))));
  findings.push_back(std::move(*finding));
}

}  // namespace stepscope::analyzer
