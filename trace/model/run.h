// A Run is one job: the traces of its processes, with what is known of their clocks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/model/trace.h"

namespace stepscope::model {

/// How the ranks' clocks were brought together, and how well (DEFINITIONS, "Clocks").
struct ClockFit {
  std::string method = "one process";  ///< "one process", "epoch" or "collective ends"
  int64_t residual_median_ns = 0;
  int64_t residual_p95_ns = 0;
};

/// One process of the run. Run time = trace time + offset_ns.
struct RankTrace {
  Trace trace;
  int64_t offset_ns = 0;
  std::string file;  ///< where it came from
};

struct Run {
  std::string name;
  std::vector<RankTrace> ranks;  ///< by (rank, process id)
  ClockFit clock;
  std::vector<std::string> notes;  ///< what could not be read or does not fit together, for people
};

}  // namespace stepscope::model
