// The events of a few kinds, with the calls that launched them, out of a file: for who looks at
// every process of a large run first and needs little of each. Blocks in which there can be none
// are not touched, of the others nothing is kept but these rows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "trace/base/bytes.h"
#include "trace/file/codec/event_codec.h"
#include "trace/file/index.h"
#include "trace/model/event_batch.h"

namespace stepscope::file {

struct RowsOfKinds {
  base::ByteSpan bytes;                ///< the file
  std::span<IndexEntry const> blocks;  ///< event blocks, in the order of the file
  ColumnNames const& columns;
  std::span<model::StringId const>
      ids;             ///< of the file's texts in the trace; invalid where one is not known
  uint64_t kinds = 0;  ///< bit k = events of kind k
};

/// Beside `blocks`: their rows of these kinds and the launches with the correlation of one of them
/// that is a device op. The bytes are untrusted (trace_file.h), what headers say of kinds is
/// believed. Nothing where one of the blocks that are looked at is damaged, has events of kinds
/// that this version does not know, or holds the calls of a communication library, which have to be
/// merged with kernels.
std::optional<std::vector<model::EventBatch>> read_rows_of_kinds(RowsOfKinds const& rows);

}  // namespace stepscope::file
