// A file's index: where each block is and, of event blocks, what is in it: all that is needed to choose what to read.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trace/base/bytes.h"
#include "trace/file/column_table.h"
#include "trace/file/format.h"

namespace stepscope::file {

/// A block and where it is.
struct IndexEntry {
  uint64_t offset = 0;  ///< of its header
  uint64_t size = 0;    ///< header included
  BlockHeader header;   ///< stored_size, raw_size and compressed are not in the index
};

/// The payload of the index block.
void encode_index(std::vector<IndexEntry> const& entries, ColumnEncoder& columns, base::ByteWriter& out);
/// Nothing when it is damaged.
std::optional<std::vector<IndexEntry>> decode_index(base::ByteSpan payload, uint32_t count);

/// The last bytes of a file, which say where its index is.
base::ByteWriter encode_end(uint64_t index_offset);
/// Where the index block is, when the file has a sound end.
std::optional<uint64_t> find_index(base::ByteSpan file);

}  // namespace stepscope::file
