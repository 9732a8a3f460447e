// unexplained-idle: no cause was found for a part of the idle time, so the other findings do not
// tell everything.
#include <algorithm>

#include "analyzer/rules/host/idle_cost.h"
#include "analyzer/rules/rules.h"

namespace stepscope::analyzer {

namespace {

double unexplained_metric(Finding const& finding, std::string_view key) {
  auto const found = std::find_if(finding.metrics.begin(), finding.metrics.end(),
                                  [&](auto const& m) { return m.first == key; });
  return found == finding.metrics.end() ? 0 : found->second;
}

/// What is known all the same: where ops are queued the host is no reason.
void add_what_is_known(RuleInput const& input, Finding& finding) {
  auto const device =
      std::find_if(input.measured.begin(), input.measured.end(),
                   [&](MeasuredDevice const& measured) { return measured.ref == finding.where; });

  int64_t queued = 0;
  for (size_t i = 0; i < device->gaps.size(); ++i)
    if (device->gaps.cause(i) == IdleCause::kUnexplained &&
        device->gaps.why_not(i) == NotExplained::kQueued)
      queued += device->gaps.when(i).length();

  if (queued == 0) return;
  finding.metrics.emplace_back("queued_ns_per_step", device->per_step(queued));
  for (DeviceStats const& facts : input.facts.devices)
    if (facts.ref == finding.where)
      finding.metrics.emplace_back("queued_ops", static_cast<double>(facts.unexplained.queued_ops));
}

}  // namespace

void find_unexplained_idle(RuleInput const& input, std::vector<Finding>& findings) {
  // DEFINITIONS asks for it above 5 %, which is kWarningShare.
  auto finding = find_idle_cost("unexplained-idle", input, kWarningShare, IdleCause::kUnexplained);
  if (!finding) return;

  // It says where to look, not what to fix. Before the first recorded op there is nothing to look
  // for.
  double const step = unexplained_metric(*finding, "step_ns");
  double const before_first =
      step > 0 ? unexplained_metric(*finding, "before_first_op_ns_per_step") / step : 0;
  bool const is_lead_in = unexplained_metric(*finding, "share") - before_first < kWarningShare;
  finding->severity = is_lead_in ? Severity::kInfo : Severity::kWarning;
  if (is_lead_in) finding->gain_ceiling.reset();

  add_what_is_known(input, *finding);
  findings.push_back(std::move(*finding));
}

}  // namespace stepscope::analyzer
