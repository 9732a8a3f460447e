// Notes about the processes of a run, as sentences: missing ranks, ranks that recorded other steps,
// clock alignment, and what is reliable in spite of that.
#pragma once

#include <string>
#include <vector>

#include "analyzer/results/analysis.h"

namespace stepscope::reports {

/// None of a run of one process with all its steps.
std::vector<std::string> run_notes(model::Run const& run, analyzer::Analysis const& analysis);

/// Why a ring was written: what a rank says that the fewest others say; empty where it is no ring.
std::string why_written(model::Run const& run);

/// "0, 2–5 and 9"; the numbers ascend. At most `most` parts, the rest is counted.
std::string number_list(std::vector<int64_t> const& numbers, size_t most = 12);

}  // namespace stepscope::reports
