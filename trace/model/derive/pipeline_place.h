// Workers of a job that is cut into stages: what names of devices say about where a worker stands,
// and which of its passes each message belongs to. Importers write these names, the analysis reads
// them.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::model {

/// A worker by its ranks. Their order is the one in which Megatron numbers workers.
struct PipelinePlace {
  int32_t stage = 0;   ///< pipeline-parallel rank
  int32_t data = 0;    ///< data-parallel rank
  int32_t tensor = 0;  ///< tensor-parallel rank

  friend auto operator<=>(PipelinePlace const&, PipelinePlace const&) = default;
};

/// "PP rank 3, DP rank 0, TP rank 1".
std::string device_name_of(PipelinePlace place);
/// Nothing for any other text.
std::optional<PipelinePlace> pipeline_place_of(std::string_view device_name);

/// Name of an operation of a stage's further part of the model (a virtual stage): "forward-compute,
/// chunk 1". The first part's operations keep their names.
std::string name_of_chunk(std::string_view operation, int32_t chunk);
struct ChunkOperation {
  std::string_view operation;
  int32_t chunk = 0;
};
ChunkOperation chunk_operation_of(std::string_view name);

/// One direction of a stage's messages in a step.
struct MessageDirection {
  bool is_forward = true;  ///< activations; else gradients
  bool is_receive = false;
};
/// The stages of a job, each with `chunks` parts of the model.
struct PipelineShape {
  int32_t stages = 1, chunks = 1;
  /// Whether a pass of that part has such a message: the model's first part receives no
  /// activations, its last one sends none.
  [[nodiscard]] bool crosses(int32_t stage, int32_t chunk, MessageDirection direction) const;
};

/// A message by the pass that sends what it made, or uses what it receives.
struct PassOfMessage {
  size_t pass = 0;        ///< place among the passes
  bool is_empty = false;  ///< recorded beside a pass that has nothing to send or receive
};
/// Beside a step's messages of one direction. `crosses`: 1 for each pass of that direction that has
/// a message, else 0, in the order of the passes. Recorders write a message for each pass, for each
/// pass but the first that could receive, or for each that has one; nothing for another number of
/// messages.
std::optional<std::vector<PassOfMessage>> passes_of_messages(size_t messages,
                                                             std::span<uint8_t const> crosses,
                                                             bool is_receive);

}  // namespace stepscope::model
