// Budget files: TOML with a table of limits for every workload and one for each
// (docs/guide/GATE.md).
//
//   [default]
//   step_time_ms = "<= 12"
//   [workload.cifar10]
//   exposed_comm_share = "<= 10 %"
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyzer/gate/budget.h"
#include "trace/base/expected.h"

namespace stepscope::gate {

inline constexpr size_t kMostBudgetBytes = size_t{1} << 20;

/// The budgets of one workload, in the order of the known facts: its own, and those of [default]
/// for what it does not name. Everything in the file is checked, other workloads' budgets too.
/// Errors: `path`:line:column and what to write there; there is nothing for this workload.
base::Expected<std::vector<analyzer::Budget>> parse_budgets(std::string_view text,
                                                            std::string const& path,
                                                            std::string_view workload);

}  // namespace stepscope::gate
