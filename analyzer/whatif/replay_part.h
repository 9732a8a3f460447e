// The part of a run that is replayed: all of it, or its middle steps. Everything that a replay
// graph is made of comes from here, for runs in memory and for runs that are read from files.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "analyzer/metrics/core/device_ops.h"
#include "analyzer/metrics/core/streamed_run.h"
#include "analyzer/metrics/critical_path/path_part.h"
#include "analyzer/metrics/steps/steps.h"
#include "analyzer/results/analysis.h"

namespace stepscope::analyzer {

struct ReplayPart {
  model::Run const* run = nullptr;          ///< null: no device is to be replayed
  std::shared_ptr<model::Run const> owned;  ///< where the part was read
  std::vector<DeviceOps> devices;           ///< of `run`
  HostSteps host_steps;
  std::vector<CollectiveStats> collectives;  ///< with rows of `run`
  std::vector<DeviceStats> chosen;
  std::vector<std::vector<Interval>> periods;  ///< measured, beside `chosen`
  bool is_all = true;
};

/// The part of the chosen processes' events that is not more than `most`, at most 1.
double part_within(model::Run const& skeleton, std::vector<bool> const& is_chosen, uint64_t most);
/// `steps`: of the run. `share`: how much of it, at most 1. `before`: what was read of it already.
/// Errors: those of reading.
base::Expected<ReplayPart> read_part(StreamedRun const& run, HostSteps const& steps,
                                     Analysis const& analysis, double share, ReadRange before = {});
/// All of a run in memory, which must outlive the part.
ReplayPart whole_part(model::Run const& run, HostSteps const& steps, Analysis const& analysis);

}  // namespace stepscope::analyzer
