// What one worker of a pipeline did in each step. Workers are devices whose names tell their place
// (trace/model/derive/pipeline_place.h). O(ops of the device); other devices cost nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/metrics/core/analyze_options.h"
#include "analyzer/metrics/steps/steps.h"
#include "trace/model/derive/pipeline_place.h"

namespace stepscope::analyzer {

/// No program has as many different ones; what a worker has beyond is left out.
inline constexpr size_t kMostOperationNames = 64;

struct WorkerOp {
  int64_t step = 0;
  uint32_t name = 0;  ///< of WorkerOps::names
  int32_t chunk = 0;
  bool is_comm = false;
  Interval when;
  uint64_t communicator = 0, sequence = 0;  ///< of a collective; 0 = it has no partner
};
struct WorkerOps {
  DeviceRef ref;
  model::PipelinePlace place;
  std::vector<std::string> names;  ///< of operations, without the part of the model
  std::vector<WorkerOp> ops;       ///< by start
};

/// Nothing for a device that is no worker. Operations outside of the chosen steps are left out.
std::optional<WorkerOps> worker_ops_of(DeviceOps const& device, DeviceSteps const& steps,
                                       AnalyzeOptions const& options);

}  // namespace stepscope::analyzer
