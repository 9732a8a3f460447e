// What one device trains with in data-parallel training: memory, replica, the turns of a step. See
// data_parallel.cpp.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "workloads/faults/fault_injection.h"
#include "workloads/training/data_parallel.h"
#include "workloads/training/graphed_replica.h"
#include "workloads/training/update_scheme.h"

namespace stepscope::workloads {

/// A turn of a step: who is trained in it.
struct WorkerTurn {
  Replica* replica;
  std::unique_ptr<GraphedReplica> graphed;  ///< what is trained by, with --cuda-graphs
  std::unique_ptr<UpdateScheme> scheme;
  GradientReducer reducer;
  std::vector<std::array<float, 2>> host_results;  ///< loss and correct of a step's batches

  [[nodiscard]] double loss() const {
    double sum = 0;
    for (auto const& result_of_batch : host_results) sum += static_cast<double>(result_of_batch[0]);
    return sum / static_cast<double>(host_results.size());
  }
};

struct DeviceWorker {
  Device* device = nullptr;
  Buffer weights, gradients, accumulated, result;
  std::vector<InputBuffers> inputs;  ///< batch b is in inputs[b % size]
  std::unique_ptr<Replica> replica;
  std::vector<WorkerTurn> turns;
  std::optional<StepFaultInjector> faults;
  int64_t next_step = 0;  ///< the first one that was not done

  [[nodiscard]] std::vector<double> losses() const {
    std::vector<double> of_turns;
    for (WorkerTurn const& turn : turns) of_turns.push_back(turn.loss());
    return of_turns;
  }
};

/// What is trained in a turn, and how its gradients are exchanged.
struct JobTurn {
  ParameterRange parameters;
  std::vector<Bucket> buckets;
};

/// The turns of a step, each with the buckets of its gradients.
std::vector<JobTurn> make_turns(Network const& network, double bucket_mb);

/// `state`: weights, and the optimizer's state behind them.
base::Expected<std::unique_ptr<DeviceWorker>> make_device_worker(
    UpdateContext context, UpdateSchemeMaker const& make_scheme, std::vector<JobTurn> const& turns,
    Network const& network, TrainOptions const& o, std::vector<float> const& state);

}  // namespace stepscope::workloads
