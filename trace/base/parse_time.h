// Times and parts of a run's time as people write them on a command line. One spelling for CLI and
// viewer.
#pragma once

#include <cstdint>
#include <string_view>

#include "trace/base/expected.h"

namespace stepscope::base {

/// Half-open, ns since the run's first event.
struct TimeRange {
  double begin_ns = 0, end_ns = 0;
};

/// "1.5s:1600ms": begin and end with units ns, us, µs, ms or s; a number without one is in seconds.
/// 0 ≤ begin < end, at most 31 years. The error is that of the option --time.
Expected<TimeRange> parse_time_range(std::string_view text);

/// "2.5s", "500ms", "3": as above. The error is that of `option`.
Expected<int64_t> parse_duration(std::string_view text, std::string_view option);

}  // namespace stepscope::base
