// Columns in the Arrow C data interface (https://arrow.apache.org/docs/format/CDataInterface.html):
// pandas, polars, pyarrow and DuckDB take them without a copy.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "query/columns.h"

namespace stepscope::python {

// The interface's structs: their layout is its binary contract.
struct ArrowSchema {
  char const* format;
  char const* name;
  char const* metadata;
  int64_t flags;
  int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  int64_t length, null_count, offset, n_buffers, n_children;
  void const** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};
struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
  int (*get_next)(ArrowArrayStream*, ArrowArray*);
  char const* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};

using Columns = std::shared_ptr<std::vector<query::Column> const>;

/// One batch with all rows: integers as int64, reals as float64, texts as a dictionary of int32 and
/// large utf8. The columns live as long as somebody holds an array of the stream. The caller frees
/// the struct; who reads the stream calls release().
ArrowArrayStream* new_arrow_stream(Columns columns);

}  // namespace stepscope::python
