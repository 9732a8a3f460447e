// unexplained-idle: no cause was found for a part of the idle time, so the other findings do not tell everything.
#include <algorithm>

#include "analyzer/rules/idle_cost.h"
#include "analyzer/rules/rules.h"

namespace stepscope::analyzer {

namespace {

/// What was before the recording's first op may be no idle time at all: nothing is promised of it, and alone it is no warning.
void leave_out_begin(MeasuredDevice const& device, int64_t first_ns, Finding& finding) {
  double const first = device.per_step(first_ns), step = device.step_ns();
  finding.metrics.emplace_back("before_first_op_ns_per_step", first);
  if (!finding.gain_ceiling || step <= 0) return;
  double const rest = std::max(0.0, (1 - 1 / (1 + *finding.gain_ceiling)) * step - first);
  finding.gain_ceiling = step / (step - rest) - 1;
  if (rest >= kWarningShare * step) return;
  finding.severity = Severity::kInfo;
  finding.gain_ceiling.reset();
}

/// What is known all the same: of the time before the recording's first op nothing can be, and where ops are queued the host is
/// no reason.
void add_what_is_known(RuleInput const& input, Finding& finding) {
  auto const device = std::find_if(input.measured.begin(), input.measured.end(),
                                   [&](MeasuredDevice const& measured) { return measured.ref == finding.where; });
  int64_t first = 0, queued = 0;
  for (size_t i = 0; i < device->gaps.size(); ++i) {
    if (device->gaps.cause(i) != IdleCause::kUnexplained) continue;
    if (device->gaps.why_not(i) == NotExplained::kFirst) first += device->gaps.when(i).length();
    if (device->gaps.why_not(i) == NotExplained::kQueued) queued += device->gaps.when(i).length();
  }
  if (first > 0) leave_out_begin(*device, first, finding);
  if (queued == 0) return;
  finding.metrics.emplace_back("queued_ns_per_step", device->per_step(queued));
  for (DeviceFacts const& facts : input.facts.devices)
    if (facts.ref == finding.where) finding.metrics.emplace_back("queued_ops", static_cast<double>(facts.unexplained.queued_ops));
}

}  // namespace

void find_unexplained_idle(RuleInput const& input, std::vector<Finding>& findings) {
  // DEFINITIONS asks for it above 5 %, which is kWarningShare.
  auto finding = find_idle_cost("unexplained-idle", input, kWarningShare, IdleCause::kUnexplained);
  if (!finding) return;
  finding->severity = Severity::kWarning;  // it says where to look, not what to fix
  add_what_is_known(input, *finding);
  findings.push_back(std::move(*finding));
}

}  // namespace stepscope::analyzer
