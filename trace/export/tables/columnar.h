// The tables of a run as files of typed columns (trace/columns/files/table_file.h): Parquet and
// Arrow IPC. Integers have 64 bits with a sign; a column of integers and reals is one of reals;
// addresses are texts, as in CSV.
#pragma once

#include "trace/export/exporters.h"

namespace stepscope::exporting {

// Errors: as open_table_files().
base::Expected<std::unique_ptr<Exporter>> open_parquet(std::string const& path);
base::Expected<std::unique_ptr<Exporter>> open_arrow(std::string const& path);

}  // namespace stepscope::exporting
