// What a recording lacks of its job, and what that means for a replay: sentences for its answers.
#pragma once

#include <string>
#include <vector>

#include "analyzer/results/analysis.h"
#include "trace/model/run.h"

namespace stepscope::analyzer {

/// Names ranks that were not recorded, and ranks that miss in some collectives of the measured
/// steps. Where a rank is missing, no record tells transfer and waiting apart. Empty: all ranks are
/// there. `analysis`: of the run; only the run's ranks are looked at.
std::vector<std::string> missing_work(model::Run const& run, Analysis const& analysis);

}  // namespace stepscope::analyzer
