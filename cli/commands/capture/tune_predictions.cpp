// Predictions of candidates: one replay of a recording answers all of them.
#include <algorithm>
#include <cmath>
#include <map>

#include "analyzer/whatif/changes/change.h"
#include "analyzer/whatif/whatif.h"
#include "cli/analyze_and_warn.h"
#include "cli/commands/tune_runs.h"
#include "trace/base/format.h"

namespace stepscope::cli {
namespace {

/// Changes that are made together, as they are written.
using ChangeTexts = std::vector<std::string>;

std::vector<analyzer::WhatIfChange> parsed_changes(ChangeTexts const& texts) {
  std::vector<analyzer::WhatIfChange> changes;
  for (std::string const& text : texts)
    if (auto change = analyzer::parse_change(text)) changes.push_back(std::move(*change));
  return changes;
}

/// Whether a run that has nothing of what is changed would be as it is. Where sizes or launches are
/// not known, that nothing was changed says nothing.
bool is_nothing_without(analyzer::ChangeKind kind) {
  using analyzer::ChangeKind;
  return kind == ChangeKind::kInput || kind == ChangeKind::kAllocation ||
         kind == ChangeKind::kSync || kind == ChangeKind::kCopies || kind == ChangeKind::kOverlap ||
         kind == ChangeKind::kClass;
}

std::optional<tune::Saving> saving_of_answer(analyzer::WhatIfStats const& stats,
                                             analyzer::WhatIfAnswer const& answer,
                                             ChangeTexts const& texts) {
  double const step_ns = stats.baseline.step_ns;
  if (stats.baseline.is_refused || step_ns <= 0) return std::nullopt;
  if (!answer.is_refused && !std::isfinite(answer.low_ns)) return std::nullopt;
  if (!answer.is_refused)
    return tune::Saving{1 - answer.step_ns / step_ns, 1 - answer.high_ns / step_ns,
                        1 - answer.low_ns / step_ns};

  auto const changes = parsed_changes(texts);
  bool const is_nothing =
      answer.selects_nothing && changes.size() == 1 && is_nothing_without(changes.front().kind);
  return is_nothing ? std::optional<tune::Saving>(tune::Saving{}) : std::nullopt;
}

/// Questions without doubles, and the answers by question.
class Questions {
 public:
  void add(ChangeTexts const& texts) {
    if (texts.empty() || places_.contains(texts)) return;
    places_.emplace(texts, question_.changes.size());
    question_.changes.push_back(parsed_changes(texts));
  }
  [[nodiscard]] analyzer::WhatIfQuestion const& question() const { return question_; }
  [[nodiscard]] std::optional<tune::Saving> saving(analyzer::WhatIfStats const& stats,
                                                   ChangeTexts const& texts) const {
    auto const place = places_.find(texts);
    if (place == places_.end() || place->second >= stats.answers.size()) return std::nullopt;
    return saving_of_answer(stats, stats.answers[place->second], texts);
  }

 private:
  std::map<ChangeTexts, size_t> places_;
  analyzer::WhatIfQuestion question_{{}, false, {}};
};

/// An estimate is at most its bound; a bound alone stands for what the move saves at best.
tune::Prediction prediction_of(Questions const& questions, analyzer::WhatIfStats const& stats,
                               tune::Candidate const& candidate) {
  auto estimate = questions.saving(stats, candidate.estimate);
  auto const bound = questions.saving(stats, candidate.bound);
  tune::Prediction prediction;

  if (estimate) {
    prediction.change = fmt::format("{}", fmt::join(candidate.estimate, " + "));
    if (bound) {
      estimate->saving = std::min(estimate->saving, bound->saving);
      estimate->high = std::min(estimate->high, bound->high);
      estimate->low = std::min(estimate->low, estimate->saving);
    }
    prediction.saving = estimate;
  } else if (bound) {
    prediction.change = fmt::format("{}", fmt::join(candidate.bound, " + "));
    prediction.saving = tune::Saving{bound->saving, std::min(bound->low, 0.0), bound->high};
  }
  return prediction;
}

}  // namespace

std::vector<tune::Prediction> predict_candidates(std::string const& run,
                                                 std::vector<tune::Candidate> const& candidates,
                                                 std::string& reason) {
  std::vector<tune::Prediction> predictions(candidates.size());
  Questions questions;
  for (tune::Candidate const& candidate : candidates) {
    questions.add(candidate.estimate);
    questions.add(candidate.bound);
  }

  analyzer::AnalyzeOptions wanted;
  wanted.wants_gains = false;
  auto const analyzed = run_loading::analyze_files({run}, wanted, Reading::kBySize);
  if (!analyzed) {
    reason = analyzed.error().message;
    return predictions;
  }

  auto const stats = analyzed->read ? analyzer::what_if(run_loading::streamed_run_of(*analyzed),
                                                        analyzed->analysis, questions.question())
                                    : base::Expected<analyzer::WhatIfStats>(analyzer::what_if(
                                          analyzed->run, analyzed->analysis, questions.question()));
  if (!stats) {
    reason = stats.error().message;
    return predictions;
  }

  reason = stats->baseline.is_refused ? stats->baseline.reason : "";
  for (size_t i = 0; i < candidates.size(); ++i)
    predictions[i] = prediction_of(questions, *stats, candidates[i]);
  return predictions;
}

}  // namespace stepscope::cli
