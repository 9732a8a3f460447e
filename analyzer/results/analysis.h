// Everything Stepscope knows about a run: numbers, computed once, and the findings that rules draw
// from them. JSON, text, report and viewer show these numbers and compute none of their own.
// docs/reference/DEFINITIONS.md defines each of them. Times are integer ns; instants are run time
// (RankTrace::offset_ns applied). An empty optional says that the number does not exist: it is
// never 0 instead.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/results/collective_stats.h"
#include "analyzer/results/critical_path_stats.h"
#include "analyzer/results/device_stats.h"
#include "analyzer/results/finding.h"
#include "analyzer/results/host_stats.h"
#include "analyzer/results/idle_gaps.h"
#include "analyzer/results/idle_stats.h"
#include "analyzer/results/kernel_stats.h"
#include "analyzer/results/launch_stats.h"
#include "analyzer/results/step_stats.h"
#include "analyzer/results/trace_integrity.h"
#include "analyzer/results/wait_stats.h"
#include "trace/model/run.h"

namespace stepscope::analyzer {

struct Analysis {
  std::vector<DeviceStats> devices;  ///< by ref
  StepSource step_source = StepSource::kNone;
  std::optional<double>
      step_confidence;  ///< of detected steps: the share of all kernels that are in steps alike
  std::vector<StepStats> steps;  ///< by (ref, step)
  std::optional<RepeatedLayers>
      layers;  ///< where layers repeat and no whole step was recorded; then there are no steps
  bool is_of_chosen_steps = false;  ///< collectives, kernels and the like are of these steps alone
  uint64_t ops_outside_steps = 0;
  IdleGaps gaps;                      ///< by (ref, time)
  std::vector<HostOpStats> host_ops;  ///< by (ref, idle time descending), those without a name
                                      ///< last; sums to the gaps by cause
  std::vector<PhaseStats> phases;  ///< by (ref, device time descending), the rest of a device last
  std::vector<HostStats> hosts;    ///< of processes that used no device, by rank_index
  std::vector<NegotiationStats>
      negotiations;  ///< of processes whose files tell of them, by rank_index
  std::vector<CollectiveStats> collectives;  ///< by first start
  std::vector<WaitStats> waits;              ///< by exposed_ns, then gpu_ns, both descending
  std::vector<PipelineStats> pipelines;      ///< by first stage
  std::optional<SlowdownStats> slowdown;     ///< of a pipeline whose devices name their places
  std::vector<LinkFit> links;
  std::vector<KernelStats> kernels;  ///< by (ref, total descending)
  std::vector<OpStats> ops;          ///< by (ref, level, what, total descending)
  std::vector<GraphStats> graphs;    ///< by (ref, total descending), further graphs last
  std::vector<CopyStats> copies;     ///< by (ref, direction)
  std::optional<CriticalPathStats> critical_path;  ///< none without device ops
  std::vector<Finding> findings;                   ///< by severity, then cost, both descending
  TraceIntegrity integrity;
};

}  // namespace stepscope::analyzer
