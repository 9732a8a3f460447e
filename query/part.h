// The part of a run that is asked about: one rank, some steps. Tables of what was recorded hold its
// rows alone, the analysis is that of `stepscope analyze` with the same choice.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "analyzer/analyze.h"
#include "analyzer/results/analysis.h"
#include "query/process.h"
#include "trace/base/expected.h"

namespace stepscope::query {

struct Part {
  std::optional<std::pair<int64_t, int64_t>> steps;  ///< first and last, both included
  std::optional<int32_t> rank;                       ///< in the job

  [[nodiscard]] analyzer::AnalyzeOptions analyze_options() const;
};

/// The run's processes that are of the part. Errors: the run has no such rank.
base::Expected<Processes> processes_of(model::Run const& run, Part const& part);

/// Keeps of each process what begins within the chosen steps: ops from the begin of the device's
/// first to the end of its last, all else by the host's. A process without steps keeps what begins
/// within those of the others. `analysis`: of the part. Errors: the run has none of the steps.
base::Expected<void> keep_steps(Processes& processes, model::Run const& run,
                                analyzer::Analysis const& analysis, Part const& part);

}  // namespace stepscope::query
