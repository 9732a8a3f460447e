// Synchronous data-parallel training of a network. Each device has a replica of it, works on its
// own batches and updates its weights with the mean of all devices' gradients. So N devices train
// what one device with N × batch would. A workload brings the network; the loop, with checkpoints,
// evaluation and interrupts, is here.
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <string>

#include "workloads/backend/backend.h"
#include "workloads/data/samples.h"
#include "workloads/options.h"
#include "workloads/training/gradient_reducer.h"
#include "workloads/training/optimizer.h"
#include "workloads/training/parameters.h"
#include "workloads/training/training.h"

namespace stepscope::workloads {

/// A batch on the device: what the data set's Samples prepared, sample by sample.
struct InputBuffers {
  Buffer inputs, labels;
  Event ready;     ///< of the copy stream: filled
  Event consumed;  ///< of the compute stream: may be filled again
};

/// Where a replica works: the loop's memory of one device.
struct ReplicaMemory {
  Device* device = nullptr;
  ParameterLayout const* layout = nullptr;
  int64_t batch = 0;
  float *weights = nullptr, *gradients = nullptr;
  float* result = nullptr;  ///< the batch's mean loss and the number of correct answers

  [[nodiscard]] float* w(size_t parameter) const {
    return weights + layout->parameters[parameter].offset;
  }
  [[nodiscard]] float* g(size_t parameter) const {
    return gradients + layout->parameters[parameter].offset;
  }
};

/// One device's copy of a network. Everything is enqueued on the compute stream.
class Replica {
 public:
  virtual ~Replica() = default;
  /// From the inputs to ReplicaMemory::result and the loss's gradient.
  virtual void forward(InputBuffers const& input) = 0;
  /// From there to all gradients. Says reducer.ready(last) as soon as those of all parameters up to
  /// `last` are enqueued.
  virtual void backward(InputBuffers const& input, GradientReducer& reducer) = 0;
  /// Who does turn `turn` of a step (Network::turns).
  virtual Replica& in_turn(size_t /*turn*/) { return *this; }
};

struct Network {
  std::string workload;          ///< "cifar10"
  std::string sample = "image";  ///< what one sample is called
  std::string label = "label";   ///< and what comes with it
  ParameterLayout layout;
  /// Parts of a step that each train some of the parameters, one after the other, with the same
  /// samples; empty = one for all.
  std::vector<ParameterRange> turns;
  /// Errors: out of memory, no implementation of a layer.
  std::function<base::Expected<std::unique_ptr<Replica>>(ReplicaMemory const&)> make_replica;
  OptimizerSettings optimizer;
  /// The learning rate of a step; `samples`: what all devices have trained on before it.
  std::function<double(int64_t step, int64_t samples)> learning_rate;
  Samples const* train = nullptr;
  Samples const* test = nullptr;   ///< null = nothing to evaluate on
  int64_t answers_per_sample = 1;  ///< int32 labels of a sample
  /// Called once, with the first device's replica, after the last step.
  std::function<void(Replica&)> at_end;
};

/// Errors: wrong options, unreadable checkpoint, out of memory.
base::Expected<TrainingResult> train_data_parallel(TrainOptions const& options,
                                                   Network const& network, std::FILE* log);

/// The end of every training workload's run_…(): prints the result (--json: the summary) and gives
/// the exit code.
int finish_training(std::string const& workload, TrainOptions const& options,
                    TrainingResult const& result);

}  // namespace stepscope::workloads
