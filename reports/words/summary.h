// The verdict: the first sentences of every report. The analysis computes the numbers
// (analyzer/results/run_summary.h).
#pragma once

#include <string>

#include "analyzer/metrics/steps/run_summary.h"
#include "reports/words/labels.h"

namespace stepscope::reports {

using Summary = analyzer::RunSummary;
using analyzer::DeviceMean;
using analyzer::StepPeriod;

/// One or two sentences: how long a step is, how much of it the devices compute, what costs most.
/// `summary`: of the analysis.
std::string verdict(model::Run const& run, analyzer::Analysis const& analysis,
                    Summary const& summary);

}  // namespace stepscope::reports
