// unexplained-idle: no cause was found for a part of the idle time, so the other findings do not tell everything.
#include "analyzer/rules/idle_cost.h"
#include "analyzer/rules/rules.h"

namespace stepscope::analyzer {

void find_unexplained_idle(RuleInput const& input, std::vector<Finding>& findings) {
  // DEFINITIONS asks for it above 5 %, which is kWarningShare.
  auto finding = find_idle_cost("unexplained-idle", input, kWarningShare, IdleCause::kUnexplained);
  if (!finding) return;
  finding->severity = Severity::kWarning;  // it says where to look, not what to fix
  findings.push_back(std::move(*finding));
}

}  // namespace stepscope::analyzer
