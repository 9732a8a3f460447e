#include "analyzer/results/time_split.h"

#include "trace/base/check.h"

namespace stepscope::analyzer {

std::optional<double> TimeSplit::overlap() const {
  if (comm_ns == 0) return std::nullopt;
  return static_cast<double>(comm_ns - exposed_comm_ns) / static_cast<double>(comm_ns);
}

std::optional<double> TimeSplit::utilization() const {
  if (window_ns == 0) return std::nullopt;
  return static_cast<double>(busy_ns) / static_cast<double>(window_ns);
}

int64_t part_ns(TimeSplit const& split, int index) {
  STEPSCOPE_CHECK(index >= 0 && index < kPartCount);
  if (index == 0) return split.compute_ns;
  if (index == 1) return split.exposed_comm_ns;
  if (index == 2) return split.exposed_copy_ns;
  return split.idle_by_cause[static_cast<size_t>(index - kFirstIdlePart)];
}

}  // namespace stepscope::analyzer
