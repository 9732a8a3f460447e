// A run as the tables of trace/model/tables.h, a file a table. A folder (one that is there, a name
// that ends with "/" or has no extension) gets a file for each table, next to the files in it. Any
// other name becomes one file with the events.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "trace/base/files/partial_file.h"
#include "trace/export/exporters.h"
#include "trace/model/tables.h"

namespace stepscope::exporting {

/// One table of the run. After an error only destruction is allowed.
class TableFileWriter {
 public:
  TableFileWriter() = default;
  TableFileWriter(TableFileWriter const&) = delete;
  TableFileWriter& operator=(TableFileWriter const&) = delete;
  virtual ~TableFileWriter() = default;
  /// The rows of one more process. Errors: the disk is full, more than the format holds.
  virtual base::Expected<void> add(model::TableSource const& source) = 0;
  /// Errors: as above; then nothing stays of the file.
  virtual base::Expected<void> finish() = 0;
  /// As Exporter::note(), a sentence.
  [[nodiscard]] virtual std::string note() const { return {}; }
};

using OpenTableFile = std::unique_ptr<TableFileWriter> (*)(base::PartialFile file,
                                                           model::TraceTable const& table);

/// `suffix`: of the files in a folder, ".csv". Errors: the place cannot be written, or a file is
/// where the folder should be.
base::Expected<std::unique_ptr<Exporter>> open_table_files(std::string const& path,
                                                           std::string_view suffix,
                                                           OpenTableFile open);

}  // namespace stepscope::exporting
