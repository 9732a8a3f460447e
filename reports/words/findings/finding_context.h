// What the words of a finding are made of.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "reports/words/kernel_label.h"
#include "reports/words/labels.h"
#include "reports/words/language.h"
#include "reports/words/wording.h"

namespace stepscope::reports {

/// A finding and its surroundings, with its numbers at hand.
struct FindingContext {
  model::Run const& run;
  analyzer::Analysis const& analysis;
  analyzer::Finding const& finding;

  [[nodiscard]] std::optional<double> metric(std::string_view key) const {
    for (auto const& [name, value] : finding.metrics)
      if (name == key && std::isfinite(value)) return value;
    return std::nullopt;
  }
  /// A name from the trace, quoted; empty when there is none.
  [[nodiscard]] std::string subject(std::string_view key) const {
    for (auto const& [role, name] : finding.subjects)
      if (role == key && !name.empty())
        return fmt::format("“{}”", key == "kernel" ? kernel_label(name, 100) : shown(name, 120));
    return {};
  }
  [[nodiscard]] bool has_subject(std::string_view key, std::string_view name) const {
    return std::any_of(finding.subjects.begin(), finding.subjects.end(), [&](auto const& subject) {
      return subject.first == key && subject.second == name;
    });
  }
  [[nodiscard]] std::string where() const {
    return finding.where ? device_label(run, *finding.where) : std::string(tr("the devices"));
  }
  /// A metric as text, "?" when it is not there.
  [[nodiscard]] std::string text(std::string_view key) const {
    auto const value = metric(key);
    return value ? metric_words(key, *value).value : "?";
  }
};

/// "21.3 ms a step (27.5 % of it)"; empty without a cost.
std::string cost_of(FindingContext const& seen);

/// The same; without a cost the share of the time, without either nothing.
std::string loss_of(FindingContext const& seen);

/// " Rank 3 loses 21.3 ms a step." Empty without a loss.
std::string describe_cost(FindingContext const& seen);

/// In English alone: other languages have no capitals, or put other words first.
std::string with_capital(std::string text);

}  // namespace stepscope::reports
