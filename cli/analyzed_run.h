// A run and what is known of it, for commands that print facts: as much of it in memory as they need.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "analyzer/analysis.h"
#include "trace/base/expected.h"

namespace stepscope::cli {

struct AnalyzedRun {
  model::Run run;  ///< whole, or of each process the outline (analyzer/outline.h)
  analyzer::Analysis analysis;
  /// Of outlines: gives a process with all its events. Empty where the run is whole.
  std::function<base::Expected<std::shared_ptr<model::RankTrace const>>(size_t process)> read;
};

enum class Reading : uint8_t {
  kBySize,     ///< streamed where memory would hold more than kMostEventsInMemory and not all processes are looked at at once
  kByProcess,  ///< streamed whatever the size
};
inline constexpr uint64_t kMostEventsInMemory = uint64_t{8} << 20;

/// Opens RUNs, prints what could not be read of them, and analyzes them. What is streamed of formats without an index is
/// packed first (import/packed_source.h). Only runs whose steps are marked can be streamed.
base::Expected<AnalyzedRun> analyze_and_warn(std::vector<std::string> const& paths, analyzer::AnalyzeOptions const& options,
                                             Reading reading = Reading::kBySize);

}  // namespace stepscope::cli
