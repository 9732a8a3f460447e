// What a program without a device spends its time in.
#pragma once

#include <cstdint>
#include <optional>

#include "analyzer/results/analysis.h"

namespace stepscope::analyzer {

/// Busy time summed over all threads: the whole for shares of ranges if there are no steps.
int64_t busy_time(HostStats const& host);

/// Refers to the analysis.
struct MainRange {
  HostRangeStats const* range = nullptr;  ///< null: none has time of its own
  int64_t ns = 0;                         ///< its own time: of a step, or in all
};
/// The range, other than a wait for data, with most time of its own: in a step if `per_step`, else
/// in all. A range that ran once is a frame around the program and explains nothing, unless no
/// range ran twice.
MainRange main_range(Analysis const& analysis, bool per_step);

/// How long a mean step is in no range, ns; known for a program of one thread. Ranges of several
/// may overlap.
std::optional<int64_t> unnamed_time(HostStats const& host);

}  // namespace stepscope::analyzer
