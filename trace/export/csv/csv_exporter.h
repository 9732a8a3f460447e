// A run as CSV (RFC 4180): the tables of trace/model/tables.h. A folder (one that is there, a name
// that ends with "/" or has no extension) gets a file for each table, next to the files in it. Any
// other name becomes one file with the events. NULL is an empty field, numbers are digits; texts
// are safe to open in a spreadsheet program (base::append_csv_text).
#pragma once

#include "trace/export/exporters.h"

namespace stepscope::exporting {

/// Errors: the place cannot be written, or a file is where the folder should be.
base::Expected<std::unique_ptr<Exporter>> open_csv(std::string const& path);

}  // namespace stepscope::exporting
