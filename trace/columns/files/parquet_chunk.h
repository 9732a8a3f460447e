// The rows of one column of one row group, as Parquet has them: a page of a dictionary where there
// is one, and pages of values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trace/columns/column.h"

namespace stepscope::columns {

/// Numbers of the format (parquet.thrift).
namespace parquet {
enum Type : int32_t { kInt64 = 2, kDouble = 5, kByteArray = 6 };
enum Encoding : int32_t { kPlain = 0, kRle = 3, kDeltaBinaryPacked = 5, kRleDictionary = 8 };
inline constexpr int32_t kZstd = 6;
}  // namespace parquet

struct ParquetChunk {
  std::string pages;  ///< with their headers, one behind the other
  int64_t uncompressed_bytes = 0;
  int64_t first_data_page = 0;  ///< place in `pages`; the dictionary lies before it
  bool has_dictionary = false;
  std::vector<int32_t> encodings;
  uint64_t rows = 0, nulls = 0;
  std::optional<std::pair<std::string, std::string>> least_and_greatest;  ///< as PLAIN values
};

/// Any thread.
ParquetChunk encode_chunk(Column const& column);

}  // namespace stepscope::columns
