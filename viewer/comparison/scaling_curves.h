// The lines of a scaling chart next to its measured points: the models, and the replay of one of
// its runs. The numbers are those of `stepscope report`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/scaling/series.h"

namespace stepscope::viewer {

struct ScalingCurve {
  struct Point {
    double devices = 1;
    analyzer::Estimate throughput;  ///< in the unit of the series
  };
  std::string label;  ///< of the legend
  std::string hint;   ///< what the line is
  bool is_replay = false;
  std::vector<Point> points;  ///< by devices
};

/// Lines reach so many times the devices that were measured, as on the page of the report.
inline constexpr double kCurvesBeyond = 4;
/// The models, then the replay where `series.replayed` has one. Without it the models end at the
/// most devices that were measured.
std::vector<ScalingCurve> scaling_curves(analyzer::ScalingSeries const& series);

/// What replay and models predict for a number of devices, a line each; empty where none does.
std::vector<std::string> predicted_words(analyzer::ScalingSeries const& series, uint64_t devices);

/// Numbers of devices that only the replay knows, as far as lines reach; ascending.
std::vector<uint64_t> predicted_sizes(analyzer::ScalingSeries const& series);

}  // namespace stepscope::viewer
