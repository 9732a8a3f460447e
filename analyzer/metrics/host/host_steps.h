// The steps of a process that used no device: their periods, which of them count, and their means.
#pragma once

#include <vector>

#include "analyzer/metrics/core/analyze_options.h"
#include "analyzer/metrics/host/host_activity.h"
#include "analyzer/results/analysis.h"

namespace stepscope::analyzer {

/// Fills steps and their statistics. `steps[track]` are those of the threads, sorted and disjoint.
void add_host_steps(HostActivity& host, model::TraceInfo const& info,
                    std::vector<std::vector<HostStep>> const& steps, AnalyzeOptions const& options,
                    HostStats& facts);

/// The usual steps: they count, and are no outliers. In a run without outliers the slowest step is
/// left out instead.
std::vector<bool> steady_host_steps(HostStats const& facts);

/// Index of the counted step with the longest period; no step: steps.size().
size_t slowest_host_step(HostStats const& facts);

}  // namespace stepscope::analyzer
