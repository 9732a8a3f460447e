// elementwise-dominated: operations on single elements, each a kernel that reads and writes whole
// tensors, take more time than all other work together. No cost: what stays after fusion depends on
// the model.
#include "analyzer/metrics/work/kernel_roles.h"
#include "analyzer/rules/rules.h"
#include "analyzer/rules/work/kernel_share.h"

namespace stepscope::analyzer {
namespace {

/// More than all else together; and enough of the step that fusion is worth a change of the
/// program.
constexpr LeastShares kLeastElementwise{0.50, 0.20};
/// One kernel a step, such as a copy of weights, cannot be fused with anything.
constexpr double kFewestCalls = 4;

}  // namespace

void find_elementwise_dominated(RuleInput const& input, std::vector<Finding>& findings) {
  KernelShare const share = find_kernel_share(
      input, is_elementwise, kLeastElementwise,
      [](KernelShare const& candidate) { return candidate.count_per_step >= kFewestCalls; });
  if (share.device != nullptr)
    findings.push_back(make_share_finding("elementwise-dominated", share));
}

}  // namespace stepscope::analyzer
