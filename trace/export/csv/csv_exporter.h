// A run as CSV (RFC 4180): the tables of trace/model/tables.h. A path that ends in .csv becomes one file with the events; any
// other, "folder/" too, a folder with a file for each table, beside what is there. NULL is an empty field, numbers are digits;
// texts are safe to open in a spreadsheet program (base::append_csv_text).
#pragma once

#include "trace/export/exporters.h"

namespace stepscope::exporting {

/// Errors: the place cannot be written, or a file is where the folder should be.
base::Expected<std::unique_ptr<Exporter>> open_csv(std::string const& path);

}  // namespace stepscope::exporting
