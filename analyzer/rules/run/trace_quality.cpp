// trace-quality: the trace itself has faults (lost, unlinked or contradictory events, missing ranks), so its numbers may be
// wrong.
#include "analyzer/rules/rules.h"

namespace stepscope::analyzer {
namespace {

/// Below, faults are in several per cent of the events or a whole rank is missing: numbers are off by as much.
constexpr int32_t kGoodScore = 90;

}  // namespace

void find_trace_quality(RuleInput const& input, std::vector<Finding>& findings) {
  Quality const& quality = input.facts.quality;
  if (quality.score == 100) return;
  Finding finding;
  finding.rule = "trace-quality";
  finding.severity = quality.score < kGoodScore ? Severity::kWarning : Severity::kInfo;
  finding.metrics = {{"score", quality.score},
                     {"dropped", static_cast<double>(quality.dropped)},
                     {"unmatched_launches", static_cast<double>(quality.unmatched_launches)},
                     {"unmatched_ops", static_cast<double>(quality.unmatched_ops)},
                     {"negative_latencies", static_cast<double>(quality.negative_latencies)},
                     {"overlapping_slices", static_cast<double>(quality.overlapping_slices)},
                     {"lost_blocks", static_cast<double>(quality.lost_blocks)},
                     {"truncated", quality.truncated ? 1.0 : 0.0},
                     {"missing_ranks", static_cast<double>(quality.missing_ranks.size())}};
  findings.push_back(std::move(finding));
}

}  // namespace stepscope::analyzer
