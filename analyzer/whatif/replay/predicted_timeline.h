// When everything of a replayed run would begin and end, track by track: what a viewer draws under
// the recorded timeline. O(nodes).
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "analyzer/whatif/replay/replay.h"

namespace stepscope::analyzer {

/// A stream or a thread of the recorded run. Columns of equal length; begins never decrease.
struct PredictedTrack {
  uint32_t process = 0;  ///< index into Run::ranks
  uint32_t track = 0;
  model::RankTrace const* rank = nullptr;  ///< that was replayed, and has the rows
  std::vector<uint32_t> rows;              ///< of rank->trace
  std::vector<int64_t> begin, end;         ///< run time, begin ≤ end
  /// When each stretch of a thread was, run time. A call in which another one lies is several
  /// stretches. Empty for streams: their events have the row's own time.
  std::vector<Interval> stretches;

  [[nodiscard]] size_t size() const { return rows.size(); }
  /// When the event was, run time.
  [[nodiscard]] Interval recorded(size_t i) const;
};

/// A step of a device.
struct PredictedStep {
  DeviceRef ref;
  int64_t step = 0;
  bool is_measured = false;      ///< counts for WhatIfAnswer::step_ns
  Interval recorded, predicted;  ///< run time
};

struct PredictedTimeline {
  static constexpr size_t kNoStep = std::numeric_limits<size_t>::max();

  std::vector<PredictedTrack> tracks;  ///< by process, streams and threads with nodes
  std::vector<PredictedStep> steps;    ///< by device, then by time
  /// The first measured step that was replayed: it begins where it was recorded, and all times are
  /// moved so. kNoStep: no step is measured, and nothing is moved.
  size_t aligned_step = kNoStep;
};

/// `times`, `recorded`: replays of the changed and of the recorded weights.
PredictedTimeline predicted_timeline(ReplayGraph const& graph, ReplayWeights const& weights,
                                     ReplayTimes const& times, ReplayTimes const& recorded);

}  // namespace stepscope::analyzer
