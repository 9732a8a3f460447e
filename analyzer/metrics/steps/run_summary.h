// The summary of an analyzed run (results/run_summary.h). What it returns refers to the analysis.
#pragma once

#include <vector>

#include "analyzer/results/analysis.h"
#include "analyzer/results/run_summary.h"

namespace stepscope::analyzer {

/// In the order of Analysis::steps, warm-up steps included.
std::vector<StepPeriod> step_periods(Analysis const& analysis);

RunSummary summarize(Analysis const& analysis);

/// One for each of Analysis::devices.
std::vector<DeviceMean> device_means(Analysis const& analysis);

HostSummary summarize_hosts(Analysis const& analysis);

}  // namespace stepscope::analyzer
