#include "reports/json/comparison_json.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "reports/words/runs/comparison_words.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

using CompareJson = nlohmann::ordered_json;
using analyzer::Comparison;

/// JSON has no NaN and no infinity: a number that does not exist is null.
CompareJson finite(double value) {
  return std::isfinite(value) ? CompareJson(value) : CompareJson(nullptr);
}

CompareJson whole_names(std::vector<std::string> const& names) {
  CompareJson json = CompareJson::array();
  for (std::string const& name : names) json.push_back(base::printable(name));
  return json;
}

CompareJson side_json(analyzer::SideStats const& side) {
  return {{"runs", whole_names(side.runs)},
          {"devices", side.devices},
          {"steps", side.steps},
          {"warmup_steps", side.warmup_steps},
          {"slow_start_steps", side.slow_start_steps},
          {"outlier_steps", side.outlier_steps},
          {"incomplete_steps", side.incomplete_steps},
          {"mean_ns", side.mean_ns}};
}

CompareJson differences_json(Comparison const& comparison) {
  CompareJson differences = CompareJson::array();
  for (analyzer::Difference const& difference : comparison.differences) {
    auto const side = [](std::optional<double> number, std::string const& text) {
      if (number) return finite(*number);
      return text.empty() ? CompareJson(nullptr) : CompareJson(base::printable(text));
    };

    differences.push_back(
        {{"condition", analyzer::to_string(difference.condition)},
         {"name", difference.name.empty() ? CompareJson(nullptr)
                                          : CompareJson(base::printable(difference.name))},
         {"base", side(difference.base_number, difference.base)},
         {"new", side(difference.candidate_number, difference.candidate)},
         {"text", difference_text(difference)}});
  }

  return differences;
}

CompareJson metric_json(analyzer::Metric const& metric) {
  analyzer::Change const& change = metric.change;
  bool const is_collective = metric.family == analyzer::MetricFamily::kCollective;
  bool const has_blocks =
      change.unit != analyzer::CompareUnit::kRun && change.unit != analyzer::CompareUnit::kPair;

  bool const is_tested = change.method != analyzer::CompareMethod::kNone;
  auto const tested = [&](double value) {
    return is_tested ? finite(value) : CompareJson(nullptr);
  };

  return {
      {"family", analyzer::to_string(metric.family)},
      {"name", base::printable(metric.name)},
      {"bytes", is_collective ? CompareJson(metric.bytes) : CompareJson(nullptr)},
      {"unit", metric.family == analyzer::MetricFamily::kMemory ? "bytes" : "ns"},
      {"verdict", verdict_word(metric)},
      {"base", finite(change.base_mean)},
      {"new", finite(change.candidate_mean)},
      {"shift", tested(change.shift.estimate)},
      {"low", tested(change.shift.low)},
      {"high", tested(change.shift.high)},
      {"p", tested(change.p)},
      {"adjusted_p", tested(metric.adjusted_p)},
      {"least", finite(metric.least)},
      {"method",
       is_tested ? CompareJson(analyzer::to_string(change.method)) : CompareJson(nullptr)},
      {"value", analyzer::to_string(change.unit)},
      {"base_values", change.base_values},
      {"new_values", change.candidate_values},
      {"steps_per_value", has_blocks ? CompareJson(change.steps_per_value) : CompareJson(nullptr)},
      {"drifts", change.drifts}};
}

CompareJson why_json(Comparison const& comparison) {
  CompareJson parts = CompareJson::array();
  for (size_t i = 0; i < comparison.parts_ns.size(); ++i) {
    auto const part = static_cast<analyzer::ChangePart>(i);
    std::string const reason = change_part_reason(comparison, part);

    parts.push_back({{"part", analyzer::to_string(part)},
                     {"idle", analyzer::is_idle(part)},
                     {"ns", comparison.parts_ns[i]},
                     {"label", change_part_label(part, comparison.parts_ns[i])},
                     {"reason", reason.empty() ? CompareJson(nullptr) : CompareJson(reason)}});
  }

  return {{"change_ns", comparison.candidate.mean_ns - comparison.base.mean_ns}, {"parts", parts}};
}

char const* side_of(analyzer::KernelChange::Where where) {
  switch (where) {
    case analyzer::KernelChange::Where::kNew:
      return "new";
    case analyzer::KernelChange::Where::kVanished:
      return "base";
    case analyzer::KernelChange::Where::kBoth:
      break;
  }
  return "both";
}

