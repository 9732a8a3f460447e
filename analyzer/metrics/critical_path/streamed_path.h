// The critical path of a run that is not in memory. The run is read again, as a whole or, where
// that is more than memory holds (kMostWholePathEvents), only its middle steps. Or the path of any
// stretch of the run, by its pieces.
#pragma once

#include <stop_token>
#include <vector>

#include "analyzer/metrics/core/analyze_options.h"
#include "analyzer/metrics/core/streamed_run.h"
#include "analyzer/metrics/critical_path/critical_path.h"
#include "analyzer/metrics/critical_path/path_part.h"

namespace stepscope::analyzer {

/// What was found in the skeletons and in the processes, one after the other, before the path is
/// looked for.
struct FactsBeforePath {
  std::vector<DeviceOps> const& devices;  ///< of the skeletons
  HostSteps const& host_steps;
  Analysis const& facts;  ///< its devices and steps are those that were asked for
};
/// Where the run is read as a whole: what find_critical_path() says of the run in memory. None as
/// that says. `read` gets what was read for it. Errors: those of reading.
base::Expected<std::optional<CriticalPathStats>> find_streamed_path(StreamedRun const& run,
                                                                    FactsBeforePath const& known,
                                                                    AnalyzeOptions const& options,
                                                                    ReadRange& read);

/// Where the run's path goes in a stretch of time.
struct PathOfStretch {
  model::Run run;  ///< what was read for it: rows of the pieces are rows of its traces
  std::vector<PathPiece> pieces;  ///< process by process, within the stretch
};
/// `around`: length that is read before the stretch, to know what ops waited for, and after it.
/// Paths that end at different ops soon run into one, as a rule with the first collective, so a
/// step is enough. After a request to stop it finds nothing. Errors: those of reading.
base::Expected<PathOfStretch> find_path_of_stretch(StreamedRun const& run, Analysis const& facts,
                                                   Interval stretch, int64_t around,
                                                   std::stop_token const& stop);

}  // namespace stepscope::analyzer
