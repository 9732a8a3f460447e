// Recognizes the statements that most questions are (counts and sums of one event table in groups) and rewrites them: the sums
// are made over the columns first (groups.h), SQLite then sees one row a group instead of one an event. What is not certain to
// mean the same is left as it is.
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

/// SELECT of columns and of count, sum, avg, total, min and max of columns, FROM one event table, with any WHERE over columns
/// that are no times or ids (times: compared with numbers), GROUP BY columns, HAVING, ORDER BY, LIMIT; or SELECT DISTINCT of
/// columns. Nothing for everything else: joins, subqueries, expressions inside of sums, quoted names. `group_table`: the name of
/// that table in the new statement.
std::optional<Rewritten> rewrite(std::string_view sql, std::string_view group_table);

}  // namespace stepscope::query
