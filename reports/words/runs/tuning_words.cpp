#include "reports/words/runs/tuning_words.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "reports/words/labels.h"
#include "reports/words/language.h"
#include "trace/base/format.h"
#include "trace/base/shell_word.h"

namespace stepscope::reports {
namespace {

using tune::Study;
using tune::StudyAnswer;
using tune::StudyOutcome;
using tune::Trial;
using tune::TrialKind;
using tune::TrialVerdict;

/// What a failed program said may be long.
constexpr size_t kMostReasonBytes = 1000;

/// What is saved of: the objective.
std::string_view objective(Study const& study) {
  return study.space().samples ? tr("the time per sample") : tr("the step");
}

std::string best_text(Study const& study) {
  tune::Settings const of_default = tune::default_settings(study.space());
  return tune::changed_text(study.space(), study.best(), of_default);
}

/// What is known of savings that are large enough to show.
std::string larger_text(Study const& study, tune::StudyAnswer const& answer) {
  if (!answer.promised && answer.measured > 0) return std::string(tr(" No larger one was found."));
  if (!answer.promised)
    return answer.is_predicted ? std::string(tr(" No larger one is predicted.")) : std::string();

  std::string const setting = shown(tune::changed_text(study.space(), answer.promised->settings,
                                                       tune::default_settings(study.space())),
                                    1000);
  std::string const saving = percent_of(answer.promised->saving);
  if (answer.promised->changes_numerics)
    return tr(
        " {} is predicted to save {}, and changes results: a new search with --allow-numerics "
        "tries "
        "it.",
        setting, saving);
  if (!answer.promised->seconds)
    return tr(" {} is predicted to save {}, too little to show.", setting, saving);
  return tr(" {} is predicted to save {}, which takes {} to be found and confirmed.", setting,
            saving, seconds_text(*answer.promised->seconds));
}

std::string too_noisy_text(Study const& study) {
  auto const first = study.first_noise();
  if (!first) return std::string(tr("Too noisy for this budget."));
  tune::StudyAnswer const answer = study.answer();
  tune::DecisionRule const& rule = study.options().rule;
  std::string const sigma = percent_of(first->noise.sigma), least = percent_of(2 * rule.min_effect);
  std::string const larger = larger_text(study, answer);

  if (first->needed > 0)
    return tr("Too little time: equal runs differ by {}, so a saving of {} takes {} to be found "
              "and confirmed, and {} are left.",
              sigma, least, seconds_text(first->seconds), seconds_text(first->left_s)) +
           larger;
  if (answer.lacks_time)
    return tr("Too little time: equal runs differ by {}, and {} pairs do not show a saving of {}.",
              sigma, rule.most_pairs, least) +
           larger;
  return tr("Too noisy: equal runs differ by {}, and {} pairs do not show a saving of {}.", sigma,
            rule.most_pairs, least) +
         larger;
}

std::string open_text(Study const& study) {
  if (study.best() == tune::default_settings(study.space()))
    return std::string(tr("The search is not over: nothing better has been found so far."));
  return tr("The search is not over: so far {} is the best.", shown(best_text(study), 1000));
}

}  // namespace

std::string percent_of(double share) {
  if (!std::isfinite(share)) return "–";
  return fmt::format("{:.1f} %", std::abs(share) < 0.0005 ? 0.0 : share * 100);
}

std::string saving_with_interval(tune::Saving const& saving) {
  if (!std::isfinite(saving.low) || !std::isfinite(saving.high)) return percent_of(saving.saving);
  return fmt::format("{} ({:.1f} … {:.1f} %)", percent_of(saving.saving), saving.low * 100,
                     saving.high * 100);
}

std::string seconds_text(double seconds) {
  return base::format_duration(static_cast<int64_t>(std::clamp(seconds, 0.0, 1e8) * 1e9));
}

std::string tuning_headline(Study const& study) {
  StudyAnswer const answer = study.answer();
  std::string const best = shown(best_text(study), 1000);
  std::string const saving =
      answer.saving ? saving_with_interval(*answer.saving) : std::string(tr("nothing"));

  switch (answer.outcome) {
    case StudyOutcome::kBetter:
      return tr("Set {}: it saves {} of {}, with 95 %, by {} new pairs of runs.", best, saving,
                objective(study), answer.pairs);
    case StudyOutcome::kNothingBetter: {
      size_t const settings = answer.measured + answer.dropped + answer.untried;
      std::string const least = percent_of(study.options().rule.min_effect);
      if (answer.untried == 0)
        return tr("None of {} settings is shown to save {}, with 95 %: keep the default.", settings,
                  least);
      return tr(
          "Nothing better so far: no setting is shown to save {}, with 95 %, and {} of {} were "
          "not tried for lack of time.",
          least, answer.untried, settings);
    }
    case StudyOutcome::kNotConfirmed:
      return tr(
          "Not confirmed: {} saves {} of {} in {} new pairs of runs, which does not show {}: "
          "keep the default.",
          best, saving, objective(study), answer.pairs,
          percent_of(study.options().rule.min_effect));
    case StudyOutcome::kTooNoisy:
      return too_noisy_text(study);
    case StudyOutcome::kFailed:
      return tr("The default settings do not run: {}.", shown(answer.reason, kMostReasonBytes));
    case StudyOutcome::kOpen:
      break;
  }
  return open_text(study);
}

std::string tuning_counts(Study const& study) {
  StudyAnswer const answer = study.answer();
  size_t const measured = answer.measured, untried = study.untried().size();
  if (measured + answer.dropped + untried == 0) return {};
  return tr(
      "Settings measured: {}; dropped because a replay predicts too little: {}; not tried: {}.",
      measured, answer.dropped, untried);
}

std::string further_pairs_text(StudyAnswer const& answer) {
  if (!answer.further || answer.further->pairs == 0) return {};
  std::string const mean = saving_with_interval(answer.further->saving);
  if (answer.further->is_inside)
    return tr("{} further pairs save {}: their mean is inside the interval of the answer.",
              answer.further->pairs, mean);
  return tr("{} further pairs save {}: their mean is outside the interval of the answer.",
            answer.further->pairs, mean);
}

std::string found_more_text(Study const& study) {
  StudyAnswer const answer = study.answer();
  if (!answer.saving) return {};

  double least_left = 1;
  for (tune::Trial const& trial : study.trials()) {
    bool const is_accepted = trial.kind == TrialKind::kCandidate &&
                             trial.verdict == TrialVerdict::kAccepted && trial.measured;
    if (is_accepted) least_left *= 1 - trial.measured->low;
  }
  if (1 - least_left <= answer.saving->high) return {};
  return tr(
      "The pairs that found it showed {} and more: they were chosen for being good, or the machine "
      "was busier then. The new pairs count.",
      percent_of(1 - least_left));
}

std::string further_pairs_default(StudyAnswer const& answer) {
  if (!answer.further || answer.further->pairs == 0 || answer.further->is_inside) return {};
  auto const cost = [](double ns) {
    return base::format_duration(std::llround(std::min(ns, 1e18)));
  };
  return tr("The default settings took {} in the pairs of the answer and {} in the further ones.",
            cost(answer.further->default_before_ns), cost(answer.further->default_ns));
}

std::string further_pairs_end(StudyAnswer const& answer) {
  bool const is_ended = answer.further && (answer.further->verdict == TrialVerdict::kFailed ||
                                           answer.further->verdict == TrialVerdict::kRequirement);
  if (!is_ended) return {};
  return tr("The further pairs ended early: {}.", shown(answer.further->reason, kMostReasonBytes));
}

std::string next_step_text(Study const& study, std::string_view folder) {
  std::string const path = base::shell_word(std::string(folder));
  StudyAnswer const answer = study.answer();
  auto const minutes_of = [&](double seconds) {
    double const enough_s = std::max(study.options().time_s, seconds);
    return static_cast<int64_t>(std::ceil(std::min(enough_s, 1e9) / 60));
  };
  int64_t const minutes = minutes_of(study.enough_s());

  if (answer.outcome == StudyOutcome::kOpen) return tr("Go on: stepscope tune {} --resume", path);
  if (answer.outcome == StudyOutcome::kNothingBetter && answer.untried > 0)
    return tr("Try the others: stepscope tune {} --resume --time {}m", path, minutes);
  if (answer.lacks_time) {
    int64_t const for_one = minutes_of(study.enough_for_one_s());
    auto const first = study.first_noise();
    if (for_one == minutes || !first || first->needed == 0)
      return tr("Give it more time: stepscope tune {} --resume --time {}m", path, for_one);
    return tr("Give it more time, {}m for all settings: stepscope tune {} --resume --time {}m",
              minutes, path, for_one);
  }

  if (answer.outcome == StudyOutcome::kBetter && !answer.further)
    return tr("Check the answer by further pairs: stepscope tune {} --confirm 20", path);
  return {};
}

std::string_view trial_kind_label(TrialKind kind) {
  switch (kind) {
    case TrialKind::kNoise:
      return tr("noise");
    case TrialKind::kRecording:
      return tr("recording");
    case TrialKind::kCandidate:
      return tr("candidate");
    case TrialKind::kConfirmation:
      return tr("confirmation");
    case TrialKind::kCheck:
      return tr("further pairs");
    case TrialKind::kScreening:
      break;
  }
  return tr("short pairs");
}

std::string_view trial_verdict_label(TrialVerdict verdict) {
  switch (verdict) {
    case TrialVerdict::kRunning:
      return tr("not over");
    case TrialVerdict::kDone:
      return tr("done");
    case TrialVerdict::kDropped:
      return tr("dropped");
    case TrialVerdict::kAccepted:
      return tr("accepted");
    case TrialVerdict::kProposed:
      return tr("proposed");

    case TrialVerdict::kNoGain:
      return tr("no gain");
    case TrialVerdict::kUnclear:
      return tr("unclear");
    case TrialVerdict::kSlowSteps:
      return tr("slower in all");
    case TrialVerdict::kRequirement:
      return tr("requirement");
    case TrialVerdict::kFailed:
      return tr("failed");
    case TrialVerdict::kScreenedOut:
      break;
  }

  return tr("put back");
}

std::string trial_reason(Study const& study, Trial const& trial) {
  std::string const least = percent_of(study.options().rule.min_effect);
  bool const is_probe = trial.kind == TrialKind::kRecording && trial.settings != trial.base;
  if (is_probe && trial.verdict == TrialVerdict::kDone)
    return std::string(
        tr("A second recording: with the first one it predicts other values of this knob."));

  switch (trial.verdict) {
    case TrialVerdict::kDropped:
      if (!trial.predicted) break;
      return tr("A replay of {} saves at most {}.", shown(trial.change, 200),
                percent_of(trial.predicted->high));
    case TrialVerdict::kProposed:
      return std::string(tr("It changes results: --allow-numerics takes it."));
    case TrialVerdict::kNoGain:
      return tr("It does not save {}.", least);
    case TrialVerdict::kUnclear:
      return tr("{} pairs do not show whether it saves {}.", trial.pairs.size(), least);
    case TrialVerdict::kSlowSteps:
      return std::string(tr("Its fast steps are faster, and all its steps together are slower."));
    case TrialVerdict::kScreenedOut:
      return std::string(tr("Others saved more in short pairs: its turn comes after theirs."));
    default:
      break;
  }
  return shown(trial.reason, kMostReasonBytes);
}

std::string trial_settings(Study const& study, Trial const& trial) {
  tune::Space const& space = study.space();
  bool const is_of_one = trial.kind == TrialKind::kNoise || trial.kind == TrialKind::kRecording;
  tune::Settings const& from = is_of_one ? tune::default_settings(space) : trial.base;
  if (trial.settings == from) return std::string(tr("the default"));
  return shown(tune::changed_text(space, trial.settings, from), 1000);
}

}  // namespace stepscope::reports
