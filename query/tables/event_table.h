// A table of the trace (trace/model/tables.h) for SQL: reads the columns where they are. Conditions
// on process, track, kind, name, id, correlation and times are found by EventScan, not looked for
// row by row.
#pragma once

#include "query/tables/event_scan.h"
#include "query/tables/virtual_table.h"

namespace stepscope::query {

class EventTable final : public VirtualTable {
 public:
  /// Both outlive it.
  EventTable(Processes const& processes, model::TraceTable const& table);
  [[nodiscard]] std::vector<VirtualColumn> columns() const override;
  void best_index(sqlite3_index_info& info) override;
  std::unique_ptr<Cursor> open() override;

 private:
  [[nodiscard]] bool gives_order(sqlite3_index_info const& info,
                                 std::vector<bool> const& fixed) const;

  Processes const& processes_;
  model::TraceTable const& table_;
  double rows_ = 0;           ///< of all processes
  bool by_process_ = true;    ///< processes ascend by (rank, process)
  bool ranks_differ_ = true;  ///< and no two of them have the same rank
};

}  // namespace stepscope::query
