// Rows on their way from the decoding thread to the file: an EventBatch of the model in memory that
// fork() does not copy.
#pragma once

#include <cstdint>
#include <tuple>

#include "trace/model/event_batch.h"
#include "trace/model/event_view.h"
#include "tracer/core/unforked_memory.h"

namespace stepscope::tracer {

template <class Tables>
struct UnforkedTablesOf;
template <class... Rows>
struct UnforkedTablesOf<std::tuple<model::DetailColumn<Rows>...>> {
  using Type = std::tuple<UnforkedColumn<Rows>...>;
};
/// One column a detail table, in the order of model::DetailTables.
using UnforkedTables = UnforkedTablesOf<model::DetailTables>::Type;

/// Columns as in model::EventBatch.
struct RowBatch {
  UnforkedColumn<int64_t> start, dur;
  UnforkedColumn<model::StringId> name;
  UnforkedColumn<model::EventKind> kind;
  UnforkedColumn<uint64_t> correlation;  ///< 0 = none
  UnforkedTables details;

  [[nodiscard]] size_t size() const { return start.size(); }
  [[nodiscard]] bool empty() const { return start.empty(); }
  void reserve(size_t rows);
  void resize(size_t rows);  ///< of the details: none
  void clear();

  /// Valid as long as no column changes.
  [[nodiscard]] model::EventView view() const;
  [[nodiscard]] model::EventBatch copy() const;
};

}  // namespace stepscope::tracer
