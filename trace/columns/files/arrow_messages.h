// Messages of Arrow's IPC format: flatbuffers of Message.fbs, Schema.fbs and File.fbs
// (https://arrow.apache.org/docs/format/Columnar.html#serialization-and-interprocess-communication-ipc).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/columns/files/table_file.h"

namespace stepscope::columns {

/// Everything in a file begins at a multiple of this.
inline constexpr size_t kArrowAlignment = 8;

/// How many rows an array has, and how many of them are NULL.
struct ArrowNode {
  int64_t length = 0, nulls = 0;
};
/// Where the bytes of an array are in the body.
struct ArrowBuffer {
  int64_t offset = 0, length = 0;
};
/// Where a message is in the file.
struct ArrowBlock {
  int64_t offset = 0;
  int32_t metadata_bytes = 0;  ///< with what stands before it and fills it up
  int32_t padding = 0;
  int64_t body_bytes = 0;
};

/// The arrays of a message, without their bytes.
struct ArrowBatch {
  int64_t rows = 0;
  std::vector<ArrowNode> nodes;
  std::vector<ArrowBuffer> buffers;
  int64_t body_bytes = 0;
};

// Each with its length in front, filled up to the alignment. The body follows.

/// The dictionary of column i has the id i.
std::string arrow_schema_message(FileSchema const& schema);
std::string arrow_batch_message(ArrowBatch const& batch);
std::string arrow_dictionary_message(int64_t id, ArrowBatch const& batch);
/// The end of the file, with its length and the format's name.
std::string arrow_footer(FileSchema const& schema, std::span<ArrowBlock const> dictionaries,
                         std::span<ArrowBlock const> batches);

/// RFC 4648, with padding.
std::string base64(std::string_view bytes);

}  // namespace stepscope::columns