CompareJson kernels_compared(Comparison const& comparison) {
  CompareJson kernels = CompareJson::array();
  for (analyzer::KernelChange const& kernel : comparison.kernels) {
    bool const is_on_both = kernel.where == analyzer::KernelChange::Where::kBoth;
    kernels.push_back({{"name", kernel.name.empty() ? CompareJson(nullptr)
                                                    : CompareJson(base::printable(kernel.name))},
                       {"in", side_of(kernel.where)},
                       {"base_calls", finite(kernel.base_calls)},
                       {"new_calls", finite(kernel.candidate_calls)},
                       {"base_ns", finite(kernel.base_ns)},
                       {"new_ns", finite(kernel.candidate_ns)},
                       {"speed_ns", is_on_both ? finite(kernel.speed_ns) : CompareJson(nullptr)},
                       {"calls_ns", is_on_both ? finite(kernel.calls_ns) : CompareJson(nullptr)}});
  }

  return kernels;
}

CompareJson hosts_compared(Comparison const& comparison) {
  CompareJson ops = CompareJson::array();
  for (analyzer::HostOpChange const& op : comparison.host_ops)
    ops.push_back({{"cause", analyzer::to_string(op.cause)},
                   {"host_op", base::printable(op.name)},
                   {"base_ns", finite(op.base_ns)},
                   {"new_ns", finite(op.candidate_ns)}});
  return ops;
}

CompareJson late_compared(Comparison const& comparison) {
  CompareJson rows = CompareJson::array();

  for (analyzer::LateChange const& late : comparison.late)
    rows.push_back({{"rank", late.rank},
                    {"device", late.device},
                    {"cause", late.cause},
                    {"host_op", late.host_op.empty() ? CompareJson(nullptr)
                                                     : CompareJson(base::printable(late.host_op))},
                    {"base_ns", finite(late.base_ns)},
                    {"new_ns", finite(late.candidate_ns)}});

  return rows;
}

CompareJson ranges_compared(Comparison const& comparison) {
  CompareJson rows = CompareJson::array();
  for (analyzer::RangeChange const& range : comparison.ranges)
    rows.push_back({{"name", base::printable(range.name)},
                    {"waits", range.waits},
                    {"base_ns", finite(range.base_ns)},
                    {"new_ns", finite(range.candidate_ns)}});
  return rows;
}

CompareJson findings_compared(Comparison const& comparison) {
  auto const side = [](analyzer::FindingChange::Side const& found) -> CompareJson {
    if (found.runs == 0) return nullptr;
    return {{"runs", found.runs},
            {"severity", analyzer::to_string(found.severity)},
            {"cost_ns_per_step", found.cost_ns ? finite(*found.cost_ns) : CompareJson(nullptr)},
            {"gain_alone", found.gain ? finite(*found.gain) : CompareJson(nullptr)}};
  };

  CompareJson rows = CompareJson::array();
  for (analyzer::FindingChange const& change : comparison.findings)
    rows.push_back(
        {{"rule", change.rule}, {"base", side(change.base)}, {"new", side(change.candidate)}});
  return rows;
}

bool has_ns(analyzer::Caveat caveat) {
  return caveat == analyzer::Caveat::kOutliers || caveat == analyzer::Caveat::kInTurn;
}

}  // namespace

std::string comparison_json(Comparison const& comparison) {
  CompareJson metrics = CompareJson::array(), caveats = CompareJson::array();
  for (analyzer::Metric const& metric : comparison.metrics) metrics.push_back(metric_json(metric));
  for (analyzer::CaveatStats const& caveat : comparison.caveats)
    caveats.push_back({{"caveat", analyzer::to_string(caveat.caveat)},
                       {"ns", has_ns(caveat.caveat) ? finite(caveat.ns) : CompareJson(nullptr)}});

  CompareJson const document = {{"schema", 2},
                                {"verdict", verdict_word(comparison.verdict)},
                                {"headline", headline(comparison)},
                                {"least_share", finite(comparison.least_share)},
                                {"base", side_json(comparison.base)},
                                {"new", side_json(comparison.candidate)},
                                {"differences", differences_json(comparison)},
                                {"why", why_json(comparison)},
                                {"metrics", metrics},
                                {"kernels", kernels_compared(comparison)},
                                {"host_ops", hosts_compared(comparison)},
                                {"late", late_compared(comparison)},
                                {"ranges", ranges_compared(comparison)},
                                {"findings", findings_compared(comparison)},
                                {"caveats", caveats},
                                {"notes", comparison_notes(comparison)}};

  return document.dump(1, ' ', false, CompareJson::error_handler_t::replace) + "\n";
}

}  // namespace stepscope::reports
