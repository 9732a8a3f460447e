#include "query/process_sums.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "query/rewrite.h"

namespace stepscope::query {

file::ColumnSelection columns_of_sums(std::string_view sql) {
  auto const rewritten = rewrite(sql, "sums");
  if (!rewritten) return {};

  GroupPlan const& plan = rewritten->plan;
  auto const is_depth = [&](size_t column) { return plan.table->columns[column].name == "depth"; };
  bool const has_depth = std::any_of(plan.keys.begin(), plan.keys.end(), is_depth) ||
                         std::any_of(plan.measures.begin(), plan.measures.end(), is_depth);
  bool const has_details = plan.table->detail != model::DetailTable::kNone;
  return {.depth = has_depth, .tables = has_details ? file::table_bit(plan.table->detail) : 0};
}

base::Expected<std::string> sums_of_process(std::string_view sql, model::Trace const& trace,
                                            int64_t offset_ns) {
  auto const rewritten = rewrite(sql, "sums");
  if (!rewritten) return base::fail("a question about sums cannot be read");

  Processes one;
  one.push_back(std::make_unique<Process>(trace, offset_ns, 0));
  auto const rows = group_events(one, rewritten->plan);
  // Without bytes: its events must be looked at one by one.
  return rows ? rows->packed() : std::string();
}

std::optional<Rows> sums_of_all(std::string_view sql, std::vector<std::string> of_processes) {
  auto const rewritten = rewrite(sql, "sums");
  if (!rewritten) return std::nullopt;

  Rows rows(group_columns(rewritten->plan).size());
  for (std::string& process : of_processes) {
    if (!rows.add_packed(process)) return std::nullopt;
    std::string().swap(process);  // assigning would keep the memory
  }
  return rows;
}

}  // namespace stepscope::query
