// A Run is one job: the traces of its processes, with what is known of their clocks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/model/trace.h"

namespace stepscope::model {

/// How the ranks' clocks were brought together, and how well (DEFINITIONS, "Clocks").
struct ClockFit {
  std::string method = "one process";  ///< "one process", "epoch" or "collective ends"
  /// How far the ends of a collective on several hosts lie from their median; nothing when there
  /// are none.
  std::optional<int64_t> residual_median_ns, residual_p95_ns;
  uint64_t collectives = 0;  ///< by which it is known
};

/// One process of the run. Run time = trace time + offset_ns.
struct RankTrace {
  Trace trace;
  int64_t offset_ns = 0;
  std::string file;  ///< where it came from
  double drift = 0;  ///< how much slower than the run's clock the process's was, per ns: the
                     ///< trace's times are corrected for it
};

struct Run {
  std::string name;
  std::vector<RankTrace> ranks;  ///< by (rank, process id)
  ClockFit clock;
  std::vector<std::string> notes;  ///< what could not be read or does not fit together, for people
};

}  // namespace stepscope::model
