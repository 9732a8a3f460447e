// A bundled workload as a space: its knobs are those of workloads/tuning/knobs.cpp.
#include <algorithm>
#include <cmath>

#include "cli/command.h"
#include "cli/commands/capture/tune_plan.h"
#include "trace/base/format.h"
#include "workloads/tuning/knobs.h"
#include "workloads/workload.h"

namespace stepscope::cli {
namespace {

using workloads::TuningKnob;

/// Takes what sets a knob out of the options; the last one counts.
base::Expected<std::string> take_value(TuningKnob const& knob, std::vector<std::string>& options) {
  std::string value = knob.default_value;
  std::vector<std::string> others;

  for (size_t i = 0; i < options.size(); ++i) {
    std::string const& word = options[i];
    bool const has_option = knob.option != nullptr;
    if (has_option && word == knob.option) {
      if (i + 1 == options.size()) return base::fail("{}: needs a value", word);
      value = options[++i];
    } else if (has_option && word.starts_with(std::string(knob.option) + "=")) {
      value = word.substr(std::string(knob.option).size() + 1);
    } else if (!has_option && !word.empty() && (word == knob.on_flag || word == knob.off_flag)) {
      value = word == knob.on_flag ? "on" : "off";
    } else {
      others.push_back(word);
    }
  }

  options = std::move(others);
  return value;
}

/// Writes {steps} for the number of steps, so that short runs have fewer.
void take_steps(std::vector<std::string>& options, tune::Space& space) {
  constexpr std::string_view kOption = "--steps";
  for (size_t i = 0; i < options.size(); ++i) {
    bool const is_apart = options[i] == kOption && i + 1 < options.size();
    bool const is_joined = options[i].starts_with("--steps=");
    if (!is_apart && !is_joined) continue;

    std::string const text = is_apart ? options[i + 1] : options[i].substr(kOption.size() + 1);
    auto const number = tune::value_of(text);
    auto const* const steps = std::get_if<double>(&number);
    if (steps == nullptr || *steps < 1 || *steps > 1e9 || *steps != std::floor(*steps)) continue;
    space.steps = static_cast<int64_t>(*steps);
    if (is_apart) options.erase(options.begin() + static_cast<ptrdiff_t>(i) + 1);
    options[i] = "--steps={steps}";
  }
}

bool is_on_cuda(std::vector<std::string> const& options) {
  for (size_t i = 0; i < options.size(); ++i) {
    if (options[i].starts_with("--device=cuda")) return true;
    if (options[i] == "--device" && i + 1 < options.size() && options[i + 1].starts_with("cuda"))
      return true;
  }
  return false;
}

tune::Knob knob_of(TuningKnob const& row, std::string const& value) {
  tune::Knob knob;
  knob.name = row.name;
  knob.default_value = value;
  knob.values.assign(row.values.begin(), row.values.end());
  if (std::find(knob.values.begin(), knob.values.end(), value) == knob.values.end())
    knob.values.push_back(value);

  knob.meaning = tune::find_meaning(row.means);
  knob.changes_numerics = row.changes_numerics;
  if (row.option == nullptr) knob.words = {{"on", row.on_flag}, {"off", row.off_flag}};
  return knob;
}

base::Expected<void> explain_no_knobs(std::string const& workload) {
  std::string known;
  bool is_known = false;
  for (workloads::Workload const& each : workloads::workloads()) {
    is_known = is_known || workload == each.name;
    if (!workloads::tuning_knobs(each.name).empty())
      known += fmt::format("{}{}", known.empty() ? "" : ", ", each.name);
  }

  return base::fail("{}: {}; choose {}, or name a space with --space",
                    base::printable(base::valid_utf8(workload, 200)),
                    is_known ? "has nothing to tune" : "is neither a workload nor a search", known);
}

/// "  loader-threads   1, 2, 4, 8": values, the default first.
std::string knob_line(TuningKnob const& knob) {
  std::string values = knob.default_value;
  for (std::string_view const value : knob.values)
    if (value != knob.default_value) values += fmt::format(", {}", value);

  std::string text = fmt::format("  {:<16} {}", knob.name, values);
  if (knob.needs_cuda)
    text += knob.changes_numerics ? " (on a GPU, with --allow-numerics)" : " (on a GPU)";
  return text + "\n";
}

}  // namespace

std::string workload_knobs_text() {
  std::string names, knobs;
  for (workloads::Workload const& each : workloads::workloads()) {
    auto const rows = workloads::tuning_knobs(each.name);
    if (rows.empty()) continue;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", each.name);
    if (!knobs.empty()) continue;  // one table for all
    for (TuningKnob const& row : rows) knobs += knob_line(row);
  }
  return fmt::format("Knobs of {}, the default first:\n{}", names, knobs);
}

base::Expected<void> plan_workload(TunePlan& plan) {
  auto const rows = workloads::tuning_knobs(plan.workload);
  if (rows.empty()) return explain_no_knobs(plan.workload);

  std::vector<std::string> options = plan.arguments;
  std::vector<std::string> of_knobs;
  for (TuningKnob const& row : rows) {
    auto const value = take_value(row, options);
    if (!value) return base::fail_with(value);
    tune::Knob knob = knob_of(row, *value);
    std::string const place = "{" + knob.name + "}";
    of_knobs.push_back(row.option == nullptr ? place : fmt::format("{}={}", row.option, place));

    // A knob that cannot be turned here keeps the value that was asked for.
    bool const is_fixed = knob.values.size() < 2 || (row.needs_cuda && !is_on_cuda(plan.arguments));
    if (!is_fixed) {
      plan.space.knobs.push_back(std::move(knob));
      continue;
    }
    std::string const word =
        row.option == nullptr ? knob.word_of(*value) : fmt::format("{}={}", row.option, *value);
    of_knobs.pop_back();
    if (!word.empty() && *value != row.default_value) options.push_back(word);
  }

  take_steps(options, plan.space);
  plan.words = {program_folder() + "/stepscope", "run", plan.workload};
  for (char const* const word : workloads::tuning_arguments(plan.workload))
    if (std::find(options.begin(), options.end(), word) == options.end())
      plan.words.emplace_back(word);
  plan.words.insert(plan.words.end(), options.begin(), options.end());
  plan.words.insert(plan.words.end(), of_knobs.begin(), of_knobs.end());
  return {};
}

}  // namespace stepscope::cli
