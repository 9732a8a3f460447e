// An event block's payload: the events of one track as columns, detail tables included, each column named by a number that the
// file's description explains.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/base/bytes.h"
#include "trace/model/event_batch.h"

namespace stepscope::file {

/// Column names of the base table and of every detail table, as a file's description lists them: position = column number.
struct ColumnNames {
  std::vector<std::string> base;
  std::array<std::vector<std::string>, model::kDetailTableCount> details;
};
/// What this version writes.
ColumnNames const& current_columns();
/// "steps", "kernels", …: keys of the description; index = DetailTable.
std::string_view detail_table_name(int table);

/// The payload of `batch`, which must be sorted.
void encode_events(model::EventBatch const& batch, base::ByteWriter& out);

/// Reads a payload whose columns are named by `names`. Columns this version does not know are skipped, missing ones are zero,
/// rows of unknown kinds are left out and counted in `unknown_rows`. String ids are those of the file. False when damaged.
bool decode_events(base::ByteSpan payload, uint32_t rows, ColumnNames const& names, model::EventBatch& batch,
                   uint64_t& unknown_rows);

}  // namespace stepscope::file
