// How much of a pipeline's step is lost because its workers are not equally fast: the step is
// evaluated with recorded durations and with those of equal workers (DEFINITIONS, "Slowdown").
//
// Equal workers take, of each operation, the mean of all passes and the median of all transfers. A
// transfer lasts from when the last participant began. O(ops · (stages + operation names)); of
// larger runs the middle steps.
#pragma once

#include <vector>

#include "analyzer/metrics/pipeline/worker_ops.h"
#include "analyzer/results/collective_stats.h"
#include "trace/base/expected.h"

namespace stepscope::analyzer {

/// `workers`: all of the run, at least two stages. Fails with the reason why there are no numbers.
base::Expected<SlowdownStats> find_slowdown(std::vector<WorkerOps> workers);

}  // namespace stepscope::analyzer
