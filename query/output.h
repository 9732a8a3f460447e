// Results of queries as people and programs read them: an aligned table, CSV, JSON, Parquet, Arrow.
// Rows are written as they come; a table looks at the first ones to find its columns' widths.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "query/database.h"
#include "trace/columns/files/table_file.h"

namespace stepscope::query {

using columns::WriteBytes;

/// Errors: the disk is full, the reader is gone.
WriteBytes to_stream(std::FILE* file);

/// Writes to a file; after the last row finish() writes what is left.
class ResultWriter : public RowSink {
 public:
  /// Errors: the file cannot be written.
  virtual base::Expected<void> finish() = 0;
};

/// `width`: columns of the terminal, into which texts are cut to fit; 0 = nothing is cut. Ends with
/// the number of rows.
std::unique_ptr<ResultWriter> table_writer(WriteBytes write, size_t width);
/// The line of the SQL that an error is in, with a mark under the place; two lines that end with
/// \n.
std::string marked_place(std::string const& sql, size_t offset);
/// RFC 4180 with a heading, but lines end with \n; texts as base::append_csv_text() writes them,
/// NULL is an empty field.
std::unique_ptr<ResultWriter> csv_writer(WriteBytes write);
/// An array of objects, a row a line. Columns of the same name get "_2", "_3" behind it.
std::unique_ptr<ResultWriter> json_writer(WriteBytes write);

/// columns::parquet_file or columns::arrow_file.
using OpenColumnar = std::unique_ptr<columns::TableFile> (*)(columns::FileSchema, WriteBytes);
/// Names as in JSON. Nothing is written before finish().
std::unique_ptr<ResultWriter> columnar_writer(WriteBytes write, OpenColumnar open);

}  // namespace stepscope::query
