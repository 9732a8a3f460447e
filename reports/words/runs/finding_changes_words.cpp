// What rules found on both sides of a comparison, in words; see comparison_words.h.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "reports/words/runs/comparison_words.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

using analyzer::Comparison;
using analyzer::FindingChange;

std::string duration_of(double ns) {
  return base::format_duration(std::llround(std::clamp(ns, -9e18, 9e18)));
}

/// "56.2 ms", "56.2 ms, in 2 of 3 runs", "found".
std::string cost_cell(FindingChange::Side const& side, size_t runs) {
  if (side.runs == 0) return "not found";
  std::string const cost = side.cost_ns ? duration_of(*side.cost_ns) : "found";
  return side.runs == runs ? cost : fmt::format("{}, in {} of {} runs", cost, side.runs, runs);
}

double step_without(Comparison const& comparison, double gain) {
  return static_cast<double>(comparison.base.mean_ns) / (1 + gain);
}

/// Less is within what a replay misses.
constexpr double kLeastPromise = 0.01;

/// A finding may be missing since the recording cannot show it, and not since it was cured.
bool sees_the_same(Comparison const& comparison) {
  using analyzer::Caveat;
  using analyzer::Condition;
  bool const is_doubtful =
      std::any_of(comparison.caveats.begin(), comparison.caveats.end(), [](auto const& of) {
        return of.caveat == Caveat::kTraceIntegrity || of.caveat == Caveat::kMissingRanks;
      });

  bool const differs =
      std::any_of(comparison.differences.begin(), comparison.differences.end(), [](auto const& of) {
        return of.condition == Condition::kTool || of.condition == Condition::kStepSource ||
               of.condition == Condition::kProcesses || of.condition == Condition::kDeviceCount;
      });
  return !is_doubtful && !differs;
}

/// All runs of the base must have it: a mean over some of them says nothing of the mean step.
bool is_promise(Comparison const& comparison, FindingChange const& change) {
  return change.base.runs == comparison.base.runs.size() && change.candidate.runs == 0 &&
         change.base.gain.value_or(0) >= kLeastPromise;
}

}  // namespace

std::vector<std::vector<std::string>> finding_rows(Comparison const& comparison) {
  if (comparison.findings.empty()) return {};
  std::vector<std::vector<std::string>> rows = {
      {"finding, cost a step", "base", "new", "step without it, by replay"}};

  for (FindingChange const& change : comparison.findings)
    rows.push_back({change.rule, cost_cell(change.base, comparison.base.runs.size()),
                    cost_cell(change.candidate, comparison.candidate.runs.size()),
                    change.base.gain && change.base.runs == comparison.base.runs.size()
                        ? duration_of(step_without(comparison, *change.base.gain))
                        : std::string("–")});
  return rows;
}

std::string promise_text(Comparison const& comparison) {
  auto const cured =
      std::find_if(comparison.findings.begin(), comparison.findings.end(),
                   [&](FindingChange const& change) { return is_promise(comparison, change); });
  if (cured == comparison.findings.end() || !sees_the_same(comparison)) return {};
  return fmt::format(
      "{} is found no longer. The replay of the base promised a step of {} without it; measured "
      "are {}, with everything else that changed.",
      cured->rule, duration_of(step_without(comparison, *cured->base.gain)),
      duration_of(static_cast<double>(comparison.candidate.mean_ns)));
}

}  // namespace stepscope::reports
