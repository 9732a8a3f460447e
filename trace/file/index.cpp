#include "trace/file/index.h"

#include <xxhash.h>

namespace stepscope::file {
namespace {

enum IndexColumn : uint8_t {
  kOffset = 0,
  kSize = 1,
  kType = 2,
  kTrack = 3,
  kRows = 4,
  kMinStart = 5,
  kMaxEnd = 6,
  kKinds = 7
};
constexpr uint8_t kScope = 0;

/// The number that an index column holds for a block.
uint64_t value_of(IndexEntry const& entry, IndexColumn column) {
  switch (column) {
    case kOffset:
      return entry.offset;
    case kSize:
      return entry.size;
    case kType:
      return entry.header.type;
    case kTrack:
      return entry.header.track;
    case kRows:
      return entry.header.rows;
    case kMinStart:
      return static_cast<uint64_t>(entry.header.min_start);
    case kMaxEnd:
      return static_cast<uint64_t>(entry.header.max_end);
    case kKinds:
      return entry.header.kinds;
  }
  return 0;
}

void set_value(IndexEntry& entry, IndexColumn column, uint64_t value) {
  switch (column) {
    case kOffset:
      entry.offset = value;
      break;
    case kSize:
      entry.size = value;
      break;
    case kType:
      entry.header.type = static_cast<uint16_t>(value);
      break;
    case kTrack:
      entry.header.track = static_cast<uint32_t>(value);
      break;
    case kRows:
      entry.header.rows = static_cast<uint32_t>(value);
      break;
    case kMinStart:
      entry.header.min_start = possible_time(static_cast<int64_t>(value));
      break;
    case kMaxEnd:
      entry.header.max_end = possible_time(static_cast<int64_t>(value));
      break;
    case kKinds:
      entry.header.kinds = value;
      break;
  }
}

}  // namespace

void encode_index(std::vector<IndexEntry> const& entries, ColumnEncoder& columns,
                  base::ByteWriter& out) {
  columns.clear();
  std::vector<uint64_t> values(entries.size());
  for (uint8_t column = kOffset; column <= kKinds; ++column) {
    for (size_t i = 0; i < entries.size(); ++i)
      values[i] = value_of(entries[i], static_cast<IndexColumn>(column));
    columns.put(kScope, column, values);
  }
  put_columns(columns, out);
}

std::optional<std::vector<IndexEntry>> decode_index(base::ByteSpan payload, uint32_t count,
                                                    uint64_t file_size) {
  ColumnTable columns;
  if (!columns.parse(payload)) return std::nullopt;
  std::vector<IndexEntry> entries(count);
  std::vector<uint64_t> values(count);
  for (uint8_t column = kOffset; column <= kKinds; ++column) {
    if (!columns.decode(kScope, column, values)) return std::nullopt;
    for (size_t i = 0; i < count; ++i)
      set_value(entries[i], static_cast<IndexColumn>(column), values[i]);
  }
  uint64_t free_from = kFileHeaderSize;
  for (IndexEntry const& entry : entries) {
    bool const fits = entry.offset >= free_from && entry.offset <= file_size &&
                      entry.size <= file_size - entry.offset;
    if (!fits || entry.size < kBlockHeaderSize) return std::nullopt;
    free_from = entry.offset + entry.size;
  }
  return entries;
}

base::ByteWriter encode_end(uint64_t index_offset) {
  base::ByteWriter end;
  end.put(index_offset);
  end.put(XXH3_64bits(end.span().data(), end.size()));
  end.put(kEndMagic);
  return end;
}

std::optional<uint64_t> end_at(base::ByteSpan file, uint64_t offset) {
  if (offset > file.size() || file.size() - offset < kEndSize) return std::nullopt;
  base::ByteSpan const end = file.subspan(offset, kEndSize);
  base::ByteReader in(end);
  auto const index_offset = in.get<uint64_t>();
  auto const checksum = in.get<uint64_t>();
  auto const magic = in.get<uint64_t>();
  if (magic != kEndMagic || checksum != XXH3_64bits(end.data(), sizeof index_offset))
    return std::nullopt;
  return index_offset;
}

}  // namespace stepscope::file
