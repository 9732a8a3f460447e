#include "analyzer/rules/finding_order.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace stepscope::analyzer {
namespace {

/// A reason that costs less than this share of what it explains is one of several: both stand where
/// their cost puts them.
constexpr double kLeastExplained = 0.5;

double cost(Finding const& finding) {
  return static_cast<double>(finding.cost_ns_per_step.value_or(0));
}

bool is_most_of(Finding const& reason, Finding const& effect) {
  return cost(reason) >= kLeastExplained * cost(effect);
}

/// What one device loses by itself while the others wait for it: what they lose is the reason to
/// look there.
bool is_loss_of_straggler(Finding const& straggler, Finding const& loss) {
  auto const devices = std::find_if(loss.metrics.begin(), loss.metrics.end(),
                                    [](auto const& m) { return m.first == "devices"; });
  return straggler.where == loss.where && devices != loss.metrics.end() && devices->second <= 1 &&
         is_most_of(straggler, loss);
}

double metric_of(Finding const& finding, std::string_view name) {
  auto const found = std::find_if(finding.metrics.begin(), finding.metrics.end(),
                                  [&](auto const& m) { return m.first == name; });
  return found == finding.metrics.end() ? 0 : found->second;
}

/// Short messages without a cost of their own: what they take is the most that merging them saves.
bool is_mostly_short_messages(Finding const& messages, Finding const& effect) {
  return messages.severity > Severity::kInfo &&
         metric_of(messages, "at_most_ns_per_step") >= kLeastExplained * cost(effect);
}

/// Transfer that may be waiting for ranks that were not recorded.
bool is_of_same_device(Finding const& reason, Finding const& effect) {
  return reason.where == effect.where;
}

/// A host that is late since it records every function that it calls.
bool is_mostly_recording(Finding const& overhead, Finding const& late) {
  return metric_of(overhead, "recording_ns_per_step") >= kLeastExplained * cost(late);
}

/// Threads that wait for cores: everything that is measured on such a machine is the scheduler's,
/// too.
bool is_short_of_cores(Finding const& machine, Finding const& effect) {
  bool const has_too_few = metric_of(machine, "threads") > metric_of(machine, "cores") &&
                           metric_of(machine, "cores") > 0;
  return has_too_few || (machine.cost_ns_per_step && is_most_of(machine, effect));
}

/// What grows asks for more memory in every step, whatever that costs.
bool is_growth(Finding const& growth, Finding const&) { return growth.severity > Severity::kInfo; }

/// Long steps that are long because memory was asked for.
bool is_growth_of_steps(Finding const& growth, Finding const& steps) {
  auto const part = std::find_if(steps.subjects.begin(), steps.subjects.end(),
                                 [](auto const& s) { return s.first == "part"; });
  return growth.severity > Severity::kInfo && part != steps.subjects.end() &&
         part->second == to_string(IdleCause::kAllocation);
}

struct Explanation {
  std::string_view reason, effect;
  bool (*holds)(Finding const& reason, Finding const& effect);
};
constexpr std::array kExplanations = {
    Explanation{"straggler", "host-bound-launches", is_loss_of_straggler},
    Explanation{"straggler", "blocking-sync", is_loss_of_straggler},
    Explanation{"straggler", "allocation-in-step", is_loss_of_straggler},
    Explanation{"straggler", "input-bound", is_loss_of_straggler},
    Explanation{"small-buckets", "exposed-communication", is_most_of},
    Explanation{"unbucketed-gradients", "exposed-communication", is_mostly_short_messages},
    Explanation{"apparent-bandwidth", "exposed-communication", is_of_same_device},
    Explanation{"profiler-overhead", "host-bound-launches", is_mostly_recording},
    Explanation{"oversubscribed-host", "straggler", is_short_of_cores},
    Explanation{"oversubscribed-host", "load-imbalance", is_short_of_cores},
    Explanation{"oversubscribed-host", "step-outliers", is_short_of_cores},
    Explanation{"oversubscribed-host", "exposed-communication", is_short_of_cores},
    Explanation{"oversubscribed-host", "host-bound-launches", is_short_of_cores},
    Explanation{"oversubscribed-host", "blocking-sync", is_short_of_cores},
    Explanation{"serialized-streams", "small-grids", is_most_of},
    Explanation{"memory-leak", "allocation-in-step", is_growth},
    Explanation{"memory-leak", "step-outliers", is_growth_of_steps},
    Explanation{"memory-leak", "warmup-in-measurement", is_growth_of_steps},
    Explanation{"memory-fragmentation", "step-outliers", is_growth_of_steps},
    Explanation{"memory-fragmentation", "warmup-in-measurement", is_growth_of_steps},
};

/// A share of the step. A replay is not truer than that.
constexpr double kLeastGain = 0.01;

bool gives_something(Finding const& finding) {
  return !finding.gain_alone || *finding.gain_alone >= kLeastGain;
}

}  // namespace

void order_by_replay(std::vector<Finding>& findings) {
  for (auto begin = findings.begin(); begin != findings.end();) {
    auto const end = std::find_if(begin, findings.end(),
                                  [&](Finding const& f) { return f.severity != begin->severity; });
    std::stable_partition(begin, end, gives_something);
    begin = end;
  }
}

void order_findings(std::vector<Finding>& findings) {
  for (Explanation const& explanation : kExplanations) {
    auto const named = [&](std::string_view rule) {
      return std::find_if(findings.begin(), findings.end(),
                          [&](Finding const& finding) { return finding.rule == rule; });
    };
    auto const reason = named(explanation.reason), effect = named(explanation.effect);
    if (reason == findings.end() || effect == findings.end() ||
        !explanation.holds(*reason, *effect))
      continue;
    reason->severity = std::max(reason->severity, effect->severity);
  }

  std::stable_sort(findings.begin(), findings.end(), [](Finding const& a, Finding const& b) {
    // A program that failed is no program to be made faster.
    bool const a_failed = a.rule == "device-error", b_failed = b.rule == "device-error";
    if (a_failed != b_failed) return a_failed;
    if (a.severity != b.severity) return a.severity > b.severity;
    return a.cost_ns_per_step.value_or(-1) > b.cost_ns_per_step.value_or(-1);
  });

  for (Explanation const& explanation : kExplanations) {
    auto const named = [&](std::string_view rule) {
      return std::find_if(findings.begin(), findings.end(),
                          [&](Finding const& finding) { return finding.rule == rule; });
    };
    auto const reason = named(explanation.reason), effect = named(explanation.effect);
    if (reason == findings.end() || effect == findings.end() || effect > reason) continue;
    if (explanation.holds(*reason, *effect)) std::rotate(effect, reason, reason + 1);
  }
}

}  // namespace stepscope::analyzer
