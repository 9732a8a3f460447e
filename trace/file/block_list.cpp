#include "trace/file/block_list.h"

#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "trace/base/format.h"
#include "trace/file/codec/compression.h"

namespace stepscope::file {
namespace {

using base::ByteSpan;

bool has_type(BlockHeader const& header, BlockType type) {
  return header.type == static_cast<uint16_t>(type);
}

/// The blocks that the index names; nothing when there is no sound index.
std::optional<BlockList> indexed_blocks(ByteSpan bytes) {
  if (bytes.size() < kFileHeaderSize + kEndSize) return std::nullopt;
  auto const offset = end_at(bytes, bytes.size() - kEndSize);
  if (!offset) return std::nullopt;
  auto const index = block_at(bytes, *offset);
  if (!index || !has_type(index->header, BlockType::kIndex)) return std::nullopt;
  // A block takes its header at least: a larger number is damage, and must not cost memory.
  if (index->header.rows > bytes.size() / kBlockHeaderSize) return std::nullopt;
  auto entries = decode_index(index->payload, index->header.rows, bytes.size());
  if (!entries) return std::nullopt;
  return BlockList{std::move(*entries), {}, true, true};
}

/// The next place from `from` on where a block may begin, or the end.
uint64_t next_magic(ByteSpan bytes, uint64_t from) {
  constexpr uint32_t kMagic = kBlockMagic;
  while (from < bytes.size()) {
    // memchr runs at the speed of memory; the first byte of the magic number is rare enough in
    // compressed data.
    void const* const found =
        std::memchr(bytes.data() + from, static_cast<int>(kMagic & 0xFF), bytes.size() - from);
    if (found == nullptr) return bytes.size();
    from = static_cast<uint64_t>(static_cast<std::byte const*>(found) - bytes.data());
    if (bytes.size() - from < sizeof kMagic) return bytes.size();
    if (std::memcmp(bytes.data() + from, &kMagic, sizeof kMagic) == 0) return from;
    ++from;
  }
  return bytes.size();
}

/// Walks from block to block. Every byte is looked at once, whatever the file claims: a sound
/// header tells where its block ends also when the payload is damaged.
class Walk {
 public:
  explicit Walk(ByteSpan bytes) : bytes_(bytes) {}

  BlockList run() {
    while (offset_ < bytes_.size()) {
      if (auto const header = header_at(bytes_, offset_)) {
        end_gap();
        take_block(*header);
      } else {
        if (gap_begin_ == kNoGap) gap_begin_ = offset_;
        offset_ = next_magic(bytes_, offset_ + 1);
      }
    }
    end_gap();
    return std::move(list_);
  }

 private:
  static constexpr uint64_t kNoGap = UINT64_MAX;

  void take_block(BlockHeader const& header) {
    IndexEntry const entry{offset_, kBlockHeaderSize + header.stored_size, header};
    // The index is written when everything else is there; what stands behind it was appended later.
    bool const is_index = has_type(header, BlockType::kIndex);
    list_.finished = list_.finished || is_index;
    if (entry.size > bytes_.size() - offset_) {
      list_.damage.push_back(damaged_block(entry));
      list_.damage.back().bytes = bytes_.size() - offset_;
      list_.damage.back().is_end = true;
      offset_ = bytes_.size();
      return;
    }
    offset_ += entry.size;
    if (is_index && end_at(bytes_, offset_) == entry.offset)
      offset_ += kEndSize;
    else if (is_index && offset_ == bytes_.size())
      list_.damage.push_back({offset_, 0, {}, true, true});
    if (!block_at(bytes_, entry.offset))
      list_.damage.push_back(damaged_block(entry));
    else if (!is_index)
      list_.blocks.push_back(entry);
  }

  void end_gap() {
    if (gap_begin_ == kNoGap) return;
    bool const is_end = offset_ == bytes_.size();
    list_.damage.push_back(
        {gap_begin_, offset_ - gap_begin_, {}, is_end, is_end && list_.finished});
    gap_begin_ = kNoGap;
  }

  ByteSpan bytes_;
  BlockList list_;
  uint64_t offset_ = kFileHeaderSize;
  uint64_t gap_begin_ = kNoGap;
};

/// Behind a replaced index and its end, when they stand at `offset`; else `offset`.
uint64_t behind_replaced_index(ByteSpan bytes, uint64_t offset) {
  auto const block = block_at(bytes, offset);
  if (!block || !has_type(block->header, BlockType::kIndex)) return offset;
  uint64_t const end = offset + kBlockHeaderSize + block->payload.size();
  return end_at(bytes, end) == offset ? end + kEndSize : offset;
}

}  // namespace

BlockList find_blocks(ByteSpan bytes) {
  if (auto list = indexed_blocks(bytes)) return std::move(*list);
  return Walk(bytes).run();
}

DamagedPlace damaged_block(IndexEntry const& entry) {
  bool const is_derived =
      has_type(entry.header, BlockType::kIndex) || has_type(entry.header, BlockType::kSummary) ||
      has_type(entry.header, BlockType::kSteps) || has_type(entry.header, BlockType::kPadding);
  return {entry.offset, entry.size, entry.header, false, is_derived};
}

std::string describe(DamagedPlace const& place, std::span<model::Track const> tracks) {
  BlockHeader const& header = place.header;
  auto const track = [&] {
    return header.track < tracks.size() ? tracks[header.track].name
                                        : fmt::format("track {}", header.track);
  };
  switch (static_cast<BlockType>(header.type)) {
    case BlockType::kStrings:
      return "names of events";
    case BlockType::kDescription:
      return "a description of the process";
    case BlockType::kEvents:
      return fmt::format("{} events of {}, from {} to {}", base::format_count(header.rows), track(),
                         base::format_duration(header.min_start),
                         base::format_duration(header.max_end));
    case BlockType::kIndex:
      return "an index";
    case BlockType::kTracks:
      return "descriptions of tracks";
    case BlockType::kSummary:
      return "the summary of " + track();
    case BlockType::kSteps:
      return "the list of steps";
    case BlockType::kPadding:
      return "bytes that only fill the file";
  }
  if (header.type != 0)
    return fmt::format("a block of type {}, which this version does not know", header.type);
  if (place.offset == 0) return "the header of the file";
  if (place.bytes == 0) return "the end of the file";
  return place.is_end ? "a block of which only the beginning is there"
                      : "bytes that belong to no block";
}

std::vector<DamagedPlace> unclaimed_places(ByteSpan bytes, std::vector<IndexEntry> const& blocks) {
  std::vector<DamagedPlace> places;
  uint64_t offset = kFileHeaderSize;
  auto const look_until = [&](uint64_t end) {
    for (uint64_t next = 0;
         offset < end && (next = behind_replaced_index(bytes, offset)) != offset;)
      offset = next;
    if (offset < end) places.push_back({offset, end - offset, {}, false, true});
  };
  for (IndexEntry const& entry : blocks) {
    look_until(entry.offset);
    offset = entry.offset + entry.size;
  }
  look_until(bytes.size());
  return places;
}

}  // namespace stepscope::file
