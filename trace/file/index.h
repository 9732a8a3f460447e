// A file's index: where each block is and, of event blocks, what is in it: all that is needed to
// choose what to read.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "trace/base/bytes.h"
#include "trace/file/codec/column_table.h"
#include "trace/file/format.h"

namespace stepscope::file {

/// A block and where it is.
struct IndexEntry {
  uint64_t offset = 0;  ///< of its header
  uint64_t size = 0;    ///< header included
  BlockHeader header;   ///< stored_size, raw_size and compressed are not in the index
};

/// The payload of the index block.
void encode_index(std::vector<IndexEntry> const& entries, ColumnEncoder& columns,
                  base::ByteWriter& out);
/// Nothing when it is damaged, or names blocks that are out of order, overlap or pass `file_size`.
std::optional<std::vector<IndexEntry>> decode_index(base::ByteSpan payload, uint32_t count,
                                                    uint64_t file_size);

/// The last bytes of a file, which say where its index is.
base::ByteWriter encode_end(uint64_t index_offset);
/// Where the index block is of which a sound end at `offset` tells.
std::optional<uint64_t> end_at(base::ByteSpan file, uint64_t offset);

}  // namespace stepscope::file
