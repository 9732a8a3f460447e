#include "tests/fuzz/mutators/damaged_trace.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>

#include "trace/file/codec/column_codec.h"
#include "trace/file/codec/compression.h"
#include "trace/file/index.h"
#include "trace/file/reader.h"

namespace stepscope::fuzz {
namespace {

using file::BlockHeader;
using file::BlockType;
using file::kBlockHeaderSize;

bool is_index_block(BlockHeader const& header) {
  return header.type == static_cast<uint16_t>(BlockType::kIndex);
}

/// A block header as it stands there.
std::optional<BlockHeader> claimed_header(base::ByteSpan file, size_t offset) {
  if (file.size() - offset < kBlockHeaderSize) return std::nullopt;
  base::ByteReader in(file.subspan(offset, kBlockHeaderSize));
  if (in.get<uint32_t>() != file::kBlockMagic) return std::nullopt;

  BlockHeader header;
  header.type = in.get<uint16_t>();
  header.compressed = in.get<uint16_t>();
  header.stored_size = in.get<uint32_t>();
  header.raw_size = in.get<uint32_t>();
  header.track = in.get<uint32_t>();
  header.rows = in.get<uint32_t>();
  header.min_start = in.get<int64_t>();
  header.max_end = in.get<int64_t>();
  header.kinds = in.get<uint64_t>();
  return header;
}

/// Calls visit(offset, header, payload) for the blocks from the first on; a payload ends with the
/// file.
template <class Visit>
void walk_blocks(base::ByteSpan file, Visit visit) {
  for (size_t offset = file::kFileHeaderSize; offset < file.size();) {
    auto const header = claimed_header(file, offset);
    if (!header) {
      ++offset;
      continue;
    }

    size_t const begin = offset + kBlockHeaderSize;
    size_t const size = std::min<size_t>(header->stored_size, file.size() - begin);
    visit(offset, *header, file.subspan(begin, size));
    offset = begin + size;
  }
}

template <class T>
void change_number(T& number, std::mt19937_64& random) {
  number = static_cast<T>(edge_number(static_cast<uint64_t>(number), random));
}

/// What one row of an index claims.
void change_entry(file::IndexEntry& entry, std::mt19937_64& random) {
  switch (random() % 8) {
    case 0:
      return change_number(entry.offset, random);
    case 1:
      return change_number(entry.size, random);
    case 2:
      return change_number(entry.header.type, random);
    case 3:
      return change_number(entry.header.track, random);
    case 4:
      return change_number(entry.header.rows, random);
    case 5:
      return change_number(entry.header.min_start, random);
    case 6:
      return change_number(entry.header.max_end, random);
    default:
      return change_number(entry.header.kinds, random);
  }
}

}  // namespace

bool begins_as_trace(base::ByteSpan bytes) {
  return file::is_stepscope_file(bytes) && bytes.size() >= file::kFileHeaderSize;
}

void repair_checksums(std::span<std::byte> file) {
  walk_blocks(file, [&](size_t offset, BlockHeader header, base::ByteSpan payload) {
    header.stored_size = static_cast<uint32_t>(payload.size());
    auto const sound = file::encode_block_header(header, payload);
    std::memcpy(file.data() + offset, sound.span().data(), sound.size());
    size_t const end = offset + kBlockHeaderSize + payload.size();
    if (!is_index_block(header) || file.size() - end < file::kEndSize) return;
    auto const end_record = file::encode_end(offset);
    std::memcpy(file.data() + end, end_record.span().data(), end_record.size());
  });
}

IndexForm any_index_form(std::mt19937_64& random) {
  uint64_t const chosen = random() % 8;
  if (chosen == 0) return IndexForm::kNone;
  if (chosen == 1) return IndexForm::kFalse;
  return IndexForm::kTrue;
}

std::vector<LooseBlock> take_apart(base::ByteSpan file) {
  std::vector<LooseBlock> blocks;
  file::Decompressor decompressor;

  walk_blocks(file, [&](size_t, BlockHeader header, base::ByteSpan payload) {
    if (is_index_block(header)) return;
    LooseBlock& block = blocks.emplace_back(LooseBlock{header, {payload.begin(), payload.end()}});
    if (header.compressed != 1 || header.raw_size > file::kMaxPayloadBytes) return;

    auto raw = decompressor.decompress(payload, header.raw_size);
    if (!raw) return;
    block.payload = std::move(*raw);
    block.header.compressed = 0;
  });
  return blocks;
}

std::vector<std::byte> put_together(std::vector<LooseBlock> const& blocks, IndexForm index,
                                    std::mt19937_64& random) {
  base::ByteWriter out;
  out.put_bytes(std::as_bytes(std::span(file::kFileMagic)));
  out.put(file::kFormatVersion);
  out.put(static_cast<uint32_t>(file::kFileHeaderSize));
  while (out.size() < file::kFileHeaderSize) out.put(uint8_t{0});

  std::vector<file::IndexEntry> entries;
  for (LooseBlock const& block : blocks) {
    BlockHeader header = block.header;
    header.stored_size = static_cast<uint32_t>(block.payload.size());
    if (header.compressed == 0) header.raw_size = header.stored_size;
    entries.push_back({out.size(), kBlockHeaderSize + block.payload.size(), header});
    out.put_bytes(file::encode_block_header(header, block.payload).span());
    out.put_bytes(block.payload);
  }

  if (index != IndexForm::kNone) {
    if (index == IndexForm::kFalse && !entries.empty())
      change_entry(entries[random() % entries.size()], random);
    file::ColumnEncoder columns;
    base::ByteWriter payload;
    file::encode_index(entries, columns, payload);
    BlockHeader header{.type = static_cast<uint16_t>(BlockType::kIndex),
                       .rows = static_cast<uint32_t>(entries.size())};
    header.stored_size = header.raw_size = static_cast<uint32_t>(payload.size());
    uint64_t const offset = out.size();
    out.put_bytes(file::encode_block_header(header, payload.span()).span());
    out.put_bytes(payload.span());
    out.put_bytes(file::encode_end(offset).span());
  }
  return {out.span().begin(), out.span().end()};
}

uint64_t edge_number(uint64_t old, std::mt19937_64& random) {
  constexpr uint64_t kEdges[] = {0,          1,
                                 2,          7,
                                 0x7F,       0x80,
                                 0xFF,       0x100,
                                 0x7FFF,     0xFFFF,
                                 0x10000,    0x10001,
                                 1U << 20,   0x7FFFFFFF,
                                 0x80000000, 0xFFFFFFFF,
                                 1ULL << 32, 1ULL << 61,
                                 INT64_MAX,  1ULL << 63,
                                 UINT64_MAX, UINT64_MAX - 1};
  switch (random() % 6) {
    case 0:
      return old + 1;
    case 1:
      return old - 1;
    case 2:
      return old ^ (uint64_t{1} << (random() % 64));
    case 3:
      return 0 - old;
    default:
      return kEdges[random() % std::size(kEdges)];
  }
}

}  // namespace stepscope::fuzz
