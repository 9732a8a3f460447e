#include "cli/commands/capture/tune_output.h"

#include <algorithm>
#include <cmath>

#include "reports/words/runs/tuning_words.h"
#include "trace/base/format.h"
#include "trace/base/shell_word.h"
#include "tune/command_line.h"

namespace stepscope::cli {
namespace {

using tune::Study;
using tune::StudyAnswer;
using tune::StudyOutcome;
using tune::Trial;
using tune::TrialKind;
using tune::TrialVerdict;

/// The page of the search names all.
constexpr size_t kMostUntriedNamed = 4;

std::string percent_text(double share) { return fmt::format("{:.1f} %", share * 100); }

/// Seconds as people read them.
std::string time_text(double seconds) {
  return base::format_duration(static_cast<int64_t>(std::min(seconds, 1e8) * 1e9));
}

std::string noise_text(Study const& study) {
  auto const noise = study.noise();
  if (!noise) return "";
  size_t const needed = tune::needed_pairs(*noise, study.options().rule);
  std::string const pairs = needed == 0
                                ? fmt::format("more than {}", study.options().rule.most_pairs)
                                : fmt::format("{}", needed);
  return fmt::format("equal runs differ by {}: a saving of {} takes {} pairs",
                     percent_text(noise->sigma), percent_text(2 * study.options().rule.min_effect),
                     pairs);
}

/// ": loader-threads=2, prefetch=4, … and 5 more": what each of `count` turns of the best settings.
/// Settings that were tried before the best ones changed have no name here.
std::string untried_text(Study const& study, size_t count) {
  tune::Settings const best = study.best();
  std::string text;
  size_t named = 0;

  for (tune::UntriedSetting const& setting : study.untried()) {
    auto const& saving = setting.prediction.saving;
    bool const is_open = (setting.reason == tune::UntriedReason::kTime ||
                          setting.reason == tune::UntriedReason::kNoise) &&
                         !(saving && saving->high < study.options().rule.min_effect);
    if (!is_open || named == std::min(count, kMostUntriedNamed)) continue;
    text += (named == 0 ? ": " : ", ") + tune::changed_text(study.space(), setting.settings, best);
    ++named;
  }
  return named == 0 || named == count ? text : text + fmt::format(", … and {} more", count - named);
}

std::string count_text(Study const& study, StudyAnswer const& answer) {
  std::string text = fmt::format("{} measured, {} dropped by prediction",
                                 base::format_count(answer.measured, "setting"), answer.dropped);
  size_t const untried = study.untried().size();  // as the page counts them
  if (untried > 0) text += fmt::format(", {} not tried{}", untried, untried_text(study, untried));
  return text;
}

char const* kind_text(TrialKind kind) {
  if (kind == TrialKind::kCheck) return "further pairs of ";
  return kind == TrialKind::kScreening ? "short pairs of " : "";
}

/// Whether further pairs agree with the answer.
std::string further_text(StudyAnswer const& answer) {
  if (!answer.further) return {};
  std::string text;
  if (answer.further->pairs > 0)
    text = fmt::format("{} further pairs: saves {}, {} the interval of the answer\n",
                       answer.further->pairs, saving_text(answer.further->saving),
                       answer.further->is_inside ? "inside" : "outside");

  for (std::string const& sentence :
       {reports::further_pairs_default(answer), reports::further_pairs_end(answer)})
    if (!sentence.empty()) text += base::printable(sentence) + "\n";
  return text;
}

/// ": 38.9 % faster", as the other commands say it, for a saving of 28 %.
std::string faster_text(double saving) {
  if (!(saving > 0 && saving < 1)) return {};
  return ": " + reports::gain_text(1 / (1 - saving) - 1);
}

std::string headline(StudyAnswer const& answer, Study const& study) {
  tune::Space const& space = study.space();
  std::string const least = percent_text(study.options().rule.min_effect);
  std::string const best = tune::changed_text(space, answer.best, tune::default_settings(space));
  std::string const saving = answer.saving ? saving_text(*answer.saving) : std::string("nothing");

  switch (answer.outcome) {
    case StudyOutcome::kBetter:
      return fmt::format("Better: {} saves {} of the step{}.", best, saving,
                         answer.saving ? faster_text(answer.saving->saving) : "");
    case StudyOutcome::kNothingBetter: {
      size_t const settings = answer.measured + answer.dropped + answer.untried;
      if (answer.untried == 0)
        return fmt::format("None of {} settings is shown to save {}: the default stays.", settings,
                           least);
      return fmt::format(
          "Nothing better so far: no setting is shown to save {}, and {} of {} were not tried for "
          "lack of time.",
          least, answer.untried, settings);
    }
    case StudyOutcome::kNotConfirmed:
      return fmt::format("Not confirmed: {} saves {} in new pairs. {}.", best, saving,
                         answer.reason);
    case StudyOutcome::kTooNoisy:
      return base::printable(reports::tuning_headline(study));
    case StudyOutcome::kFailed:
      return fmt::format("The default settings do not run: {}.", answer.reason);
    case StudyOutcome::kOpen:
      break;
  }
  return fmt::format("Not over: so far {} is the best.", best);
}

}  // namespace

std::string saving_text(tune::Saving const& saving) {
  if (!std::isfinite(saving.low) || !std::isfinite(saving.high)) return percent_text(saving.saving);
  return fmt::format("{} ({:.1f} to {:.1f} %)", percent_text(saving.saving), saving.low * 100,
                     saving.high * 100);
}

std::string trial_text(tune::Space const& space, Trial const& trial) {
  if (trial.kind == TrialKind::kNoise || trial.kind == TrialKind::kRecording) {
    bool const is_probe = trial.kind == TrialKind::kRecording && trial.settings != trial.base;
    std::string what =
        is_probe ? "second recording, " + tune::changed_text(space, trial.settings, trial.base)
                 : "recording";
    if (trial.kind == TrialKind::kNoise) what = "noise of the default settings";
    return fmt::format("{:4}  {}: {}{}{}", trial.number, what, to_string(trial.verdict),
                       trial.reason.empty() ? "" : ", ", base::printable(trial.reason));
  }

  std::string text =
      fmt::format("{:4}  {}{}: {}", trial.number, kind_text(trial.kind),
                  tune::changed_text(space, trial.settings, trial.base), to_string(trial.verdict));
  if (trial.measured)
    text += fmt::format(", saves {} in {} pairs", saving_text(*trial.measured), trial.pairs.size());
  if (trial.predicted && trial.verdict != TrialVerdict::kDropped)
    text += fmt::format(", predicted {}", percent_text(trial.predicted->saving));
  if (!trial.reason.empty()) text += fmt::format(" ({})", base::printable(trial.reason));
  return text;
}

std::string progress_text(Study const& study, tune::Action const& action) {
  tune::Space const& space = study.space();
  std::string const left = time_text(study.left_s());
  Trial const& trial = study.trials()[action.trial];
  if (action.kind == tune::ActionKind::kRecord) {
    bool const is_probe = trial.settings != trial.base;
    return fmt::format("recording {}{}, {} left",
                       tune::changed_text(space, action.settings, tune::default_settings(space)),
                       is_probe ? ", which tells what other values of it give" : "", left);
  }
  if (trial.kind == TrialKind::kNoise)
    return fmt::format("pair {} of {} of the default settings with themselves, {} left",
                       action.pair + 1, tune::kNoisePairs, left);

  std::string text = fmt::format("pair {} of {}", action.pair + 1,
                                 tune::changed_text(space, action.settings, action.base));
  if (trial.kind == TrialKind::kConfirmation || trial.kind == TrialKind::kCheck)
    text += " against the default settings";
  if (trial.measured) text += fmt::format(", so far {}", saving_text(*trial.measured));
  return text + fmt::format(", {} left", left);
}

std::string answer_text(TuneFolder const& folder, Study const& study) {
  StudyAnswer const answer = study.answer();
  tune::Space const& space = study.space();
  std::string text = headline(answer, study) + "\n\n";
  if (std::string const found = reports::found_more_text(study); !found.empty())
    text += found + "\n";
  text += further_text(answer);
  if (!study.trials().empty()) {
    if (answer.outcome != StudyOutcome::kTooNoisy) text += noise_text(study) + "\n";
    text += count_text(study, answer) + "\n";
  }

  for (Trial const& trial : study.trials()) {
    bool const is_part =
        trial.kind == TrialKind::kCandidate &&
        (trial.verdict == TrialVerdict::kAccepted || trial.verdict == TrialVerdict::kProposed);
    if (is_part) text += trial_text(space, trial) + "\n";
  }

  if (answer.best != tune::default_settings(space)) {
    tune::CommandLine const command = tune::command_for(space, folder.plan().words, answer.best);
    text += fmt::format("\nCommand   {}\nSettings  {}\n", tune::shell_text(command),
                        base::printable(folder.path() + "/best.toml"));
  }
  text += fmt::format("Trials    {}\n", base::printable(folder.path() + "/trials.jsonl"));
  if (std::string const next = reports::next_step_text(study, folder.path()); !next.empty())
    text += base::printable(next) + "\n";
  return text;
}

}  // namespace stepscope::cli
