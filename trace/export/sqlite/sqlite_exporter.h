// A run as an SQLite database. The tables of trace/model/tables.h have their names and columns, so
// that a query of `stepscope query` on them runs on it with any tool. Tables of events are views:
// the data are in event_data and one table a detail kind, names in texts.
#pragma once

#include "trace/export/exporters.h"

namespace stepscope::exporting {

/// Errors: the file cannot be written, a folder is there.
base::Expected<std::unique_ptr<Exporter>> open_sqlite(std::string const& path);

}  // namespace stepscope::exporting
