// Predictions of candidates: one replay of a recording answers all of them.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "analyzer/whatif/changes/change.h"
#include "analyzer/whatif/whatif.h"
#include "cli/analyze_and_warn.h"
#include "cli/commands/capture/tune_runs.h"
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

/// Errors: those of reading the probe.
base::Expected<void> add_probe(std::string const& run, analyzer::WhatIfQuestion& question) {
  if (run.empty()) return {};
  analyzer::AnalyzeOptions wanted;
  wanted.wants_gains = false;
  auto const analyzed = run_loading::analyze_files({run}, wanted, Reading::kBySize);
  if (!analyzed) return base::fail_with(analyzed);
  question.probe = analyzer::probe_of(analyzed->run, analyzed->analysis);
  return {};
}

base::Expected<analyzer::WhatIfStats> replayed(AnalyzedRun const& analyzed,
                                               analyzer::WhatIfQuestion const& question) {
  bool const is_in_memory = !analyzed.read;
  if (is_in_memory) return analyzer::what_if(analyzed.run, analyzed.analysis, question);
  return analyzer::what_if(run_loading::streamed_run_of(analyzed), analyzed.analysis, question);
}

/// Fills the predictions of candidates that need this probe, or none where it is empty. Returns why
/// nothing is predicted; empty: something is.
std::string predict_by_probe(AnalyzedRun const& analyzed, std::string const& probe,
                             std::vector<tune::Candidate> const& candidates,
                             std::vector<tune::Prediction>& predictions) {
  Questions questions;
  for (tune::Candidate const& candidate : candidates) {
    if (candidate.probe_run != probe) continue;
    questions.add(candidate.estimate);
    questions.add(candidate.bound);
  }

  analyzer::WhatIfQuestion question = questions.question();
  if (auto const added = add_probe(probe, question); !added) return added.error().message;
  auto const stats = replayed(analyzed, question);
  if (!stats) return stats.error().message;
  for (size_t i = 0; i < candidates.size(); ++i)
    if (candidates[i].probe_run == probe)
      predictions[i] = prediction_of(questions, *stats, candidates[i]);
  return stats->baseline.is_refused ? stats->baseline.reason : "";
}

}  // namespace

std::vector<tune::Prediction> predict_candidates(std::string const& run,
                                                 std::vector<tune::Candidate> const& candidates,
                                                 std::string& reason) {
  std::vector<tune::Prediction> predictions(candidates.size());
  analyzer::AnalyzeOptions wanted;
  wanted.wants_gains = false;
  auto const analyzed = run_loading::analyze_files({run}, wanted, Reading::kBySize);
  if (!analyzed) {
    reason = analyzed.error().message;
    return predictions;
  }

  std::set<std::string> probes;
  for (tune::Candidate const& candidate : candidates)
    if (candidate.is_predictable()) probes.insert(candidate.probe_run);
  for (std::string const& probe : probes)
    reason = predict_by_probe(*analyzed, probe, candidates, predictions);
  return predictions;
}

}  // namespace stepscope::cli
