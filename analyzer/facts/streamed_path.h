// The critical path of a run that is not in memory: of its middle steps, as many as memory holds (kMostPathEvents), read again;
// or of any stretch of it, by its pieces.
#pragma once

#include <stop_token>
#include <vector>

#include "analyzer/facts/critical_path.h"
#include "analyzer/streamed_run.h"

namespace stepscope::analyzer {

/// `facts`: of the run; its devices and steps are those that were asked for. None as find_critical_path() says. Errors: those of
/// reading.
base::Expected<std::optional<CriticalPathFacts>> find_streamed_path(StreamedRun const& run, Analysis const& facts,
                                                                    AnalyzeOptions const& options);

/// Where the run's path goes in a stretch of time.
struct PathOfStretch {
  model::Run run;                 ///< what was read for it: rows of the pieces are rows of its traces
  std::vector<PathPiece> pieces;  ///< process by process, within the stretch
};
/// `around`: so much is read before the stretch, by which it is known what ops waited for, and after it: paths that end at
/// different ops soon run into one, as a rule with the first collective, so a step is enough. Told to stop, it finds nothing.
/// Errors: those of reading.
base::Expected<PathOfStretch> find_path_of_stretch(StreamedRun const& run, Analysis const& facts, Interval stretch,
                                                   int64_t around, std::stop_token const& stop);

}  // namespace stepscope::analyzer
