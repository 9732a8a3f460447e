// Which conclusions the faults of a recording weaken, and which they leave alone.
#pragma once

#include <string>
#include <vector>

#include "analyzer/results/analysis.h"

namespace stepscope::reports {

struct Weakness {
  std::string fault;    ///< "12 device ops whose launch is not in the trace (0.4 % of all events)"
  std::string weakens;  ///< the conclusions that may be wrong because of it
  std::string holds;    ///< what can be believed all the same
};

/// Worst first; none of a recording without faults.
std::vector<Weakness> weaknesses(model::Run const& run, analyzer::TraceIntegrity const& integrity);

}  // namespace stepscope::reports
