// One device's part of a network in `split`: its layers, their memory, and its parameters' places
// in the whole network's weights.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "workloads/backend/backend.h"
#include "workloads/model_parallel/layers.h"
#include "workloads/model_parallel/schedule.h"
#include "workloads/model_parallel/train.h"
#include "workloads/training/gradient_reducer.h"

namespace stepscope::workloads {

/// The activations of one micro-batch: values[i] goes into the stage's layer i, the last one comes
/// out.
struct Slot {
  std::vector<Buffer> values;  ///< the first stage's values[0] is empty: it reads the batch
  Event free;                  ///< of the compute stream: its backward pass is over
};

struct StageTimes {
  int64_t begin_ns = 0, end_ns = 0, busy_ns = 0;
};

/// Some rows and columns of a parameter of the whole network, which has `whole_columns`.
struct ParameterPart {
  size_t whole_id;  ///< in the whole network's layout
  int64_t rows, columns, first_row, first_column, whole_columns;
};

struct Stage {
  Device* device = nullptr;
  int64_t index = 0;  ///< in the pipeline
  std::vector<LayerDescription> descriptions;
  ParameterLayout layout;            ///< of its own layers, last layer first
  std::vector<ParameterPart> parts;  ///< of its own layout's parameters
  std::vector<Bucket> buckets;
  Buffer weights, gradients, accumulated;
  std::vector<std::unique_ptr<SplitLayer>> layers;
  std::vector<Slot> slots;       ///< micro-batch k is in slots[k % size]
  std::vector<Buffer> d_values;  ///< gradients of a slot's values; one micro-batch at a time
  Event d_output_read;           ///< of the compute stream: d_values.back() may be overwritten
  Event d_input_sent;     ///< of the communication stream: d_values.front() may be overwritten
  Buffer images, labels;  ///< the whole batch's; on the first and on the last stage
  Buffer row_results, results;  ///< on the last stage: loss and correct by row, and by micro-batch
  std::optional<GradientReducer> gradients_sum;
  std::vector<std::pair<Event, Event>> passes;  ///< begin and end of the step's passes
  std::vector<StageTimes> times;                ///< by step
};

/// What a stage is made for.
struct StagePlan {
  SplitOptions const& options;
  LayeredNetwork const& network;
  PipelineSchedule schedule;
  int64_t stages;   ///< of the pipeline
  int64_t samples;  ///< of a micro-batch

  [[nodiscard]] bool is_last(int64_t stage) const { return stage + 1 == stages; }
};

/// Last layer first, as the backward pass goes.
ParameterLayout lay_out(std::vector<LayerDescription> const& layers, std::string const& model);

/// Stage `index` of the network, cut as cut_layers() says. Errors: out of memory, no implementation
/// of a layer.
base::Expected<std::unique_ptr<Stage>> make_stage(StagePlan const& plan, Device& device,
                                                  std::span<size_t const> cut, int64_t index);

/// Copies the stage's parameters between its memory and the whole network's weights, laid out as
/// `whole`.
void copy_weights(Stage& stage, ParameterLayout const& whole, std::vector<float>& weights,
                  CopyDirection direction);

}  // namespace stepscope::workloads
