#include "reports/words/findings/finding_context.h"

#include "trace/base/format.h"

namespace stepscope::reports {

std::string cost_of(FindingContext const& seen) {
  if (!seen.finding.cost_ns_per_step) return {};
  std::string text = tr("{} a step", base::format_duration(*seen.finding.cost_ns_per_step));
  if (auto const share = seen.metric("share"))
    text += tr(" ({} of it)", base::format_share(*share));
  return text;
}

std::string loss_of(FindingContext const& seen) {
  if (std::string const cost = cost_of(seen); !cost.empty()) return cost;
  return seen.metric("share") ? tr("{} of its time", seen.text("share")) : "";
}

std::string describe_cost(FindingContext const& seen) {
  std::string const cost = loss_of(seen);
  return cost.empty() ? "" : tr(" {} loses {}.", with_capital(seen.where()), cost);
}

std::string with_capital(std::string text) {
  if (language() == Language::kEnglish && !text.empty() && text[0] >= 'a' && text[0] <= 'z')
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

}  // namespace stepscope::reports
