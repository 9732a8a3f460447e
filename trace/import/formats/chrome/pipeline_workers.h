// Timelines of jobs that are cut into stages (Megatron). Each thread "PP rank P, TP rank T,
// compute" is a stream of one worker. The process tells its data-parallel rank, arguments tell step
// and order. docs/reference/DEFINITIONS.md, "Timelines of pipelines".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "trace/model/build/trace_builder.h"
#include "trace/model/derive/pipeline_place.h"
#include "trace/model/event_batch.h"

namespace stepscope::import {

/// A thread by its name. Several of one worker may be parts of the model (virtual stages).
struct PipelineLane {
  enum class Work : uint8_t { kCompute, kMessages, kTensorGroup, kDataGroup, kOther };
  int32_t stage = 0, tensor = 0;
  std::optional<int32_t> data;   ///< where the thread names it
  std::optional<int32_t> chunk;  ///< "VPP rank 1"
  Work work = Work::kOther;
};
/// "PP rank 0, TP rank 1, dp-comm", "PP rank 0, VPP rank 1, TP rank 1, compute"; nothing for
/// another name.
std::optional<PipelineLane> pipeline_lane_of(std::string_view thread_name);
/// "DP rank [3]" → 3.
std::optional<int32_t> data_rank_of(std::string_view process_name);

/// An event of such a thread. `step`, `sequence`: −1 where it does not say.
struct PipelineOp {
  int64_t start_ns = 0, dur_ns = 0;
  model::StringId name;
  int64_t step = -1, sequence = -1;
  int32_t chunk = 0;
  PipelineLane::Work work = PipelineLane::Work::kOther;
};

/// A worker as a device: its streams by number, and its steps.
struct PipelineWorker {
  model::PipelinePlace place;
  std::map<int64_t, model::EventBatch> streams;
  model::EventBatch steps;
};
/// "compute", "forward-send", …: by number of the stream.
std::string_view name_of_pipeline_stream(int64_t stream);

/// The workers in the order of their places, which is also the number of their device. Collectives
/// and messages get numbers that are the same on all their participants. `builder`: knows the
/// operations' names.
std::vector<PipelineWorker> make_pipeline_workers(
    std::map<model::PipelinePlace, std::vector<PipelineOp>> ops, model::TraceBuilder& builder);

}  // namespace stepscope::import
