// What `stepscope tune` prints: progress, trials, the answer.
#pragma once

#include <string>

#include "cli/commands/capture/tune_folder.h"
#include "tune/study.h"

namespace stepscope::cli {

/// "4.1 % (1.9 to 6.3 %)".
std::string saving_text(tune::Saving const& saving);
/// A line for a trial that is over.
std::string trial_text(tune::Space const& space, tune::Trial const& trial);
/// What is done next, with the time that is left.
std::string progress_text(tune::Study const& study, tune::Action const& action);
/// Several lines: the answer, the settings, the command.
std::string answer_text(TuneFolder const& folder, tune::Study const& study);

}  // namespace stepscope::cli
