// tensor-cores-unused: matrices are multiplied in single precision on the plain cores of a GPU that has tensor cores. Cost: half
// of the time in which such kernels are all that computes, per step: tensor cores are several times faster, but a kernel also
// waits for its memory.
#include <algorithm>

#include "analyzer/facts/kernel_traits.h"
#include "analyzer/rules/rules.h"
#include "analyzer/rules/slow_cost.h"

namespace stepscope::analyzer {
namespace {

/// Lower precision is a decision about the model, not a mere setting: it takes more than 1.1 × to be worth it.
constexpr double kLeastTensorCoreShare = 0.10;
/// TF32 on an A100 and FP16 on a V100 compute 8 × as fast as single precision; networks get 1.5 to 3 × of it.
constexpr int64_t kTensorCoreGain = 2;

bool is_simt_matrix(KernelFacts const& kernel) { return kernel.tensor_cores == std::optional(false); }

}  // namespace

void find_tensor_cores_unused(RuleInput const& input, std::vector<Finding>& findings) {
  bool const are_used_elsewhere =
      std::any_of(input.facts.kernels.begin(), input.facts.kernels.end(),
                  [](KernelFacts const& kernel) { return kernel.tensor_cores == std::optional(true); });
  auto const has_them = [&](MeasuredDevice const& device, SlowTime const&) {
    return are_used_elsewhere || has_tensor_cores(input.facts.devices[static_cast<size_t>(&device - input.measured.data())].name);
  };
  auto const loss = [](SlowTime const& slow) { return slow.simt_matrix_ns - slow.simt_matrix_ns / kTensorCoreGain; };
  auto finding = find_slow_cost("tensor-cores-unused", input, kLeastTensorCoreShare, loss, has_them);
  if (!finding) return;
  std::string kernel = heaviest_kernel(input, *finding->where, [](KernelFacts const& facts) {
    return is_simt_matrix(facts) ? static_cast<double>(facts.total_ns) : 0.0;
  });
  if (!kernel.empty()) finding->subjects.emplace_back("kernel", std::move(kernel));
  findings.push_back(std::move(*finding));
}

}  // namespace stepscope::analyzer
