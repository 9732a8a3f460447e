#include "analyzer/metrics/host/main_range.h"

#include <algorithm>

namespace stepscope::analyzer {
namespace {

MainRange main_range_of(Analysis const& analysis, bool per_step, uint64_t at_least_ran) {
  MainRange main;
  for (HostStats const& host : analysis.hosts)
    for (HostRangeStats const& range : host.ranges) {
      if (range.kind == HostRangeKind::kInput || range.names != 1 || range.count < at_least_ran)
        continue;

      int64_t const ns = per_step ? range.step_exclusive_ns.value_or(0) : range.exclusive_ns;
      if (ns > main.ns) main = {&range, ns};
    }
  return main;
}

}  // namespace

int64_t busy_time(HostStats const& host) {
  double sum = 0;
  for (HostThreadStats const& thread : host.threads) sum += static_cast<double>(thread.busy_ns);
  return static_cast<int64_t>(std::min(sum, 9e18));
}

std::optional<int64_t> unnamed_time(HostStats const& host) {
  if (!host.mean_ns || host.threads.size() != 1) return std::nullopt;
  double unnamed = static_cast<double>(*host.mean_ns);
  for (HostRangeStats const& range : host.ranges)
    unnamed -= static_cast<double>(range.step_exclusive_ns.value_or(0));
  return static_cast<int64_t>(std::max(unnamed, 0.0));
}

MainRange main_range(Analysis const& analysis, bool per_step) {
  MainRange const repeated = main_range_of(analysis, per_step, 2);
  return repeated.range != nullptr ? repeated : main_range_of(analysis, per_step, 1);
}

}  // namespace stepscope::analyzer
