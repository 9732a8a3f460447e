// Properties of a synthetic job besides its pattern: how many ranks, and what is wrong with it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trace/synth/process/fault_kinds.h"

namespace stepscope::synth {

/// How a pipeline cuts its batch and its model.
struct PipelineShape {
  int32_t micro_batches = 8;          ///< of a step
  int32_t size_percent = 100;         ///< of a micro-batch, of an eighth of the usual batch
  std::vector<int32_t> stage_layers;  ///< by stage; empty: as many on each
};

struct Job {
  int32_t ranks = 1;
  uint64_t seed = 1;
  std::optional<Fault> fault;  ///< none: a job that could be better, with the cycle of faults
                               ///< (faults.h); else a good one but for it
  PipelineShape shape = {};
  bool happens =
      true;  ///< false: the same job without its fault, what its cost is measured against

  /// Copies ahead, overlaps, runs on mixed precision: nothing is lost but by its fault.
  [[nodiscard]] bool is_tuned() const { return fault.has_value(); }
  [[nodiscard]] bool is_about(FaultType type) const { return fault && fault->kind->type == type; }
  /// The fault is of that type, and it happens.
  [[nodiscard]] bool has(FaultType type) const { return happens && is_about(type); }
  /// The amount of a fault of that type, whether it happens or not.
  [[nodiscard]] double amount(FaultType type, double otherwise) const {
    return is_about(type) ? fault->amount : otherwise;
  }
};

}  // namespace stepscope::synth
