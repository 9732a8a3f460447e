// A search as the command drives it: actions are carried out, results are kept, the answer is
// printed and its page written.
#pragma once

#include <string>
#include <vector>

#include "cli/commands/capture/tune_folder.h"
#include "cli/commands/capture/tune_runs.h"
#include "trace/base/expected.h"
#include "tune/study.h"

namespace stepscope::cli {

struct SearchOptions {
  size_t further_pairs = 0;  ///< of runs after the answer, to check it
  bool writes_page = true;   ///< the page of the search, at its end
};

/// Prints those that are over to the standard error.
void print_trials(tune::Study const& study, std::vector<tune::Trial> const& trials);
/// Writes what a result has changed, and shows it. Errors: the disk is full.
base::Expected<void> keep_trials(TuneFolder& folder, tune::Study& study);

/// The next action that needs a program: predictions are made on the way. Returns why a replay
/// predicts nothing, or an empty text.
std::string predict_next(tune::Study& study, tune::Action& action);
/// The same; prints the reason.
tune::Action next_to_run(tune::Study& study);
void add_result(tune::Study& study, tune::Action const& action, TuneRunEnd const& end);

/// Runs the search until its end or an interrupt. Returns the exit code.
int search(TuneFolder& folder, SearchOptions const& options);
/// Prints the answer; `page`: that was written, or empty. Returns the exit code.
int print_answer(TuneFolder const& folder, tune::Study const& study, std::string const& page = {});

}  // namespace stepscope::cli
