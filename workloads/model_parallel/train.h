// Model-parallel training: a network cut by layers into stages, one a device, that work on
// micro-batches in a pipeline; or its fully connected layers cut over all devices. See train.cpp.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trace/base/expected.h"
#include "workloads/data/cifar10_file.h"
#include "workloads/faults/fault_injection.h"
#include "workloads/model_parallel/layers.h"
#include "workloads/training/training.h"

namespace stepscope::workloads {

constexpr char const* kSplitDescription =
    "Model parallel: an MLP or the CIFAR-10 network cut by layers over devices, micro-batches with "
    "GPipe or 1F1B, or each fully connected layer cut over them";

struct SplitOptions {
  std::string device = "host:2";
  std::string model = "mlp";       ///< or cnn
  std::string schedule = "gpipe";  ///< or 1f1b
  int64_t batch =
      1024;  ///< images a step, of the whole job: passes of 128 are long against a message
  int64_t micro_batches = 8;
  int64_t steps = 20;
  int64_t mlp_layers = MlpShape().layers;
  uint64_t seed = 1;
  double learning_rate = 0;  ///< 0 = the model's
  std::string data;          ///< CIFAR-10 folder; empty = the generated set
  Precision precision = Precision::kFp32;
  bool log_placement = false, soft_placement = false;
  uint64_t memory_limit_mib = 0;
  int64_t log_every = 10;  ///< steps; 0 = never
  bool tensor =
      false;  ///< fully connected layers cut over the devices, instead of the network by layers
  std::string checkpoint;        ///< file; empty = none
  int64_t checkpoint_every = 0;  ///< steps; 0 = at the end only
  std::string resume;            ///< checkpoint file; empty = start anew
  bool evaluate = true;
  std::vector<FaultInjection> pathologies;
  bool allow_nan = false;  ///< a loss that is not a finite number does not end the training
  bool json = false;
};

struct SplitResult {
  std::vector<size_t> cut;  ///< each stage's first layer, and the number of layers
  std::vector<std::string> layers;
  bool tensor = false;
  std::vector<LayerDescription::Cut> layer_cuts;  ///< by layer
  int64_t first_step = 0;
  std::vector<double> loss;      ///< by step
  std::vector<int64_t> step_ns;  ///< by step, of the slowest stage
  /// For each step, 1 − Σ busy / (stages × span). Busy: a stage's forward and backward passes on
  /// its compute stream, from the moment at which their input is there to their end. Span: from the
  /// first begin to the last end of one on any stage. Optimizer and the batch's copy to the device
  /// are outside. The ideal counts the same: ideal_bubble().
  std::vector<double> bubble;
  double ideal_bubble = 0;
  std::vector<std::vector<int64_t>> busy_ns;  ///< by stage, by step
  std::vector<float> weights;                 ///< of the whole network, at the end
  std::vector<uint64_t> weight_bytes;         ///< by device
  std::vector<uint64_t> activation_bytes;     ///< by stage: held for the micro-batches
  bool cores_short =
      false;  ///< more host devices than cores: stages share them, the bubble says nothing
  std::optional<double> test_accuracy;
  bool interrupted = false;
  std::optional<std::string> failure;  ///< training went wrong (NaN loss); what and where
};

/// Trains on the central crops of `data`, in order; a network with half as many inputs gets them at
/// half their width. Errors: wrong options, more stages than layers, batch not divisible by the
/// micro-batches, layers not divisible by the devices, unreadable checkpoint, out of memory.
base::Expected<SplitResult> train_split(SplitOptions const& options, LayeredNetwork const& network,
                                        CifarDataSet const& data, std::FILE* log);

base::Expected<int> run_split(std::span<std::string const> arguments);

}  // namespace stepscope::workloads
