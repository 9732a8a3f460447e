// The runs of a workload one after the other: at which of them the step time changed, by how much,
// and which part of it.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/compare/run_sample.h"

namespace stepscope::analyzer {

/// A run, as much of it as a history keeps.
struct HistoryPoint {
  std::string label;  ///< a commit, a date, a path; hostile text
  double step_ns = 0;
  std::array<double, kStepPartCount> parts_ns{};  ///< by StepPart; sum to the step
  std::optional<double> peak_allocated_bytes;
  std::string device;  ///< what it ran on, and how many of it; hostile text
  uint64_t steps = 0;
};
/// The run needs a step.
HistoryPoint history_point(RunMeasurements const& run, std::string label);

struct LevelChange {
  size_t at = 0;                                  ///< the first run of the new level
  double before_ns = 0, after_ns = 0;             ///< means of the levels
  double p = 1;                                   ///< of the permutation test
  std::array<double, kStepPartCount> parts_ns{};  ///< of the difference
  StepPart most =
      StepPart::kCompute;  ///< the part that changed most, in the direction of the whole
};

struct HistoryStats {
  std::vector<HistoryPoint> points;  ///< those that were looked at: the last kMostSeriesValues
  size_t left_out = 0;               ///< before them
  std::vector<LevelChange> changes;  ///< by time
};

/// Changes of less than `least_share` of the level before do not count: the levels are one.
HistoryStats analyze_history(std::vector<HistoryPoint> points, double least_share);

}  // namespace stepscope::analyzer
