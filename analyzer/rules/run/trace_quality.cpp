// trace-quality: the trace itself has faults (lost, unlinked or contradictory events, missing
// ranks), so its numbers may be wrong.
#include "analyzer/rules/rules.h"

namespace stepscope::analyzer {
namespace {

/// Below, faults are in several per cent of the events or a whole rank is missing: numbers are off
/// by as much.
constexpr int32_t kGoodScore = 90;

}  // namespace

void find_trace_integrity(RuleInput const& input, std::vector<Finding>& findings) {
  TraceIntegrity const& integrity = input.facts.integrity;
  if (integrity.score == 100) return;

  Finding finding;
  finding.rule = "trace-quality";
  finding.severity = integrity.score < kGoodScore ? Severity::kWarning : Severity::kInfo;
  finding.metrics = {{"score", integrity.score},
                     {"dropped", static_cast<double>(integrity.dropped)},
                     {"unmatched_launches", static_cast<double>(integrity.unmatched_launches)},
                     {"unmatched_ops", static_cast<double>(integrity.unmatched_ops)},
                     {"negative_latencies", static_cast<double>(integrity.negative_latencies)},
                     {"overlapping_slices", static_cast<double>(integrity.overlapping_slices)},
                     {"lost_blocks", static_cast<double>(integrity.lost_blocks)},
                     {"truncated", integrity.truncated ? 1.0 : 0.0},
                     {"missing_ranks", static_cast<double>(integrity.missing_ranks.size())}};
  findings.push_back(std::move(finding));
}

}  // namespace stepscope::analyzer
