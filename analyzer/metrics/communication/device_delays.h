// One device in the collectives of the run: what its process needs to know of the others, and what
// it tells about itself in return. Both are a few numbers a collective, so that a process can be
// observed anywhere (wait_attribution.h compares all of them).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/metrics/time/device_time.h"
#include "analyzer/metrics/time/readiness.h"

namespace stepscope::analyzer {

/// The collectives of a device that have other participants.
struct CollectivesOfDevice {
  static constexpr uint32_t kNone = 0xFFFFFFFF;
  struct One {
    Interval when;  ///< the device's own participation
    int64_t wait_ns = 0;
    int64_t all_wait_ns = 0;  ///< of all participants
    /// Place of the last collective of the same participants that had ended before, on the late
    /// one.
    uint32_t previous = kNone;
    model::TrackId track;
    bool is_late = false;  ///< this device is the late participant
  };
  std::vector<One> of;  ///< by begin
};

/// Time of a device by activity: compute, exposed transfer, exposed copy, then idle by cause
/// (activity_index.h). Exposed waiting counts as idle time of cause kPeer.
inline constexpr size_t kActivityTimes = 3 + kIdleCauseCount;
using ActivityTimes = std::array<int64_t, kActivityTimes>;

/// What a device did before its collectives: its part of the comparison with the others.
struct DeviceDelays {
  struct Exposed {
    int64_t late_ns = 0;      ///< CollectiveStats::Participant::exposed_late_ns
    int64_t transfer_ns = 0;  ///< … and exposed_transfer_ns
  };
  /// Weighted by 1 for the late participant, by minus its share of the waits for another.
  struct Difference {
    std::array<float, kActivityTimes> more{};          ///< since the collective before, ns
    std::array<float, kActivityTimes> more_of_step{};  ///< since its step began
    float waiters_known = 0;
  };
  /// What only the late participant can tell.
  struct Late {
    uint32_t place = 0;  ///< of the collective
    bool is_level = false, is_first_step = false;
    int64_t since = 0;
    std::array<uint32_t, kIdleCauseCount> host{};  ///< in names: the host op of most idle time
  };

  std::vector<Exposed> exposed;         ///< beside CollectivesOfDevice::of
  std::vector<Difference> differences;  ///< … too
  std::vector<Late> late;               ///< by place
  std::vector<std::string> names = {""};
};

/// Fills `exposed` from the device's sets.exposed_comm. Returns the part of exposed_comm that late
/// peers cause: of each collective what compute would hide, or it would not take, without them. It
/// is the end of the collective. Without late peers a collective is shorter by its wait. One that
/// began at once after another on its stream begins earlier, too: by as much as that one would have
/// ended earlier, if it was `ready` itself. Compute stays where it is.
model::IntervalSet split_exposed_wait(CollectivesOfDevice const& collectives,
                                      model::IntervalSet const& exposed_comm,
                                      std::vector<ReadyCollective> const& ready,
                                      std::vector<DeviceDelays::Exposed>& exposed);

/// Fills the rest of `delays`. `gaps`: by time, disjoint; `steps`: by time; `trace`: of its
/// process, for names.
void compare_delays(CollectivesOfDevice const& collectives, DeviceSets const& sets,
                    std::vector<IdleGap> const& gaps, std::vector<StepStats> const& steps,
                    model::Trace const& trace, DeviceDelays& delays);

}  // namespace stepscope::analyzer
