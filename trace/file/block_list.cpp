#include "trace/file/block_list.h"

#include <cstring>
#include <optional>

#include "trace/file/compression.h"

namespace stepscope::file {
namespace {

using base::ByteSpan;

/// The blocks that the index names; nothing when there is no sound index.
std::optional<BlockList> indexed_blocks(ByteSpan bytes) {
  auto const offset = find_index(bytes);
  if (!offset) return std::nullopt;
  auto const index = block_at(bytes, *offset);
  if (!index || index->header.type != static_cast<uint16_t>(BlockType::kIndex)) return std::nullopt;
  // A block takes its header at least: a larger number is damage, and must not cost memory.
  if (index->header.rows > bytes.size() / kBlockHeaderSize) return std::nullopt;
  auto entries = decode_index(index->payload, index->header.rows);
  if (!entries) return std::nullopt;
  return BlockList{std::move(*entries), {}, true};
}

/// The next place from `from` on where a block may begin, or the end.
uint64_t next_magic(ByteSpan bytes, uint64_t from) {
  constexpr uint32_t kMagic = kBlockMagic;
  while (from < bytes.size()) {
    // memchr runs at the speed of memory; the first byte of the magic number is rare enough in compressed data.
    void const* const found = std::memchr(bytes.data() + from, static_cast<int>(kMagic & 0xFF), bytes.size() - from);
    if (found == nullptr) return bytes.size();
    from = static_cast<uint64_t>(static_cast<std::byte const*>(found) - bytes.data());
    if (bytes.size() - from < sizeof kMagic) return bytes.size();
    if (std::memcmp(bytes.data() + from, &kMagic, sizeof kMagic) == 0) return from;
    ++from;
  }
  return bytes.size();
}

/// Every sound block, found by walking the file.
BlockList scanned_blocks(ByteSpan bytes) {
  BlockList list;
  uint64_t offset = kFileHeaderSize;
  uint64_t damaged_since = UINT64_MAX;
  auto const end_of_damage = [&](uint64_t end) {
    if (damaged_since == UINT64_MAX) return;
    bool const is_end = end == bytes.size();
    list.damage.push_back({damaged_since, end - damaged_since,
                           is_end ? "a block that is only partly there" : "bytes that are no sound block", is_end});
    damaged_since = UINT64_MAX;
  };
  while (offset < bytes.size()) {
    if (auto const block = block_at(bytes, offset)) {
      end_of_damage(offset);
      uint64_t const size = kBlockHeaderSize + block->header.stored_size;
      list.blocks.push_back({offset, size, block->header});
      offset += size;
      continue;
    }
    if (damaged_since == UINT64_MAX) damaged_since = offset;
    offset = next_magic(bytes, offset + 1);
  }
  end_of_damage(bytes.size());
  return list;
}

}  // namespace

BlockList find_blocks(ByteSpan bytes) {
  if (auto list = indexed_blocks(bytes)) return std::move(*list);
  return scanned_blocks(bytes);
}

}  // namespace stepscope::file
