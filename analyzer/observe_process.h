// The first phase of analyze(), for one process: everything that its own trace tells about its
// devices and its host. Processes are observed independently of each other, several at once.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyzer/metrics/communication/device_delays.h"
#include "analyzer/metrics/core/analyze_options.h"
#include "analyzer/metrics/host/idle_causes.h"
#include "analyzer/metrics/pipeline/worker_ops.h"
#include "analyzer/metrics/steps/steps.h"
#include "analyzer/metrics/time/device_time.h"
#include "analyzer/results/analysis.h"
#include "trace/base/expected.h"

namespace stepscope::analyzer {

/// What the skeletons of all processes tell about one device.
struct KnownOfDevice {
  std::vector<PeerLaunch> peers;  ///< rows of the skeleton
  model::IntervalSet waits;       ///< when it waits in collectives
  CollectivesOfDevice collectives;
  std::optional<std::vector<Interval>> pipeline_waits;  ///< none where it is in no pipeline
};

/// A process, and what the skeletons of all processes tell about it.
struct ProcessInput {
  model::RankTrace const& rank;         ///< the whole trace
  std::span<DeviceOps const> skeleton;  ///< its devices, from the skeleton; at least one
  std::vector<KnownOfDevice> known;     ///< by device
  HostSteps const& host_steps;          ///< of the run; only this process's threads are looked at
};

/// What a device did, for the comparison of devices. The options choose nothing of it.
struct DeviceWork {
  DeviceRef ref;
  DeviceDelays delays;
  model::IntervalSet bubble;        ///< of a device that is in a pipeline
  std::optional<WorkerOps> worker;  ///< of the chosen steps, where it is a pipeline's worker
};

struct ObservedProcess {
  std::vector<DeviceWork> work;  ///< by device
  Analysis results;              ///< the numbers of this process alone
};

/// Fails where the whole trace has other devices than the skeleton: its file changed between the
/// two readings.
base::Expected<ObservedProcess> observe_process(ProcessInput input, AnalyzeOptions const& options);

/// Appends the host's steps, ranges and threads, and the negotiations of collectives that it
/// recorded. For a process without device ops.
void observe_host(model::RankTrace const& rank, int32_t rank_index, HostSteps const& host_steps,
                  AnalyzeOptions const& options, Analysis& results);

}  // namespace stepscope::analyzer
