// How a device spent a window: unions of its device ops over all streams, by class (DEFINITIONS,
// "Device time"). Never sums of durations. O(ops) for the sets, O(log n + covered intervals) for a
// window.
#pragma once

#include "analyzer/metrics/core/device_ops.h"

namespace stepscope::analyzer {

/// Unions of device ops, run time.
struct DeviceSets {
  model::IntervalSet busy, compute, comm, copy;
  model::IntervalSet exposed_comm;  ///< comm ∖ compute
  model::IntervalSet exposed_copy;  ///< copy ∖ compute ∖ comm
  model::IntervalSet
      exposed_wait;  ///< the part of exposed_comm in which the device waited for peers
  model::IntervalSet
      exposed_late;  ///< the part of exposed_comm that late peers cause (wait_attribution.h)
  std::optional<model::IntervalSet>
      blocking_comm;  ///< the part of exposed_comm in which no other op was ready (readiness.h)
  /// Parts of exposed_comm and exposed_copy, by time, disjoint: compute would have hidden them, had
  /// the host launched it; by what the host did instead. None where the recording does not tell
  /// what streams waited for.
  std::vector<IdleGap> unhidden;
  model::IntervalSet unhidden_comm;  ///< those in exposed_comm
};

DeviceSets unite_ops(DeviceOps const& device);

/// `unhidden`: by time, disjoint.
void add_unhidden(DeviceSets& sets, std::vector<IdleGap> unhidden);

/// |set ∩ window|.
int64_t measure_in(model::IntervalSet const& set, Interval window);

/// Splits windows of a device. Any may be asked for; those that come by time are found without a
/// search.
class WindowSplitter {
 public:
  /// `gaps`: by time, disjoint. Both must outlive it.
  WindowSplitter(DeviceSets const& sets, std::vector<IdleGap> const& gaps)
      : sets_(sets), gaps_(gaps) {}
  TimeSplit split(Interval window);

 private:
  /// In each set the place where the last window began.
  struct Near {
    size_t busy = 0, compute = 0, comm = 0, copy = 0, exposed_comm = 0, exposed_copy = 0,
           exposed_wait = 0, exposed_late = 0, blocking_comm = 0, unhidden_comm = 0, unhidden = 0,
           gaps = 0;
  };
  DeviceSets const& sets_;
  std::vector<IdleGap> const& gaps_;
  Near near_;
};

/// Splits a window, which it returns, and the windows of steps (by time), in one walk.
TimeSplit split_with_steps(DeviceSets const& sets, std::vector<IdleGap> const& gaps,
                           Interval window, std::vector<StepStats>& steps);

}  // namespace stepscope::analyzer
