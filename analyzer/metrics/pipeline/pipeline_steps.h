// The steps of a pipeline side by side: each operation of a stage has a place, the same in all
// steps and on all data-parallel ranks, and there a duration. Steps in which a worker did something
// else are left out. O(ops · log ops).
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/metrics/pipeline/worker_ops.h"
#include "trace/base/expected.h"

namespace stepscope::analyzer {

/// Workers that differ in their data-parallel rank alone share one seat.
struct PipelineSeat {
  int32_t stage = 0, tensor = 0;
  friend auto operator<=>(PipelineSeat const&, PipelineSeat const&) = default;
};

struct PipelineSteps {
  struct Operation {
    uint32_t seat = 0;
    uint32_t name = 0;    ///< of names
    uint32_t number = 0;  ///< among those of its name, by time
    int32_t chunk = 0;
    bool is_comm = false;
  };
  std::vector<std::string> names;
  std::vector<PipelineSeat> seats;  ///< ascending
  std::vector<int32_t> data_ranks;  ///< ascending
  std::vector<DeviceRef> devices;   ///< by seat, then data rank
  std::vector<int64_t> steps;       ///< ascending
  uint64_t left_out_steps = 0;
  std::vector<Operation> operations;  ///< by seat, then name, then number
  std::vector<Interval> when;         ///< by operation, then step, then data rank
  std::vector<uint32_t> order;        ///< operations by seat, then begin in the first step
  /// Operations that are one collective in the first step, and whether it joins data ranks.
  struct Joined {
    std::vector<uint32_t> operations;
    bool joins_data_ranks = false;
  };
  std::vector<Joined> joined;  ///< each operation is in one

  [[nodiscard]] size_t lanes() const { return data_ranks.size(); }
  [[nodiscard]] size_t place(size_t operation, size_t step, size_t lane) const {
    return (operation * steps.size() + step) * lanes() + lane;
  }
};

/// Fails, with the reason, where workers are missing or in no step all data-parallel ranks do
/// the same.
base::Expected<PipelineSteps> line_up_steps(std::vector<WorkerOps> workers);

}  // namespace stepscope::analyzer
