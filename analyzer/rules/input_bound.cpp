// input-bound: devices are idle because the host waits for training data. Cost: idle time with cause `input`, per step.
#include "analyzer/rules/host_costs.h"
#include "analyzer/rules/idle_cost.h"
#include "analyzer/rules/rules.h"

namespace stepscope::analyzer {

void find_input_bound(RuleInput const& input, std::vector<Finding>& findings) {
  if (auto finding = find_idle_cost("input-bound", input, kWarningShare, IdleCause::kInput))
    findings.push_back(std::move(*finding));
  find_host_input(input, findings);
}

}  // namespace stepscope::analyzer
