// The SQL that makes the tables of an exported database, and views over them that look like the
// tables of queries.
#pragma once

#include <string>
#include <vector>

#include "trace/model/tables.h"

namespace stepscope::exporting {

/// The columns that event_data stores; the others are in the tables that it refers to, or follow
/// from these.
std::vector<model::TableColumn> stored_event_columns();
/// The columns of the details of a table of TableRows::kEvents.
std::vector<model::TableColumn> detail_columns(model::TraceTable const& table);
/// "kernels_data"
std::string data_table(model::TraceTable const& table);

/// All tables and views, empty.
std::string schema_sql();
/// Made when the rows are there.
std::string index_sql();
/// "INSERT INTO … VALUES(?,?,…),(?,?,…),…"
std::string insert_sql(std::string const& table, size_t columns, size_t rows);

}  // namespace stepscope::exporting
