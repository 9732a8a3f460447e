#include "cli/commands/capture/tune_search.h"

#include <cstdio>

#include <unistd.h>

#include "cli/command.h"
#include "cli/commands/capture/tune_output.h"
#include "cli/commands/tune_report.h"
#include "trace/base/format.h"
#include "trace/base/shell_word.h"

namespace stepscope::cli {
namespace {

constexpr int kInterrupted = 130;

std::string predict(tune::Study& study, tune::Action const& action) {
  std::string reason;
  study.add_predictions(predict_candidates(action.run, study.candidates(), reason));
  return reason;
}

void explain_unpredicted(tune::Study const& study, std::string const& reason) {
  if (reason.empty()) return;
  std::string_view const what = study.shows_large_gains_only()
                                    ? "no predictions, and no candidate is measured without one"
                                    : "no predictions, all candidates are measured";
  fmt::print(stderr, "stepscope: {}: {}\n", what, base::printable(reason));
}

int exit_code_of(tune::StudyAnswer const& answer) {
  // Further pairs were asked for: they contradict the answer, whatever it is, or do not run.
  if (answer.further && answer.further->verdict == tune::TrialVerdict::kFailed) return kWrongUse;
  if (answer.further &&
      (!answer.further->is_inside || answer.further->verdict == tune::TrialVerdict::kRequirement))
    return kFinding;
  switch (answer.outcome) {
    case tune::StudyOutcome::kBetter:
    case tune::StudyOutcome::kOpen:
      return kGood;
    case tune::StudyOutcome::kTooNoisy:
      return kUnclear;
    case tune::StudyOutcome::kFailed:
      return kWrongUse;
    default:
      return kFinding;
  }
}

int explain_interrupt(TuneFolder const& folder, SearchOptions const& options) {
  std::string const mode = options.further_pairs > 0
                               ? fmt::format("--confirm {}", options.further_pairs)
                               : std::string("--resume");
  fmt::print(stderr,
             "stepscope: interrupted, all trials are kept; go on with: stepscope tune {} {}\n",
             base::shell_word(folder.path()), mode);
  return kInterrupted;
}

base::Expected<TuneRunEnd> carry_out(TuneRuns& runs, tune::Study const& study,
                                     tune::Action const& action) {
  static bool const is_terminal = ::isatty(STDERR_FILENO) == 1;
  if (is_terminal) fmt::print(stderr, "stepscope: {}\n", progress_text(study, action));
  return action.kind == tune::ActionKind::kPair ? runs.run_pair(study, action)
                                                : runs.record(study, action);
}

int finish(TuneFolder& folder, tune::Study& study, SearchOptions const& options,
           std::string const& unpredicted) {
  if (auto const kept = keep_trials(folder, study); !kept) return report_error(kept.error());
  if (!options.writes_page) return print_answer(folder, study);
  auto const page = write_search_page(folder, study, unpredicted);
  if (!page) return report_error(page.error());
  return print_answer(folder, study, *page);
}

}  // namespace

void print_trials(tune::Study const& study, std::vector<tune::Trial> const& trials) {
  for (tune::Trial const& trial : trials)
    if (trial.verdict != tune::TrialVerdict::kRunning)
      fmt::print(stderr, "stepscope: {}\n", trial_text(study.space(), trial));
}

base::Expected<void> keep_trials(TuneFolder& folder, tune::Study& study) {
  std::vector<tune::Trial> const changed = study.take_changed();
  if (auto const written = folder.append(changed); !written) return written;
  print_trials(study, changed);
  bool const is_any_better = study.best() != tune::default_settings(study.space());
  return is_any_better ? folder.write_best(study.answer()) : base::Expected<void>();
}

std::string predict_next(tune::Study& study, tune::Action& action) {
  std::string reason;
  action = study.next();
  while (action.kind == tune::ActionKind::kPredict) {
    reason = predict(study, action);
    action = study.next();
  }
  return reason;
}

tune::Action next_to_run(tune::Study& study) {
  tune::Action action;
  explain_unpredicted(study, predict_next(study, action));
  return action;
}

void add_result(tune::Study& study, tune::Action const& action, TuneRunEnd const& end) {
  if (!end.failure.empty())
    study.add_failure(end.failure, end.seconds);
  else if (action.kind == tune::ActionKind::kPair)
    study.add_pair(end.pair);
  else
    study.add_recording(end.run, end.seconds);
}

int search(TuneFolder& folder, SearchOptions const& options) {
  ProcessWatch watch;
  TuneRuns runs(folder, watch);
  tune::StudyOptions wanted = study_options(folder.plan());
  wanted.further_pairs = options.further_pairs;
  tune::Study study(folder.plan().space, wanted, folder.trials());
  std::string unpredicted;

  for (;;) {
    tune::Action const action = study.next();
    if (action.kind == tune::ActionKind::kDone) break;
    if (watch.take_interrupt()) return explain_interrupt(folder, options);

    if (action.kind == tune::ActionKind::kPredict) {
      unpredicted = predict(study, action);
      explain_unpredicted(study, unpredicted);
    } else {
      auto const end = carry_out(runs, study, action);
      if (!end) return report_error(end.error());
      if (end->is_interrupted) return explain_interrupt(folder, options);
      add_result(study, action, *end);
    }
    if (auto const kept = keep_trials(folder, study); !kept) return report_error(kept.error());
  }

  return finish(folder, study, options, unpredicted);
}

int print_answer(TuneFolder const& folder, tune::Study const& study, std::string const& page) {
  std::fputs(answer_text(folder, study).c_str(), stdout);
  if (!page.empty()) fmt::print("Page      {}\n", base::printable(page));
  return exit_code_of(study.answer());
}

}  // namespace stepscope::cli
