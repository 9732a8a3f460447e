// The parts of a window of a device in the order and the colours in which every panel stacks them.
#pragma once

#include <array>
#include <cstdint>

#include "analyzer/results/analysis.h"
#include "analyzer/results/run_summary.h"
#include "viewer/widgets/palette.h"

namespace stepscope::viewer {

struct SplitPart {
  Paint paint;
  int64_t time;
};
inline constexpr size_t kSplitParts = 3 + analyzer::kIdleCauseCount;

/// Compute, exposed communication, exposed copies, idle by cause: together the window, to the ns.
inline std::array<SplitPart, kSplitParts> split_parts(analyzer::TimeSplit const& split) {
  std::array<SplitPart, kSplitParts> parts{{{Paint::kCompute, split.compute_ns},
                                            {Paint::kCommunication, split.exposed_comm_ns},
                                            {Paint::kCopy, split.exposed_copy_ns}}};
  for (size_t cause = 0; cause < split.idle_by_cause.size(); ++cause)
    parts[3 + cause] = {paint_of(static_cast<analyzer::IdleCause>(cause)),
                        split.idle_by_cause[cause]};
  return parts;
}

/// The same of a step's period.
inline std::array<SplitPart, kSplitParts> split_parts(analyzer::StepPeriod const& period) {
  auto parts = split_parts(analyzer::TimeSplit());
  for (size_t part = 0; part < parts.size(); ++part) parts[part].time = period.parts_ns[part];
  return parts;
}

}  // namespace stepscope::viewer
