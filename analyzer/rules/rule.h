// What a rule is: a function that reads the facts and adds findings. It computes numbers and names
// places; words are in reports/words/wording and docs/reference/FINDINGS.md. To add one: a file
// with the function, a line in rules.h and in rules.cpp, a section in docs/reference/FINDINGS.md, a
// test on both sides of its threshold.
#pragma once

#include <span>
#include <vector>

#include "analyzer/metrics/steps/measured_steps.h"
#include "analyzer/results/analysis.h"

namespace stepscope::analyzer {

struct RuleInput {
  model::Run const& run;
  Analysis const& facts;  ///< all facts; `findings` is empty
  std::vector<MeasuredDevice> const&
      measured;  ///< steps.usual: what nearly all rules judge; beside facts.devices
  MeasuredSteps const& steps;
};

using RuleFunction = void (*)(RuleInput const& input, std::vector<Finding>& findings);
struct Rule {
  char const* name;  ///< Finding::rule of its findings
  RuleFunction find;
};

/// Every rule there is.
std::span<Rule const> all_rules();

/// The findings of all rules by severity, then cost, both descending, then in the order of the
/// rules.
std::vector<Finding> find_all(model::Run const& run, Analysis const& facts);
/// The same with what measure_steps(facts) says.
std::vector<Finding> find_all(model::Run const& run, Analysis const& facts,
                              MeasuredSteps const& steps);

/// Below this share of the step a cost is not worth a person's time. At 5 % the best possible gain
/// is 1.05 ×, about what step times vary by from run to run.
inline constexpr double kWarningShare = 0.05;
/// From here on the gain is at least 1.25 ×: look at it first.
inline constexpr double kCriticalShare = 0.20;

Severity severity_of_share(double share);

/// A finding about a cost per step: fills cost, ceiling and the metrics "share", "step_ns",
/// "steps".
Finding make_cost_finding(char const* rule, MeasuredDevice const& device, double cost_ns_per_step);

/// The same evidence, the longest first, kMaxEvidence of them.
void keep_longest(std::vector<Finding::Evidence>& evidence);

}  // namespace stepscope::analyzer
