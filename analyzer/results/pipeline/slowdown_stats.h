// How much longer steps of a pipeline take than if all its workers were equally fast, and whose
// fault that is (DEFINITIONS, "Slowdown").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/results/device_ref.h"

namespace stepscope::analyzer {

/// Step times are means over the steps. Each S is a step time over the one of equal workers.
struct SlowdownStats {
  double s = 1;                    ///< with the recorded durations, without delays between them
  std::optional<double> m_stage;   ///< share of the loss that a faster last stage gets back; none
                                   ///< where there is no loss
  std::optional<double> m_worker;  ///< the same of the slowest 3 % of the workers
  struct Stage {
    int32_t stage = 0;
    double s = 1;              ///< with this stage as recorded, all others equal
    double compute_ratio = 1;  ///< its compute time over the mean of all stages
  };
  std::vector<Stage> stages;  ///< by number
  struct DataRank {
    int32_t data_rank = 0;
    double s = 1;
  };
  std::vector<DataRank> data_ranks;  ///< by number
  struct Worker {
    DeviceRef ref;
    int32_t stage = 0, data_rank = 0, tensor_rank = 0;
    double s = 1;                   ///< the lesser one of its stage and its data rank
    bool is_among_slowest = false;  ///< m_worker speaks of it
  };
  std::vector<Worker> workers;  ///< by stage, data and tensor rank
  struct OperationType {
    std::string name;
    double s = 1;
  };
  std::vector<OperationType> operations;  ///< by s, descending

  uint64_t steps = 0, left_out_steps = 0;  ///< left out: workers did not do the same in them
  double recorded_step_ns = 0;             ///< first start to last end
  double step_ns = 0;                      ///< without delays
  double ideal_step_ns = 0;                ///< of equal workers
};

}  // namespace stepscope::analyzer
