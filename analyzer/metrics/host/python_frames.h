// How many calls of Python functions a profiler recorded (with_stack): recording them slows the
// host.
#pragma once

#include <vector>

#include "analyzer/results/device_stats.h"
#include "analyzer/results/step_stats.h"
#include "trace/model/run.h"

namespace stepscope::analyzer {

/// The frames on the thread with most of them: it is the one that runs the model.
class PythonFrames {
 public:
  /// O(strings), and O(events of threads) where one of them names a frame.
  explicit PythonFrames(model::RankTrace const& rank);

  /// Fills python_frames of the device, whose window must be set, and of its steps, by time.
  void count(DeviceStats& device, std::vector<StepStats>& steps) const;

 private:
  [[nodiscard]] uint64_t begun_in(Interval when) const;

  std::vector<int64_t> starts_;  ///< run time, ascending
};

}  // namespace stepscope::analyzer
