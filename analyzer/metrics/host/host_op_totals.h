// What launching threads cost, added up over all devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analyzer/results/analysis.h"

namespace stepscope::analyzer {

/// Idle time of one cause during one host operation. Refers to the analysis.
struct HostOpTotal {
  IdleCause cause = IdleCause::kUnexplained;
  /// None: further operations together (names > 0), or no operation.
  std::optional<std::string_view> name;
  uint64_t names = 0, gaps = 0;
  int64_t idle_ns = 0;
  double share = 0;  ///< of the idle time of all rows
  size_t devices = 0;
};
/// Order: rows with a name by idle time, descending; then the remaining names together; last the
/// time without an operation.
std::vector<HostOpTotal> host_op_totals(Analysis const& analysis);

/// Exposed communication and copies that compute would have hidden if it had been launched in time.
struct UnhiddenTotals {
  IdleSplit by_cause{};
  int64_t all_ns = 0;      ///< the sum of by_cause
  int64_t comm_ns = 0;     ///< of it communication
  int64_t exposed_ns = 0;  ///< all exposed communication and copies
};
UnhiddenTotals unhidden_totals(Analysis const& analysis);

}  // namespace stepscope::analyzer
