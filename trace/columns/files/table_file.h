// A table as a file of typed columns, written group of rows by group of rows.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/base/expected.h"
#include "trace/columns/column.h"

namespace stepscope::columns {

/// A column of a file: fixed before its first row.
struct FileColumn {
  std::string name;  ///< unique in the file
  ValueType type = ValueType::kInteger;
  std::string meaning;  ///< empty: none is known
};

struct FileSchema {
  std::vector<FileColumn> columns;
  std::vector<std::pair<std::string, std::string>> notes;  ///< what the file says of itself
};

/// Rows of a file that are written together.
inline constexpr size_t kRowsOfGroup = size_t{1} << 18U;

/// Takes the bytes of a file from front to back. Errors: the disk is full.
using WriteBytes = std::function<base::Expected<void>(std::string_view bytes)>;

/// After an error only destruction is allowed. Not thread-safe; uses several threads itself.
class TableFile {
 public:
  TableFile() = default;
  TableFile(TableFile const&) = delete;
  TableFile& operator=(TableFile const&) = delete;
  virtual ~TableFile() = default;
  /// `columns`: as in the schema, each of the same number of rows, at most kRowsOfGroup. Errors: of
  /// writing; more than the format holds.
  virtual base::Expected<void> add(std::span<Column const> columns) = 0;
  /// The end of the file. Errors: as above.
  virtual base::Expected<void> finish() = 0;
};

/// Apache Parquet (https://parquet.apache.org/docs/file-format/), version 2: Zstandard,
/// dictionaries for columns with few values, least and greatest value of each column in each group.
std::unique_ptr<TableFile> parquet_file(FileSchema schema, WriteBytes write);
/// Arrow's IPC file format, also called Feather 2
/// (https://arrow.apache.org/docs/format/Columnar.html#ipc-file-format): not compressed, so that
/// readers map it. Texts are dictionaries, which lie behind the rows; each text stays in memory
/// once. More than 2 GiB of texts in one column are an error.
std::unique_ptr<TableFile> arrow_file(FileSchema schema, WriteBytes write);

}  // namespace stepscope::columns
