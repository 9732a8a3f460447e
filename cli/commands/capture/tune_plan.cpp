#include "cli/commands/capture/tune_plan.h"

#include <optional>

#include "gate/json_fields.h"
#include "tune/command_line.h"
#include "tune/space_file.h"
#include "tune/trial_log.h"

namespace stepscope::cli {
namespace {

using gate::Fields;
using gate::WriteJson;

constexpr std::string_view kPlanKind = "stepscope tuning";
constexpr int kPlanSchema = 1;
constexpr size_t kMostPlanBytes = size_t{4} << 20;
constexpr size_t kMostWords = 10'000, kMostWordBytes = 100'000;
constexpr double kMostSeconds = 1e9;

}  // namespace

base::Expected<void> complete_plan(TunePlan& plan, std::string const& path) {
  if (plan.workload.empty()) {
    auto space = tune::parse_space(plan.space_text, path);
    if (!space) return base::fail_with(space);
    plan.space = std::move(*space);
    plan.words = plan.arguments;
  } else if (auto const planned = plan_workload(plan); !planned) {
    return planned;
  }

  if (auto const good = tune::check_space(plan.space); !good) return good;
  return tune::check_template(plan.space, plan.words);
}

tune::StudyOptions study_options(TunePlan const& plan) {
  tune::StudyOptions options;
  options.rule.min_effect = plan.min_effect_percent / 100;
  options.rule.most_pairs = plan.pairs;
  options.time_s = plan.time_s;
  options.allows_numerics = plan.allows_numerics;
  if (auto const steps = tune::short_steps(plan.space))
    options.short_share = static_cast<double>(*steps) / static_cast<double>(*plan.space.steps);
  return options;
}

std::string plan_text(TunePlan const& plan) {
  WriteJson const json = {{"kind", kPlanKind},
                          {"schema", kPlanSchema},
                          {"space", plan.space_text},
                          {"workload", plan.workload},
                          {"arguments", plan.arguments},
                          {"min_effect_percent", plan.min_effect_percent},
                          {"time_s", plan.time_s},
                          {"pairs", plan.pairs},
                          {"allow_numerics", plan.allows_numerics},
                          {"apart", plan.is_apart},
                          {"turn_steps", plan.turn_steps},
                          {"timeout_s", plan.timeout_s}};
  return json.dump(2, ' ', false, WriteJson::error_handler_t::replace) + "\n";
}

base::Expected<TunePlan> parse_plan(std::string_view text, std::string const& path) {
  auto const document = gate::parse_document(text, path, kPlanKind, kPlanSchema, kMostPlanBytes);
  if (!document) return base::fail_with(document);

  std::optional<std::string> error;
  Fields json(*document, {}, error);
  TunePlan plan;
  plan.space_text = json.text("space", tune::kMostSpaceBytes);
  plan.workload = json.text("workload", kMostWordBytes);
  plan.arguments = json.texts("arguments", kMostWords, kMostWordBytes);
  plan.min_effect_percent = json.number("min_effect_percent", 0.1, 99);
  plan.time_s = json.number("time_s", 1, kMostSeconds);

  plan.pairs = static_cast<uint64_t>(json.whole("pairs", tune::kFewestPairs, 1000));
  plan.allows_numerics = json.boolean("allow_numerics");
  plan.is_apart = json.boolean("apart");
  plan.turn_steps = json.whole("turn_steps", 2, 1'000'000);
  plan.timeout_s = json.number("timeout_s", 0, kMostSeconds);
  if (error) return base::fail("{}: {}, restore the file or begin anew", path, *error);

  auto const good = complete_plan(plan, path);
  if (!good) return base::fail_with(good);
  return plan;
}

std::string fingerprint_of_plan(TunePlan const& plan) {
  WriteJson const json = {plan.space_text, plan.workload, plan.arguments};
  return tune::fingerprint_of(json.dump(-1, ' ', false, WriteJson::error_handler_t::replace));
}

}  // namespace stepscope::cli
