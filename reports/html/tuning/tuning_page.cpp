#include "reports/html/tuning/tuning_page.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "reports/html/bars.h"
#include "reports/html/document.h"
#include "reports/html/escape.h"
#include "reports/html/page.h"
#include "reports/html/table.h"
#include "reports/html/tuning/scatter.h"
#include "reports/words/labels.h"
#include "reports/words/language.h"
#include "reports/words/runs/tuning_words.h"
#include "trace/base/format.h"
#include "tune/overview.h"

namespace stepscope::reports {
namespace {

using tune::Study;
using tune::StudyAnswer;
using tune::StudyOutcome;
using tune::Trial;
using tune::TrialKind;
using tune::TrialVerdict;

constexpr size_t kMostCommandBytes = 20'000;

/// Whether it is more than a plan: a pair was made, or it is over.
bool has_begun(Trial const& trial) {
  return trial.verdict != TrialVerdict::kRunning || !trial.pairs.empty();
}

Cell saving_cell(std::optional<tune::Saving> const& saving) {
  return saving ? number_cell(saving_with_interval(*saving), saving->saving) : none_cell();
}
Cell seconds_cell(double seconds) { return number_cell(seconds_text(seconds), seconds); }

std::string sentence(std::string_view text) { return text.empty() ? "" : paragraph(text); }

std::string noise_tiles(Study const& study) {
  auto const noise = study.noise();
  if (!noise) return {};
  size_t const needed = tune::needed_pairs(*noise, study.options().rule);
  std::string const shown_saving = percent_of(2 * study.options().rule.min_effect);

  return key_tile(percent_of(noise->sigma), "noise: equal runs differ by",
                  "Standard deviation of the logarithm of base / candidate, over pairs of equal "
                  "settings and about the means of all others") +
         key_tile(needed == 0 ? fmt::format("> {}", study.options().rule.most_pairs)
                              : fmt::format("{}", needed),
                  tr("pairs show a saving of {}", shown_saving),
                  "Pairs after which the half 95 % interval is the smallest saving that counts");
}

std::string answer_tiles(Study const& study) {
  StudyAnswer const answer = study.answer();
  std::string tiles;
  if (answer.saving)
    tiles += key_tile(percent_of(answer.saving->saving), "saved, by new pairs",
                      tr("95 % interval: {}", saving_with_interval(*answer.saving)));
  tiles += noise_tiles(study);

  tiles += key_tile(seconds_text(study.spent_s()),
                    tr("used of {}", seconds_text(study.options().time_s)),
                    "Sum over the trials of what their programs took");
  if (auto const cost = tune::default_cost_ns(study))
    tiles += key_tile(base::format_duration(std::llround(std::min(*cost, 1e18))),
                      study.space().samples ? "a sample of the default" : "step of the default",
                      "Mean over the noise trial's runs");
  return fmt::format("<div class=\"tiles\">{}</div>\n", tiles);
}

std::string tuning_verdict(TuningSearch const& search) {
  Study const& study = search.study;
  StudyAnswer const answer = study.answer();
  std::string body = fmt::format("<p class=\"verdict\">{}</p>\n",
                                 escape(with_joined_units(tuning_headline(study)), 4000));
  bool const is_better = answer.best != tune::default_settings(study.space());
  if (is_better && answer.outcome != StudyOutcome::kNotConfirmed)
    body += fmt::format("<pre class=\"command\"><code>{}</code></pre>\n",
                        escape_exactly(search.command, kMostCommandBytes));

  body += answer_tiles(study) + sentence(found_more_text(study)) +
          sentence(further_pairs_text(answer)) + sentence(further_pairs_default(answer)) +
          sentence(further_pairs_end(answer)) + sentence(tuning_counts(study)) +
          sentence(next_step_text(study, search.folder));
  return section("summary", "Verdict", body);
}

ScatterPoint point_of(Study const& study, Trial const& trial) {
  ScatterPoint point;
  point.mark = fmt::format("{}", trial.number);
  point.label = tr("Trial {}, {}: predicted {}, measured {}, {}", trial.number,
                   trial_settings(study, trial), saving_with_interval(*trial.predicted),
                   saving_with_interval(*trial.measured), trial_verdict_label(trial.verdict));
  point.x = {trial.predicted->saving, trial.predicted->low, trial.predicted->high};
  point.y = {trial.measured->saving, trial.measured->low, trial.measured->high};
  point.is_filled = trial.verdict == TrialVerdict::kAccepted;
  return point;
}

std::string calibration_table(Study const& study) {
  Table table("calibration-table", "Predictions by kind of knob");
  table.text("Kind of knob", "What the knob means to the replay")
      .number("Settings", "Settings that were predicted and measured")
      .number("Predicted", "Mean predicted saving")
      .number("Measured", "Mean measured saving")
      .number("Trust", "Measured / predicted, as if 10 % had been predicted and measured before");

  for (tune::MeaningCalibration const& row : tune::calibrations(study))
    table.row({name_cell(row.meaning), count_cell(row.settings),
               number_cell(percent_of(row.predicted), row.predicted),
               number_cell(percent_of(row.measured), row.measured),
               number_cell(fmt::format("{:.2f}", row.trust), row.trust)});
  return subheading("Predictions by kind of knob") + table.html();
}

std::string predictions_section(TuningSearch const& search) {
  Study const& study = search.study;
  std::string const why_not =
      search.unpredicted.empty()
          ? std::string()
          : paragraph(tr("No replay predicts: {}", shown(search.unpredicted, 1000)));
  std::vector<ScatterPoint> points;
  size_t unpredicted = 0;
  for (Trial const& trial : study.trials()) {
    if (trial.kind != TrialKind::kCandidate || !trial.measured) continue;
    if (trial.predicted) points.push_back(point_of(study, trial));
    unpredicted += trial.predicted ? 0 : 1;
  }

  std::string const picture = html_scatter("Predicted against measured savings", "Predicted saving",
                                           "Measured saving", points);
  if (picture.empty())
    return section("predictions", "Predictions",
                   why_not + empty_note("No setting has been both predicted and measured."));
  std::string body = picture;
  body += note(
      "A number is that of the trial. Lines are intervals: 95 % of what was measured, the range of "
      "the prediction. On the dashed line a prediction is exact. Filled points were accepted.");
  if (unpredicted > 0)
    body += paragraph(
        tr("Measured without a prediction, so not drawn: {}.", counted(unpredicted, "setting")));
  return section("predictions", "Predictions", body + why_not + calibration_table(study));
}

/// The answer's row: what new pairs say of all accepted settings together.
std::string confirmed_row(StudyAnswer const& answer) {
  if (!answer.saving) return {};
  double const left = 1 - answer.saving->saving;
  return waterfall_row(tr("all together, by new pairs"), left, left,
                       "−" + saving_with_interval(*answer.saving));
}

std::string sequence_section(Study const& study) {
  auto const moves = tune::accepted_moves(study);
  if (moves.empty())
    return section("sequence", "Accepted settings",
                   empty_note("No setting has been accepted: the default stays."));

  std::string rows = waterfall_row(tr("the default"), 1, 1);
  for (tune::AcceptedMove const& move : moves) {
    Trial const& trial = study.trials()[move.trial];
    rows += waterfall_row(trial_settings(study, trial), move.before, move.after,
                          "−" + saving_with_interval(*trial.measured));
  }

  rows += confirmed_row(study.answer());
  return section("sequence", "Accepted settings",
                 waterfall("From the default to the best settings",
                           study.space().samples ? tr("time per sample with") : tr("step with"),
                           "what is left", "change", rows) +
                     note("Each setting was measured against those above it. What is left is a "
                          "share of the default. The last row is the answer: earlier savings are "
                          "those of settings that were chosen because they did well."));
}

std::string trials_section(Study const& study) {
  Table table("trials-table", "All trials");
  table.number("Trial").text("Kind").text("Turned", "Knobs that differ from the base");
  table.text("From", "The base: settings before it").if_known();
  table.number("Predicted", "Saving by replay, with its range").if_known();
  table.number("Measured", "Saving by pairs of runs, with its 95 % interval").if_known();
  table.number("Pairs").number("p").if_known();
  table.text("Verdict").text("Why").number("Time");

  size_t begun = 0;
  tune::Settings const of_default = tune::default_settings(study.space());
  for (Trial const& trial : study.trials()) {
    if (!has_begun(trial) || ++begun > kMaxTableRows) continue;
    bool const is_of_move =
        trial.kind == TrialKind::kCandidate || trial.kind == TrialKind::kScreening;
    bool const has_base = is_of_move && trial.base != of_default;
    bool const is_judged =
        trial.measured && trial.kind != TrialKind::kNoise && trial.pairs.size() > 1;
    table.row({count_cell(trial.number), text_cell(trial_kind_label(trial.kind)),
               name_cell(trial_settings(study, trial)),
               has_base ? name_cell(tune::changed_text(study.space(), trial.base, of_default))
                        : none_cell(),
               saving_cell(trial.predicted), saving_cell(trial.measured),
               count_cell(trial.pairs.size()),
               is_judged ? number_cell(fmt::format("{:.2g}", trial.p), trial.p) : none_cell(),
               text_cell(trial_verdict_label(trial.verdict)),
               prose_cell(trial_reason(study, trial)), seconds_cell(trial.seconds)});
  }

  if (begun == 0)
    return section("trials", "Trials", empty_note("Nothing has been measured so far."));
  table.searchable();
  table.filter_by(8);
  std::string body = table.html();
  if (begun > kMaxTableRows)
    body += note(tr("… and {} more trials: trials.jsonl has all.", begun - kMaxTableRows));
  std::string_view const how = tr(
      "Saving = 1 − cost of the candidate / cost of the base, over pairs of runs that were made "
      "in turn. A setting is accepted if p < 0.002 and the whole interval is beyond the smallest "
      "saving that counts.");
  return section("trials", "Trials", body + how_computed(how));
}

std::string_view untried_reason(tune::UntriedReason reason) {
  switch (reason) {
    case tune::UntriedReason::kTakenBack:
      return tr("It would undo an accepted setting.");
    case tune::UntriedReason::kScreenedOut:
      return tr("Others saved more in short pairs, and its turn did not come within the time.");
    case tune::UntriedReason::kNoise:
      return tr("Equal runs differ too much to show what it saves.");
    case tune::UntriedReason::kTime:
      break;
  }
  return tr("Its turn did not come within the time (--time).");
}

std::string untried_section(Study const& study) {
  std::vector<tune::UntriedSetting> const untried = study.untried();
  if (untried.empty()) return {};
  Table table("untried-table", "Settings that were not tried");
  table.text("Turned", "Knobs that differ from the best settings").number("Predicted").if_known();
  table.text("Why not");

  tune::Settings const best = study.best();
  for (tune::UntriedSetting const& setting : untried) {
    if (table.size() == kMaxTableRows) break;
    table.row({name_cell(tune::changed_text(study.space(), setting.settings, best)),
               saving_cell(setting.prediction.saving), prose_cell(untried_reason(setting.reason))});
  }

  std::string body = table.html();
  if (untried.size() > table.size())
    body += note(tr("… and {} more settings.", untried.size() - table.size()));
  return section("untried", "Not tried", body);
}

std::string knobs_table(Study const& study) {
  Table table("knobs-table", "Knobs of the search");
  table.text("Knob").text("Default").text("Best").text("Values");
  table.text("Means", "What the knob means to the replay; none: only measured").if_known();
  table.text("Changes results");

  tune::Settings const best = study.best();
  for (size_t k = 0; k < study.space().knobs.size(); ++k) {
    tune::Knob const& knob = study.space().knobs[k];
    std::string values;
    for (std::string const& value : knob.values)
      values += (values.empty() ? "" : ", ") + (value.empty() ? "\"\"" : value);
    table.row({name_cell(knob.name), name_cell(knob.default_value), name_cell(best[k]),
               name_cell(values),
               knob.meaning == nullptr ? none_cell() : name_cell(knob.meaning->name),
               text_cell(knob.changes_numerics ? tr("yes") : tr("no"))});
  }
  return table.html();
}

std::string condition_list(std::string_view title,
                           std::vector<tune::Expression> const& conditions) {
  if (conditions.empty()) return {};
  std::string items;
  for (tune::Expression const& condition : conditions)
    items += fmt::format("<li><code>{}</code></li>", escape(condition.text(), 1000));
  return subheading(title) + fmt::format("<ul>{}</ul>\n", items);
}

std::string search_section(Study const& study) {
  tune::DecisionRule const& rule = study.options().rule;
  size_t pairs = 0;
  bool is_in_turn = true;
  for (Trial const& trial : study.trials()) {
    pairs += trial.pairs.size();
    is_in_turn = is_in_turn && trial.is_interleaved;
  }

  auto const fact = [](std::string_view label, std::string_view value) {
    return fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", escape(tr(label)), escape(value));
  };
  std::string facts = fact("smallest saving that counts", percent_of(rule.min_effect));
  facts += fact("most pairs of a candidate", fmt::format("{}", rule.most_pairs));
  facts += fact("pairs of runs", fmt::format("{}", pairs));
  facts += fact("runs of a pair", is_in_turn ? tr("in turn") : tr("one after the other"));
  facts += fact("settings that change results",
                study.options().allows_numerics ? tr("taken") : tr("only proposed"));

  return section("search", "Search",
                 fmt::format("<dl class=\"facts\">{}</dl>\n", facts) + knobs_table(study) +
                     condition_list("Requirements", study.space().requirements) +
                     condition_list("Restrictions", study.space().restrictions));
}

}  // namespace

std::string tuning_html(TuningSearch const& search, ReportOptions const& options) {
  ScopedLanguage const spoken(options.language);
  Document document;
  document.title = options.title.empty() ? tr("Tuning") : std::string_view(options.title);
  document.version = options.version;

  Study const& study = search.study;
  document.sections = {{"summary", "Verdict", tuning_verdict(search)},
                       {"predictions", "Predictions", predictions_section(search)},
                       {"sequence", "Accepted settings", sequence_section(study)},
                       {"trials", "Trials", trials_section(study)},
                       {"untried", "Not tried", untried_section(study)},
                       {"search", "Search", search_section(study)}};

  document.footer =
      "docs/guide/TUNE.md and docs/reference/DEFINITIONS.md define the numbers. "
      "Savings are shares of the default's step or time per sample.";
  document.data = "{\"tuning\":true}";
  return html_document(document);
}

}  // namespace stepscope::reports
