// What the processes of a run have to do with each other, in sentences: which are missing, which recorded other steps, how their
// clocks were set; and what can be concluded all the same.
#pragma once

#include <string>
#include <vector>

#include "analyzer/results/analysis.h"

namespace stepscope::reports {

/// None of a run of one process with all its steps.
std::vector<std::string> run_notes(model::Run const& run, analyzer::Analysis const& analysis);

/// "0, 2–5 and 9"; the numbers ascend. At most `most` parts, the rest is counted.
std::string number_list(std::vector<int64_t> const& numbers, size_t most = 12);

}  // namespace stepscope::reports
