// A run and what is known of it, for commands that print facts: as much of it in memory as they need.
#pragma once

#include <string>
#include <vector>

#include "analyzer/analysis.h"
#include "trace/base/expected.h"

namespace stepscope::cli {

struct AnalyzedRun {
  model::Run run;  ///< whole, or of each process the outline (analyzer/outline.h)
  analyzer::Analysis analysis;
};

/// Larger runs of more processes than are looked at at once are read a few processes at a time, as far as their files have an
/// index (.stepscope) and their steps are marked.
inline constexpr uint64_t kMostEventsInMemory = uint64_t{8} << 20;

/// Opens RUNs, prints what could not be read of them, and analyzes them.
base::Expected<AnalyzedRun> analyze_and_warn(std::vector<std::string> const& paths, analyzer::AnalyzeOptions const& options,
                                             uint64_t most_in_memory = kMostEventsInMemory);

}  // namespace stepscope::cli
