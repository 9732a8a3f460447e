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

struct RunVerdict {
  /// The first finding and the first thing to do about it, in one sentence; empty where none is
  /// more than a note.
  std::string to_do;
  /// How long a step is, how much of it the devices compute, what costs most.
  std::string numbers;

  /// One after the other.
  [[nodiscard]] std::string text() const;
};

/// `summary`: of the analysis.
RunVerdict verdict(model::Run const& run, analyzer::Analysis const& analysis,
                   Summary const& summary);

}  // namespace stepscope::reports
