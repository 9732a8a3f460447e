// Rewrites frequent statements: counts and sums of one event table in groups. groups.h sums over
// the columns first, so SQLite sees one row per group instead of one per event. A statement is left
// unchanged unless the result is certain to be the same.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "query/groups.h"

namespace stepscope::query {

struct Rewritten {
  GroupPlan plan;
  std::string sql;  ///< over a table whose columns are group_columns(plan)
};

/// Rewrites a SELECT over one event table. Items are columns and count, sum, avg, total, min and
/// max of columns. The statement may have GROUP BY columns, HAVING, ORDER BY and LIMIT, or be
/// SELECT DISTINCT of columns. WHERE may use any columns but ids; it may compare times with
/// numbers. Returns nothing for joins, subqueries, expressions inside of sums and quoted names.
/// `group_table`: name of the table of groups in the new statement.
std::optional<Rewritten> rewrite(std::string_view sql, std::string_view group_table);

}  // namespace stepscope::query
