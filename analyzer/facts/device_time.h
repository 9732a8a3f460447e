// How a device spent a window: unions of its device ops over all streams, by class (DEFINITIONS, "Device time"). Never sums of
// durations. O(ops) for the sets, O(log n + covered intervals) for a window.
#pragma once

#include "analyzer/facts/run_index.h"

namespace stepscope::analyzer {

/// Unions of device ops, run time.
struct DeviceSets {
  model::IntervalSet busy, compute, comm, copy;
  model::IntervalSet exposed_comm;                  ///< comm ∖ compute
  model::IntervalSet exposed_copy;                  ///< copy ∖ compute ∖ comm
  model::IntervalSet exposed_wait;                  ///< the part of exposed_comm in which the device waited for peers
  model::IntervalSet exposed_late;                  ///< the part of exposed_comm that late peers cause (wait_attribution.h)
  std::optional<model::IntervalSet> blocking_comm;  ///< the part of exposed_comm in which no other op was ready (readiness.h)
  /// Parts of exposed_comm and exposed_copy, by time, disjoint: compute would have hidden them, had the host launched it; by what
  /// the host did instead. None where the recording does not tell what streams waited for.
  std::vector<IdleGap> unhidden;
  model::IntervalSet unhidden_comm;  ///< those in exposed_comm
};

DeviceSets unite_ops(DeviceIndex const& device);

/// `unhidden`: by time, disjoint.
void add_unhidden(DeviceSets& sets, std::vector<IdleGap> unhidden);

/// |set ∩ window|.
int64_t measure_in(model::IntervalSet const& set, Interval window);

/// Everything of TimeSplit but the idle causes.
TimeSplit split_window(DeviceSets const& sets, Interval window);

/// Adds what of the gaps (by time, disjoint) lies in the split's window to its idle causes.
void add_idle_causes(TimeSplit& split, Interval window, std::vector<IdleGap> const& gaps);

}  // namespace stepscope::analyzer
