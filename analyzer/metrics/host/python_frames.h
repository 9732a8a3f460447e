// How many calls of Python functions a profiler recorded (with_stack): recording them slows the
// host.
#pragma once

#include <string_view>
#include <vector>

#include "analyzer/results/device_stats.h"
#include "analyzer/results/step_stats.h"
#include "trace/model/run.h"

namespace stepscope::analyzer {

/// "torch/nn/modules/module.py(1501): _call_impl", "<built-in method linear>", "nn.Module:
/// Linear_3": as Kineto names frames.
bool is_python_frame(std::string_view name);

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
