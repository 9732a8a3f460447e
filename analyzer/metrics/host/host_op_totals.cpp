#include "analyzer/metrics/host/host_op_totals.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analyzer/metrics/core/saturate.h"

namespace stepscope::analyzer {
namespace {

/// Sorts further names together before no operation.
std::string_view sort_name(HostOpStats const& row) {
  if (row.host_op) return *row.host_op;
  return row.names > 0 ? "*" : "";
}

}  // namespace

std::vector<HostOpTotal> host_op_totals(Analysis const& analysis) {
  std::map<std::tuple<IdleCause, bool, std::string_view>, HostOpTotal> by_name;
  int64_t all_ns = 0;
  for (HostOpStats const& row : analysis.host_ops) {
    HostOpTotal& sum = by_name[{row.cause, row.host_op.has_value(), sort_name(row)}];
    sum.cause = row.cause;
    if (row.host_op) sum.name = *row.host_op;
    sum.names = std::max(sum.names, row.names);
    sum.gaps += row.gaps;
    add_saturated(sum.idle_ns, row.idle_ns);
    add_saturated(all_ns, row.idle_ns);
    ++sum.devices;
  }

  std::vector<HostOpTotal> sums;
  for (auto& [key, sum] : by_name) {
    if (all_ns > 0) sum.share = static_cast<double>(sum.idle_ns) / static_cast<double>(all_ns);
    sums.push_back(sum);
  }
  std::stable_sort(sums.begin(), sums.end(), [](HostOpTotal const& a, HostOpTotal const& b) {
    return a.name.has_value() != b.name.has_value() ? a.name.has_value() : a.idle_ns > b.idle_ns;
  });
  return sums;
}

UnhiddenTotals unhidden_totals(Analysis const& analysis) {
  UnhiddenTotals sums;
  for (DeviceStats const& device : analysis.devices) {
    for (size_t i = 0; i < sums.by_cause.size(); ++i)
      add_saturated(sums.by_cause[i], device.time.unhidden_by_cause[i]);
    add_saturated(sums.exposed_ns, device.time.exposed_comm_ns);
    add_saturated(sums.exposed_ns, device.time.exposed_copy_ns);
    add_saturated(sums.comm_ns, device.time.unhidden_comm_ns);
  }

  for (int64_t const ns : sums.by_cause) add_saturated(sums.all_ns, ns);
  return sums;
}

}  // namespace stepscope::analyzer
