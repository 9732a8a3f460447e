#include "analyzer/compare/finding_changes.h"

#include <algorithm>
#include <tuple>

namespace stepscope::analyzer {
namespace {

FindingChange::Side side_of_rule(std::vector<RunMeasurements> const& runs,
                                 std::string const& rule) {
  FindingChange::Side side;
  double cost_ns = 0, gain = 0;
  size_t costs = 0, gains = 0;

  for (RunMeasurements const& run : runs) {
    auto const found = std::find_if(run.findings->begin(), run.findings->end(),
                                    [&](auto const& finding) { return finding.rule == rule; });
    if (found == run.findings->end()) continue;
    ++side.runs;
    side.severity = std::max(side.severity, found->severity);

    cost_ns += static_cast<double>(found->cost_ns.value_or(0));
    costs += found->cost_ns ? 1 : 0;
    gain += found->gain.value_or(0);
    gains += found->gain ? 1 : 0;
  }

  if (costs > 0) side.cost_ns = cost_ns / static_cast<double>(costs);
  if (gains > 0 && gains == side.runs) side.gain = gain / static_cast<double>(gains);
  return side;
}

/// Numbers may be off: a finding about the recording, not about the program.
bool is_of_program(std::string const& rule) { return rule != "trace-quality"; }

}  // namespace

std::vector<FindingChange> compare_findings(std::vector<RunMeasurements> const& base,
                                            std::vector<RunMeasurements> const& candidate) {
  std::vector<FindingChange> changes;
  for (auto const* runs : {&base, &candidate}) {
    for (RunMeasurements const& run : *runs) {
      if (!run.findings) return {};
      for (RunMeasurements::Found const& found : *run.findings) {
        bool const is_known =
            std::any_of(changes.begin(), changes.end(),
                        [&](FindingChange const& change) { return change.rule == found.rule; });
        if (!is_known && is_of_program(found.rule)) changes.push_back({found.rule, {}, {}});
      }
    }
  }

  for (FindingChange& change : changes) {
    change.base = side_of_rule(base, change.rule);
    change.candidate = side_of_rule(candidate, change.rule);
  }
  std::erase_if(changes, [](FindingChange const& change) {
    return std::max(change.base.severity, change.candidate.severity) < Severity::kWarning;
  });

  auto const key = [](FindingChange const& change) {
    return std::tuple(change.base.runs == 0, -change.base.cost_ns.value_or(0),
                      -change.candidate.cost_ns.value_or(0));
  };
  std::stable_sort(changes.begin(), changes.end(),
                   [&](auto const& a, auto const& b) { return key(a) < key(b); });
  return changes;
}

}  // namespace stepscope::analyzer
