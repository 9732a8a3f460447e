// Blocks of a file decoded straight into the columns of a trace: for whole files whose tracks are
// in order, as writers leave them. Nothing is decoded twice, copied, merged or sorted. The bytes
// are untrusted as everywhere (trace_file.h): whatever is not as expected is left to the way over
// TraceBuilder's batches, which gives the same trace of the same rows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "trace/base/bytes.h"
#include "trace/file/codec/event_codec.h"
#include "trace/file/index.h"
#include "trace/model/build/trace_builder.h"

namespace stepscope::file {

struct InOrderRows {
  base::ByteSpan bytes;  ///< the file
  std::span<IndexEntry const>
      blocks;  ///< event blocks, in the order of the file; their tracks are the builder's
  ColumnNames const& columns;
  ColumnSelection wanted;
  std::span<model::StringId const>
      ids;  ///< of the file's texts in the builder; invalid where one is not known
  bool are_calls_merged =
      false;  ///< collective calls were merged with their kernels before the file was written
};

/// Fills the builder, which has its tracks and no events: to be finished with finish_rows().
/// Returns how many events have lost their names. Nothing, and the builder is of no use any more,
/// where a block is damaged, of rows of unknown kinds or with impossible times, where rows of a
/// track are not in order, and where the calls of a communication library have to be merged with
/// their kernels.
std::optional<uint64_t> read_in_order(InOrderRows const& rows, model::TraceBuilder& builder);

/// Replaces a file's ids of texts; returns how many names are not known.
uint64_t translate_names(std::span<model::StringId const> ids, std::span<model::StringId> names);

}  // namespace stepscope::file
