// pageable-copies: copies of memory that is not page-locked, or that block the host, run while
// nothing else does: the host cannot launch beside them. Cost: their exposed time, per step.
#include "analyzer/rules/rules.h"
#include "analyzer/rules/work/copy_cost.h"
#include "analyzer/rules/work/slow_cost.h"

namespace stepscope::analyzer {

bool is_about_pageable_copies(MeasuredDevice const& device, SlowTime const& slow) {
  bool const is_most =
      2 * static_cast<double>(slow.slow_copy_ns) >= static_cast<double>(device.exposed_copy_ns);
  bool const is_enough = static_cast<double>(slow.slow_copy_ns) >=
                         kWarningShare * static_cast<double>(device.total_ns);
  return is_most && is_enough;
}

void find_pageable_copies(RuleInput const& input, std::vector<Finding>& findings) {
  auto finding = find_slow_cost(
      "pageable-copies", input, kWarningShare,
      [](MeasuredDevice const&, SlowTime const& slow) { return slow.slow_copy_ns; },
      is_about_pageable_copies, SlowWork::kCopies);
  if (!finding) return;

  // The time was measured, and another kind of memory saves it.
  finding->severity = severity_of_share(finding->metrics.front().second);

  double pageable = 0, blocking = 0;
  for (CopyStats const& copies : input.facts.copies) {
    if (copies.ref != finding->where) continue;
    pageable += static_cast<double>(copies.pageable_count.value_or(0));
    blocking += static_cast<double>(copies.blocking_count);
  }

  finding->metrics.emplace_back("pageable_copies", pageable);
  finding->metrics.emplace_back("blocking_copies", blocking);
  if (are_all_pinned(input.facts.copies, *finding->where))
    finding->subjects.emplace_back("memory", "pinned");
  findings.push_back(std::move(*finding));
}

}  // namespace stepscope::analyzer
