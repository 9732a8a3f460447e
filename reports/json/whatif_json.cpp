#include "reports/json/whatif_json.h"

#include <cmath>

#include <nlohmann/json.hpp>

#include "reports/words/whatif_words.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

using WhatIfJson = nlohmann::ordered_json;
using analyzer::WhatIfAnswer;

/// JSON has no NaN and no infinity, and a refused answer has no numbers: both are null.
WhatIfJson number_if(bool exists, double value) {
  return exists && std::isfinite(value) ? WhatIfJson(value) : WhatIfJson(nullptr);
}

WhatIfJson whatif_text_or_null(std::string const& text) {
  return text.empty() ? WhatIfJson(nullptr) : WhatIfJson(base::printable(text));
}

WhatIfJson reason_json(bool is_refused, std::string const& reason) {
  return is_refused ? WhatIfJson(base::printable(reason)) : WhatIfJson(nullptr);
}

WhatIfJson split_by_class(analyzer::PathSplit const& split) {
  WhatIfJson json = WhatIfJson::object();
  for (size_t i = 0; i < split.size(); ++i)
    json[analyzer::to_string(static_cast<analyzer::PathClass>(i))] = split[i];
  return json;
}

WhatIfJson baseline_json(analyzer::ReplayBaseline const& baseline) {
  WhatIfJson residuals = WhatIfJson::array();
  for (analyzer::ReplayResidual const& residual : baseline.residuals)
    residuals.push_back({{"name", base::printable(residual.name)},
                         {"class", analyzer::to_string(residual.path_class)},
                         {"ns_per_step", residual.ns},
                         {"count", residual.count}});

  WhatIfJson cautions = WhatIfJson::array();
  for (std::string const& caution : replay_cautions(baseline)) cautions.push_back(caution);
  bool const has_step = baseline.step_ns > 0;
  bool const is_replayed = has_step && baseline.replayed_step_ns > 0;

  return {{"step_ns", number_if(has_step, baseline.step_ns)},
          {"replayed_step_ns", number_if(is_replayed, baseline.replayed_step_ns)},
          {"error", number_if(is_replayed, baseline.error)},
          {"refused", baseline.is_refused},
          {"reason", reason_json(baseline.is_refused, baseline.reason)},
          {"spread", number_if(has_step, baseline.spread)},
          {"steps", baseline.steps},
          {"part", baseline.is_part},
          {"residuals", residuals},
          {"cautions", cautions}};
}

WhatIfJson next_json(WhatIfAnswer const& answer) {
  if (answer.is_refused) return nullptr;
  return {{"class", analyzer::to_string(answer.next_class)},
          {"name", whatif_text_or_null(answer.next)}};
}

WhatIfJson fix_json(analyzer::Analysis const& analysis, analyzer::WhatIfFix const& fix) {
  bool const is_known = fix.finding < analysis.findings.size();
  analyzer::Finding const* const finding = is_known ? &analysis.findings[fix.finding] : nullptr;
  WhatIfAnswer const& alone = fix.alone;
  bool const is_predicted = !alone.is_refused;
  bool const is_in_sequence = fix.in_sequence && !fix.in_sequence->is_refused;

  return {
      {"finding", finding != nullptr ? WhatIfJson(base::printable(finding->rule)) : nullptr},
      {"severity",
       finding != nullptr ? WhatIfJson(analyzer::to_string(finding->severity)) : nullptr},
      {"change", whatif_text_or_null(alone.change)},
      {"refused", alone.is_refused},
      {"reason", reason_json(alone.is_refused, alone.reason)},
      {"step_ns", number_if(is_predicted, alone.step_ns)},
      {"low_ns", number_if(is_predicted && has_interval(alone), alone.low_ns)},
      {"high_ns", number_if(is_predicted && has_interval(alone), alone.high_ns)},
      {"gain_alone", number_if(is_predicted, alone.gain)},
      {"gain_after_above", number_if(is_in_sequence, is_in_sequence ? fix.in_sequence->gain : 0)},
      {"next", next_json(is_in_sequence ? *fix.in_sequence : alone)}};
}

WhatIfJson answer_json(WhatIfAnswer const& answer) {
  bool const is_predicted = !answer.is_refused;
  WhatIfJson cautions = WhatIfJson::array();
  for (std::string const& caution : answer.cautions) cautions.push_back(base::printable(caution));

  return {{"change", base::printable(answer.change)},
          {"step_ns", number_if(is_predicted, answer.step_ns)},
          {"low_ns", number_if(is_predicted && has_interval(answer), answer.low_ns)},
          {"high_ns", number_if(is_predicted && has_interval(answer), answer.high_ns)},
          {"gain", number_if(is_predicted, answer.gain)},
          {"refused", answer.is_refused},
          {"reason", reason_json(answer.is_refused, answer.reason)},
          {"changed", is_predicted ? WhatIfJson(answer.changed) : WhatIfJson(nullptr)},
          {"path", is_predicted ? split_by_class(answer.path) : WhatIfJson(nullptr)},
          {"next", next_json(answer)},
          {"cautions", cautions}};
}

}  // namespace

std::string whatif_json(analyzer::Analysis const& analysis, analyzer::WhatIfStats const& stats) {
  WhatIfJson fixes = WhatIfJson::array(), answers = WhatIfJson::array();
  for (analyzer::WhatIfFix const& fix : stats.fixes) fixes.push_back(fix_json(analysis, fix));
  for (WhatIfAnswer const& answer : stats.answers) answers.push_back(answer_json(answer));

  WhatIfJson const document = {{"schema", 1},
                               {"headline", whatif_headline(analysis, stats)},
                               {"baseline", baseline_json(stats.baseline)},
                               {"path", split_by_class(stats.path)},
                               {"fixes", fixes},
                               {"answers", answers}};
  return document.dump(1, ' ', false, WhatIfJson::error_handler_t::replace) + "\n";
}

}  // namespace stepscope::reports
