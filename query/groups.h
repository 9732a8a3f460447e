// Sums over groups of events in one pass over the columns: what GROUP BY needs, at a tenth of what
// SQLite takes to see every row.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "query/tables/event_scan.h"
#include "query/tables/rows_table.h"

namespace stepscope::query {

/// The groups to form, and the values to compute for each. Columns are indices in table->columns.
struct GroupPlan {
  model::TraceTable const* table = nullptr;  ///< of TableRows::kEvents
  std::vector<size_t> keys;
  std::vector<size_t> measures;  ///< numbers
  EventFilter filter;
};

/// Names and types of what group_events() gives: the keys, kCountColumn, and of each measure its
/// four sums.
std::vector<VirtualColumn> group_columns(GroupPlan const& plan);
inline constexpr std::string_view kCountColumn = "count(*)";
enum class Sum : uint8_t { kCount, kSum, kMin, kMax };
inline constexpr int kSumCount = 4;
/// "count(dur_ns)", "sum(dur_ns)", …
std::string sum_column(Sum sum, std::string_view measure);

/// Partial groups: a group may come in several rows (of several processes or tracks), whose sums
/// are to be added. Nothing when a sum is not what SQLite would make of it: it leaves 64 bits, or
/// numbers beyond INT64_MAX or of both types are in it.
std::optional<Rows> group_events(Processes const& processes, GroupPlan const& plan);

}  // namespace stepscope::query
