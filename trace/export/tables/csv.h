// The tables of a run as CSV (RFC 4180): NULL is an empty field, numbers are digits; texts are safe
// to open in a spreadsheet program (base::append_csv_text).
#pragma once

#include "trace/export/exporters.h"

namespace stepscope::exporting {

/// Errors: as open_table_files().
base::Expected<std::unique_ptr<Exporter>> open_csv(std::string const& path);

}  // namespace stepscope::exporting
