// The critical path of a run that is not in memory: of its middle steps, as many as memory holds (kMostPathEvents), read again.
#pragma once

#include "analyzer/facts/critical_path.h"
#include "analyzer/streamed_run.h"

namespace stepscope::analyzer {

/// `facts`: of the run; its devices and steps are those that were asked for. None as find_critical_path() says. Errors: those of
/// reading.
base::Expected<std::optional<CriticalPathFacts>> find_streamed_path(StreamedRun const& run, Analysis const& facts,
                                                                    AnalyzeOptions const& options);

}  // namespace stepscope::analyzer
