#include <cstdio>

#include <fmt/format.h>

#include "tests/ground_truth/scenarios.h"
#include "trace/base/format.h"

namespace stepscope::ground_truth {
namespace {

constexpr double kLeastPrecision = 0.95, kLeastRecall = 0.95, kLeastRightCosts = 0.90;

std::string cost_text(std::optional<int64_t> ns) { return ns ? base::format_duration(*ns) : "-"; }
std::string or_dash(std::string const& text) { return text.empty() ? "-" : text; }

std::string ratio_of(Outcome const& outcome) {
  if (!outcome.injected_ns || !outcome.stated_ns || *outcome.injected_ns == 0) return "-";
  return fmt::format("{:.3f}", static_cast<double>(*outcome.stated_ns) /
                                   static_cast<double>(*outcome.injected_ns));
}

std::string verdict_of(Outcome const& outcome) {
  if (!outcome.error.empty()) return outcome.error;
  if (outcome.expected != outcome.found) return "OTHER FINDING";
  if (!outcome.is_right())
    return fmt::format("OTHER RANK: {} not {}", outcome.found_rank.value_or(-1),
                       *outcome.expected_rank);
  return outcome.is_cost_right() ? "OK" : "OTHER COST";
}

struct Totals {
  int expected = 0, found = 0, right = 0, costs = 0, right_costs = 0, disturbed = 0, errors = 0;

  explicit Totals(std::vector<Outcome> const& outcomes) {
    for (Outcome const& outcome : outcomes) {
      bool const has_fault = !outcome.expected.empty();
      expected += has_fault ? 1 : 0;
      found += outcome.found.empty() ? 0 : 1;
      right += has_fault && outcome.is_right() ? 1 : 0;
      disturbed += !has_fault && !outcome.found.empty() ? 1 : 0;

      costs += outcome.injected_ns ? 1 : 0;
      right_costs += outcome.injected_ns && outcome.is_cost_right() ? 1 : 0;
      errors += outcome.error.empty() ? 0 : 1;
    }
  }
  static double share(int part, int whole) {
    return whole == 0 ? 1 : static_cast<double>(part) / whole;
  }
  [[nodiscard]] double precision() const { return share(right, found); }
  [[nodiscard]] double recall() const { return share(right, expected); }
  [[nodiscard]] double cost_share() const { return share(right_costs, costs); }
  [[nodiscard]] bool are_good() const {
    return errors == 0 && disturbed == 0 && precision() >= kLeastPrecision &&
           recall() >= kLeastRecall && cost_share() >= kLeastRightCosts;
  }
};

}  // namespace

bool print_table(std::vector<Outcome> const& outcomes) {
  fmt::print("{:<36} {:<22} {:<22} {:>9} {:>9} {:>6}  {}\n", "scenario", "expected", "found",
             "stated", "injected", "ratio", "");
  for (Outcome const& outcome : outcomes)
    fmt::print("{:<36} {:<22} {:<22} {:>9} {:>9} {:>6}  {}\n", outcome.scenario,
               or_dash(outcome.expected), or_dash(outcome.found), cost_text(outcome.stated_ns),
               cost_text(outcome.injected_ns), ratio_of(outcome), verdict_of(outcome));

  Totals const totals(outcomes);
  fmt::print("\n{} scenarios, {} with a fault\n", outcomes.size(), totals.expected);
  fmt::print("precision {:.3f} (at least {:.2f}): {} of {} first findings are right\n",
             totals.precision(), kLeastPrecision, totals.right, totals.found);
  fmt::print("recall    {:.3f} (at least {:.2f}): {} of {} faults are found first\n",
             totals.recall(), kLeastRecall, totals.right, totals.expected);
  fmt::print("costs     {:.3f} (at least {:.2f}): {} of {} within 10 %\n", totals.cost_share(),
             kLeastRightCosts, totals.right_costs, totals.costs);
  fmt::print("healthy jobs with a finding above info: {}\n", totals.disturbed);

  return totals.are_good();
}

}  // namespace stepscope::ground_truth
