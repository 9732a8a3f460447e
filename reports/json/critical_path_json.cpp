#include "reports/json/critical_path_json.h"

#include "reports/words/labels.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

using PathJson = nlohmann::ordered_json;

PathJson path_split_json(analyzer::PathSplit const& split) {
  PathJson json = PathJson::object();
  for (int i = 0; i < analyzer::kPathClassCount; ++i)
    json[analyzer::to_string(static_cast<analyzer::PathClass>(i))] = split[static_cast<size_t>(i)];
  return json;
}

PathJson path_name_json(std::optional<std::string> const& name) {
  return name ? PathJson(base::printable(*name)) : PathJson(nullptr);
}

PathJson slack_json(analyzer::PathSlack const& slack) {
  return {{"class", analyzer::to_string(slack.path_class)},
          {"name", path_name_json(slack.name)},
          {"ops", slack.ops},
          {"total_ns", slack.total_ns},
          {"nearly_critical_ns", slack.nearly_critical_ns},
          {"min_slack_ns", slack.min_ns},
          {"median_slack_ns", slack.median_ns}};
}

PathJson slacks_json(std::vector<analyzer::PathSlack> const& slacks) {
  PathJson json = PathJson::array();
  for (analyzer::PathSlack const& slack : slacks) json.push_back(slack_json(slack));
  return json;
}

}  // namespace

nlohmann::ordered_json critical_path_json(model::Run const& run,
                                          analyzer::Analysis const& analysis) {
  if (!analysis.critical_path) return nullptr;
  analyzer::CriticalPathStats const& path = *analysis.critical_path;

  PathJson places = PathJson::array(), contributors = PathJson::array(), steps = PathJson::array();
  for (analyzer::PathPlace const& place : path.places)
    places.push_back({{"rank", rank_of(run, {place.rank_index, 0})},
                      {"device", place.device ? PathJson(*place.device) : PathJson(nullptr)},
                      {"ns", path_split_json(place.by_class)}});

  for (analyzer::PathContributor const& contributor : path.contributors)
    contributors.push_back({{"class", analyzer::to_string(contributor.path_class)},
                            {"name", path_name_json(contributor.name)},
                            {"ns", contributor.ns},
                            {"count", contributor.count},
                            {"share", contributor.share}});

  for (analyzer::PathStep const& step : path.steps)
    steps.push_back({{"step", step.step},
                     {"rank", rank_of(run, {step.rank_index, 0})},
                     {"ns", path_split_json(step.by_class)}});

  return {{"begin_ns", path.window.begin},
          {"dur_ns", path.window.length()},
          {"ns", path_split_json(path.by_class)},
          {"places", places},
          {"contributors", contributors},
          {"steps", steps},
          {"ops", path.ops},
          {"guessed_waits", path.guessed_waits},
          {"jumps", path.jumps},
          {"clock_disagreement_ns", path.clock_disagreement_ns},
          {"clock_filled_ns", path.clock_filled_ns},
          {"clock_cut_ns", path.clock_cut_ns},
          {"slack",
           {{"nearly_critical_below_ns", path.nearly_critical_below_ns},
            {"exact", path.is_slack_exact},
            {"classes", slacks_json(path.slack_by_class)},
            {"names", slacks_json(path.slack_by_name)}}}};
}

}  // namespace stepscope::reports
