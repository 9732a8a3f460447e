// A run and what is known of it, for commands that print facts.
#pragma once

#include <string>
#include <vector>

#include "analyzer/analyze.h"
#include "run_loading/analyzed_files.h"

namespace stepscope::cli {

using run_loading::AnalyzedRun;
using run_loading::Reading;

/// run_loading::analyze_files(), and prints what could not be read of them.
base::Expected<AnalyzedRun> analyze_and_warn(std::vector<std::string> const& paths,
                                             analyzer::AnalyzeOptions const& options,
                                             Reading reading = Reading::kBySize,
                                             bool is_one_run = false);

}  // namespace stepscope::cli
