#include "trace/model/derive/pipeline_place.h"

#include <algorithm>
#include <charconv>

namespace stepscope::model {
namespace {

constexpr std::string_view kStagePrefix = "PP rank ", kDataPrefix = ", DP rank ",
                           kTensorPrefix = ", TP rank ", kChunkSuffix = ", chunk ";

/// Takes the words and the number behind them from the front of `text`.
std::optional<int32_t> take_rank(std::string_view& text, std::string_view words) {
  if (!text.starts_with(words)) return std::nullopt;
  text.remove_prefix(words.size());

  int32_t rank = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  if (error != std::errc() || rank < 0) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return rank;
}

}  // namespace

std::string device_name_of(PipelinePlace place) {
  return std::string(kStagePrefix) + std::to_string(place.stage) + std::string(kDataPrefix) +
         std::to_string(place.data) + std::string(kTensorPrefix) + std::to_string(place.tensor);
}

std::optional<PipelinePlace> pipeline_place_of(std::string_view device_name) {
  std::string_view rest = device_name;
  auto const stage = take_rank(rest, kStagePrefix);
  auto const data = stage ? take_rank(rest, kDataPrefix) : std::nullopt;
  auto const tensor = data ? take_rank(rest, kTensorPrefix) : std::nullopt;
  if (!tensor || !rest.empty()) return std::nullopt;
  return PipelinePlace{*stage, *data, *tensor};
}

std::string name_of_chunk(std::string_view operation, int32_t chunk) {
  std::string name(operation);
  if (chunk > 0) name += std::string(kChunkSuffix) + std::to_string(chunk);
  return name;
}

ChunkOperation chunk_operation_of(std::string_view name) {
  size_t const at = name.rfind(kChunkSuffix);
  if (at == std::string_view::npos) return {name, 0};
  std::string_view rest = name.substr(at);
  auto const chunk = take_rank(rest, kChunkSuffix);
  return chunk && rest.empty() ? ChunkOperation{name.substr(0, at), *chunk}
                               : ChunkOperation{name, 0};
}

bool PipelineShape::crosses(int32_t stage, int32_t chunk, MessageDirection direction) const {
  // Virtual stages: stage 1 of 4 holds the parts 1, 5, 9, … of the model.
  int64_t const part = int64_t{chunk} * stages + stage;
  bool const is_from_below = direction.is_forward == direction.is_receive;
  return is_from_below ? part > 0 : part + 1 < int64_t{stages} * chunks;
}

std::optional<std::vector<PassOfMessage>> passes_of_messages(size_t messages,
                                                             std::span<uint8_t const> crosses,
                                                             bool is_receive) {
  auto const with_message = static_cast<size_t>(std::count(crosses.begin(), crosses.end(), 1));
  bool const is_of_each = messages == crosses.size();
  bool const is_first_missing = is_receive && messages + 1 == crosses.size();
  std::vector<PassOfMessage> passes;
  passes.reserve(messages);

  if (messages == with_message) {
    for (size_t pass = 0; pass < crosses.size(); ++pass)
      if (crosses[pass] == 1) passes.push_back({pass, false});
    return passes;
  }

  if (!is_of_each && !is_first_missing) return std::nullopt;
  for (size_t pass = is_of_each ? 0 : 1; pass < crosses.size(); ++pass)
    passes.push_back({pass, crosses[pass] == 0});
  return passes;
}

}  // namespace stepscope::model
