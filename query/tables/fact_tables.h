// What the analysis says, as tables: the numbers of `stepscope analyze --json`
// (docs/reference/ANALYSIS_JSON.md) under their names there, but for instants, which are start_ns
// here as in all tables.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "analyzer/results/analysis.h"
#include "query/tables/rows_table.h"

namespace stepscope::query {

struct FactColumn {
  std::string_view name;
  model::ColumnType type;
  std::string_view meaning;
  bool is_event = false;  ///< the id of an event: known only where all of them are in memory
};

struct FactTable {
  std::string_view name, meaning;
  std::vector<FactColumn> columns;
  void (*fill)(model::Run const& run, analyzer::Analysis const& analysis, Rows& rows);
};

/// device_time, steps, idle_gaps, matched_collectives, links, host_steps, host_ranges,
/// host_threads, negotiations, findings, finding_metrics, finding_evidence.
std::span<FactTable const> fact_tables();

}  // namespace stepscope::query
