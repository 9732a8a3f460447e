#include "reports/json/gate_json.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "reports/json/comparison_json.h"
#include "reports/words/runs/comparison_words.h"
#include "reports/words/runs/gate_words.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

using GateJson = nlohmann::ordered_json;
using analyzer::GateResult;

GateJson gate_number(double value) {
  return std::isfinite(value) ? GateJson(value) : GateJson(nullptr);
}

GateJson gate_text_or_null(std::string const& text) {
  return text.empty() ? GateJson(nullptr) : GateJson(base::printable(text));
}

GateJson budget_json(analyzer::BudgetCheck const& check) {
  auto const bound = [&](double analyzer::MeanInterval::*of) {
    return check.interval ? gate_number((*check.interval).*of) : GateJson(nullptr);
  };
  bool const is_in_file = check.budget.line > 0;

  return {{"fact", check.budget.fact},
          {"bound", analyzer::to_string(check.budget.bound)},
          {"limit", gate_number(check.budget.limit)},
          {"value", check.value ? gate_number(*check.value) : GateJson(nullptr)},
          {"low", bound(&analyzer::MeanInterval::low)},
          {"high", bound(&analyzer::MeanInterval::high)},
          {"file", gate_text_or_null(check.budget.file)},
          {"line", is_in_file ? GateJson(check.budget.line) : GateJson(nullptr)},
          {"column", is_in_file ? GateJson(check.budget.column) : GateJson(nullptr)}};
}

GateJson noise_json(analyzer::Noise const& noise) {
  return {{"deviation", gate_number(noise.deviation)},
          {"sees", gate_number(noise.detectable_change)}};
}

GateJson more_json(analyzer::MoreValues const& more) {
  return {{"count", more.count},
          {"value", analyzer::to_string(more.unit)},
          {"on_both_sides", more.on_both_sides}};
}

GateJson check_json(GateResult const& result, analyzer::GateAnswer const& answer) {
  bool const is_budget = answer.question == analyzer::GateQuestion::kBudget;
  return {{"id", answer_id(result, answer)},
          {"question", analyzer::to_string(answer.question)},
          {"verdict", gate_word(answer.verdict)},
          {"title", answer_title(result, answer)},
          {"summary", answer_summary(result, answer)},
          {"message", answer_message(result, answer)},
          {"metric", is_budget ? GateJson(nullptr) : GateJson(answer.index)},
          {"budget", is_budget ? budget_json(result.budgets[answer.index]) : GateJson(nullptr)},
          {"noise", answer.noise ? noise_json(*answer.noise) : GateJson(nullptr)},
          {"more_values", answer.more ? more_json(*answer.more) : GateJson(nullptr)}};
}

GateJson kept_baseline_json(analyzer::KeptBaseline const& kept) {
  GateJson runs = GateJson::array();
  for (analyzer::KeptRun const& run : kept.runs)
    runs.push_back(
        {{"name", gate_text_or_null(run.name)},
         {"steps", run.steps},
         {"step_ns", gate_number(run.step_ns)},
         {"peak_allocated_bytes",
          run.peak_allocated_bytes ? gate_number(*run.peak_allocated_bytes) : GateJson(nullptr)}});

  return {{"file", base::printable(kept.file)},
          {"written", kept.is_written},
          {"replaced", kept.is_written && kept.replaces},
          {"step_ns", gate_number(kept.step_ns)},
          {"runs", runs},
          {"noise", kept.noise ? noise_json(*kept.noise) : GateJson(nullptr)},
          {"next", kept.is_written ? GateJson(next_command(kept)) : GateJson(nullptr)}};
}

GateJson kept_history_json(analyzer::KeptHistory const& kept) {
  return {{"file", base::printable(kept.file)}, {"added", kept.added}, {"runs", kept.runs}};
}

GateJson history_parts(std::array<double, analyzer::kStepPartCount> const& parts_ns) {
  GateJson parts = GateJson::object();
  for (size_t p = 0; p < parts_ns.size(); ++p)
    parts[analyzer::to_string(static_cast<analyzer::StepPart>(p))] = gate_number(parts_ns[p]);
  return parts;
}

GateJson history_json(analyzer::HistoryStats const& history) {
  GateJson runs = GateJson::array(), changes = GateJson::array();
  for (analyzer::HistoryPoint const& point : history.points)
    runs.push_back({{"label", gate_text_or_null(point.label)},
                    {"device", gate_text_or_null(point.device)},
                    {"step_ns", gate_number(point.step_ns)}});

  for (analyzer::LevelChange const& change : history.changes)
    changes.push_back({{"run", change.at},
                       {"label", gate_text_or_null(history.points[change.at].label)},
                       {"before_ns", gate_number(change.before_ns)},
                       {"after_ns", gate_number(change.after_ns)},
                       {"p", gate_number(change.p)},
                       {"most", analyzer::to_string(change.most)},
                       {"parts_ns", history_parts(change.parts_ns)},
                       {"text", level_change_text(history, change)}});

  return {{"left_out", history.left_out}, {"runs", runs}, {"changes", changes}};
}

}  // namespace

std::string gate_json(GateResult const& result) {
  GateJson checks = GateJson::array();
  for (analyzer::GateAnswer const& answer : result.answers)
    checks.push_back(check_json(result, answer));

  GateJson const document = {
      {"schema", 2},
      {"name", base::printable(result.name)},
      {"verdict", gate_word(result.verdict)},
      {"headline", gate_headline(result)},
      {"other_machine", result.is_other_machine},
      {"checks", checks},
      {"comparison", result.comparison ? GateJson::parse(comparison_json(*result.comparison))
                                       : GateJson(nullptr)},
      {"history", result.history ? history_json(*result.history) : GateJson(nullptr)},
      {"baseline",
       result.kept_baseline ? kept_baseline_json(*result.kept_baseline) : GateJson(nullptr)},
      {"appended",
       result.kept_history ? kept_history_json(*result.kept_history) : GateJson(nullptr)},
      {"notes", gate_notes(result)}};

  return document.dump(1, ' ', false, GateJson::error_handler_t::replace) + "\n";
}

}  // namespace stepscope::reports
