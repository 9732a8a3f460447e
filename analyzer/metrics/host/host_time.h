// The host of a process that used no device: steps, time by range, busy threads (DEFINITIONS,
// "Programs without a device"). O(events + steps · log steps).
#pragma once

#include <vector>

#include "analyzer/metrics/core/analyze_options.h"
#include "analyzer/metrics/host/host_activity.h"
#include "analyzer/results/analysis.h"

namespace stepscope::analyzer {

/// Names with a row of their own; further ones are summed up in one row.
inline constexpr size_t kMostHostRanges = 1'000;

/// `host`: of this process, with `steps[track]` of its threads. None where no thread recorded
/// anything.
std::optional<HostStats> host_facts(model::RankTrace const& rank, int32_t rank_index,
                                    std::vector<std::vector<HostStep>> const& steps,
                                    AnalyzeOptions const& options);

}  // namespace stepscope::analyzer
