#include "trace/export/exporters.h"

#include <array>

#include "trace/export/chrome/chrome_exporter.h"
#include "trace/export/perfetto/perfetto_exporter.h"
#include "trace/export/sqlite/sqlite_exporter.h"
#include "trace/export/tables/columnar.h"
#include "trace/export/tables/csv.h"

namespace stepscope::exporting {
namespace {

constexpr std::array kFormats = {
    ExportFormat{"perfetto", ".pftrace", "Perfetto's UI and trace processor", false, open_perfetto},
    ExportFormat{
        "chrome", ".json",
        "Chrome trace events as PyTorch's profiler writes them; -o FOLDER/ for a file a rank", true,
        open_chrome},
    ExportFormat{"csv", ".csv",
                 "the events, for spreadsheets; -o FOLDER/ for a file for each table", true,
                 open_csv},
    ExportFormat{
        "parquet", ".parquet",
        "the events, for DuckDB, polars, pandas, Spark; -o FOLDER/ for a file for each table", true,
        open_parquet},
    ExportFormat{"arrow", ".arrow",
                 "the same as Arrow IPC (Feather 2), to map without reading; larger", true,
                 open_arrow},
    ExportFormat{"sqlite", ".sqlite", "a database with the tables of stepscope query", false,
                 open_sqlite},
};

}  // namespace

std::span<ExportFormat const> export_formats() { return kFormats; }

}  // namespace stepscope::exporting
