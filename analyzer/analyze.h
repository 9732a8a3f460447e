// The analysis of a run: every number of results/analysis.h, and the findings.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "analyzer/metrics/core/analyze_options.h"
#include "analyzer/metrics/core/streamed_run.h"
#include "analyzer/observed_bytes.h"
#include "analyzer/results/analysis.h"
#include "trace/base/expected.h"

namespace stepscope::analyzer {

/// Numbers and findings of a run in memory. Never fails: a number that cannot be computed is
/// absent, and TraceIntegrity says why.
Analysis analyze(model::Run const& run, AnalyzeOptions const& options = {});

/// Observes processes of a run wherever their files are. Several threads call `ask` for the
/// questions. `keep` takes the answers one after the other, in the order of `processes`. Errors: of
/// the first process that cannot be observed.
using ProcessObservers = std::function<std::optional<base::Error>(
    std::vector<size_t> const& processes, std::function<ProcessQuestion(size_t process)> const& ask,
    std::function<void(ObservedProcess)> const& keep)>;

/// The same of a run that memory does not hold at once. Rows of events (IdleGap::host_row,
/// Participant::row, …) are rows of skeleton and whole traces, and say nothing without them. The
/// run must have marked steps: detecting steps takes all kernels at once. `observers`: who observes
/// the processes; empty: StreamedRun::read() reads them here. Errors: those of reading.
base::Expected<Analysis> analyze(StreamedRun const& run, AnalyzeOptions const& options = {},
                                 ProcessObservers const& observers = {});

/// Whether analyze() finds steps in the skeletons of a run's processes.
bool has_marked_steps(model::Run const& skeleton);

/// How many processes analyze() has in memory at once: one a core, and not more than a few.
size_t processes_at_once();

}  // namespace stepscope::analyzer
