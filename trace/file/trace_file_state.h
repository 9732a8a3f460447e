// What an open TraceFile knows: its blocks, descriptions and texts.
#pragma once

#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/base/bytes.h"
#include "trace/base/files/mapped_file.h"
#include "trace/file/block_list.h"
#include "trace/file/codec/file_strings.h"
#include "trace/file/description.h"
#include "trace/file/format.h"
#include "trace/file/trace_file.h"
#include "trace/model/build/trace_builder.h"

namespace stepscope::file {

inline bool has_type(IndexEntry const& entry, BlockType type) {
  return entry.header.type == static_cast<uint16_t>(type);
}

/// What decoding one block gave.
struct DecodedBlock {
  model::EventBatch events;
  uint64_t unknown_events = 0, unknown_names = 0;
  bool damaged = false;
};

struct TraceFile::State {
  std::string name;
  Calls calls = Calls::kToMerge;
  base::MappedFile mapped;  ///< empty when the bytes are somebody else's
  base::ByteSpan bytes;
  BlockList list;
  Description description;
  std::vector<model::Track> tracks;
  uint64_t lost_descriptions = 0;
  uint64_t lost_tracks = 0;  ///< event blocks of tracks that there cannot be
  mutable uint64_t text_bytes_left = 0;
  mutable std::once_flag strings_loaded;
  mutable FileStrings strings;
  mutable std::vector<DamagedPlace> damaged_strings;

  [[nodiscard]] std::optional<std::vector<std::byte>> text_of(IndexEntry const& entry) const;
  void refuse_impossible_rows();
  void load_descriptions();
  void load_strings() const;
  [[nodiscard]] std::optional<model::TrackSummary> stored_summary(IndexEntry const& entry) const;
  [[nodiscard]] std::optional<std::vector<StepSpan>> stored_steps(IndexEntry const& entry) const;
  [[nodiscard]] bool is_sound(IndexEntry const& entry, EventDecoder& decoder) const;
  void add_missing_tracks();
  [[nodiscard]] std::vector<IndexEntry> select(Selection const& selection) const;
  [[nodiscard]] std::optional<Block> event_block(IndexEntry const& entry) const;
  [[nodiscard]] bool is_still_there(IndexEntry const& entry) const;
  void decode(IndexEntry const& entry, Selection const& selection,
              std::span<model::StringId const> ids, EventDecoder& decoder, DecodedBlock& out) const;
  std::vector<model::StringId> begin_trace(std::span<std::string_view const> texts,
                                           model::TraceBuilder& builder) const;
  [[nodiscard]] std::optional<model::Trace> read_in_order(
      std::vector<IndexEntry> const& blocks, ColumnSelection const& wanted,
      std::span<std::string_view const> texts) const;
  [[nodiscard]] uint64_t lost_while_opening() const;
  [[nodiscard]] model::ImportLog log_of(uint64_t lost_blocks, uint64_t unknown_events,
                                        uint64_t unknown_names) const;
};

}  // namespace stepscope::file
