// An event block's payload: the events of one track as columns, detail tables included, each column
// named by a number that the file's description explains.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/base/bytes.h"
#include "trace/file/codec/column_table.h"
#include "trace/model/build/column_spans.h"
#include "trace/model/event_view.h"

namespace stepscope::file {

/// Rows a block holds at most: small enough to decode one for a glance, large enough to compress
/// well.
inline constexpr size_t kMaxBlockRows = 65'536;

/// Column names of the base table and of every detail table, as a file's description lists them:
/// position = column number.
struct ColumnNames {
  std::vector<std::string> base;
  std::array<std::vector<std::string>, model::kDetailTableCount> details;
};
/// What this version writes.
ColumnNames const& current_columns();
/// "steps", "kernels", …: keys of the description; index = DetailTable.
std::string_view detail_table_name(int table);

/// Which columns are decoded; the others are zero. Starts, durations and kinds always are.
struct ColumnSelection {
  bool name = true, correlation = true;
  bool depth = true;             ///< of the trace; files do not hold it
  uint32_t tables = UINT32_MAX;  ///< bit t = detail table t
};
constexpr uint32_t table_bit(model::DetailTable table) {
  return uint32_t{1} << static_cast<unsigned>(table);
}

/// Not thread-safe: one a thread.
class EventEncoder {
 public:
  /// `memory`: as ColumnEncoder's.
  explicit EventEncoder(base::BlockMemory const& memory = base::kHeapBlocks)
      : columns_(memory), values_(memory), names_(memory) {}
  /// Appends the payload of `events`: at most kMaxBlockRows, sorted.
  void encode(model::EventView const& events, base::ByteWriter& out);

 private:
  ColumnEncoder columns_;
  base::Scratch<uint64_t> values_;
  base::Scratch<uint32_t> names_;
};

/// Detail rows by table: of a block.
using DetailCounts = std::array<size_t, model::kDetailTableCount>;

/// Not thread-safe: one a thread.
class EventDecoder {
 public:
  /// Reads a payload whose columns are named by `names`. Columns this version does not know are
  /// skipped, missing ones are zero, rows of unknown kinds are left out and counted in
  /// `unknown_rows`. String ids are those of the file. False when damaged.
  bool decode(base::ByteSpan payload, uint32_t rows, ColumnNames const& names,
              ColumnSelection const& wanted, model::EventBatch& batch, uint64_t& unknown_rows);

  /// Marks the rows whose names are wanted, and decodes nothing else (ColumnDecoder::mark).
  /// `marks`: one a row of the payload, at most kMaxBlockRows. False when damaged.
  bool mark_names(base::ByteSpan payload, ColumnNames const& names, std::span<char const> wanted,
                  std::span<uint8_t> marks, size_t& count);

  /// The same in two steps, into existing memory. First the rows: as many as there is room for, at
  /// most kMaxBlockRows. Then the details that they own, from row `first` of each table on, where
  /// their tables are wanted. False also when a row is of an unknown kind.
  bool decode_rows(base::ByteSpan payload, ColumnNames const& names, ColumnSelection const& wanted,
                   model::RowSpans const& rows);
  bool decode_details(base::ByteSpan payload, ColumnNames const& names,
                      ColumnSelection const& wanted, DetailCounts const& first,
                      DetailCounts const& counts, model::DetailTables& tables);
  /// Whether an op of the payload whose details were decoded last may be of a CUDA graph.
  [[nodiscard]] bool may_have_graphs(ColumnNames const& names) const;

 private:
  bool decode_base(uint32_t rows, ColumnNames const& names, ColumnSelection const& wanted,
                   model::EventBatch& batch);
  bool decode_kinds(uint32_t rows, ColumnNames const& names, model::EventBatch& batch,
                    uint64_t& unknown_rows);
  bool decode_names(ColumnNames const& names, std::span<model::StringId> out);
  bool decode_details(ColumnNames const& names, ColumnSelection const& wanted,
                      DetailCounts const& first, DetailCounts const& counts,
                      model::DetailTables& tables);
  template <class Row, class Fields>
  bool decode_table(uint8_t scope, std::vector<std::string> const& names, Fields const& fields,
                    std::span<Row> rows);

  /// Room for so many; what is in it is lost with the next call.
  std::span<uint64_t> values(size_t count);

  ColumnTable columns_;
  std::vector<uint64_t> values_;
};

}  // namespace stepscope::file
