// Who makes the others wait in collectives, and by what (DEFINITIONS, "Waiting for peers").
//
// The late participant of a collective is the one that waited least. Its activity since all were
// level is compared with the mean activity of the waiters since then, weighted by how long each of
// them waited. The differences made it late: the waits are charged to them in proportion, but no
// more than the late one had more. The rest comes from a later begin: its step, or its recording,
// began later. So the charges sum to the waits exactly. Where the late one had itself waited, that
// part is charged to the collectives in which it had waited. There it goes, in the same way, to
// what made their late participants late.
//
// Participants were level when the last collective of the same participants had ended, unless the
// late one computed at that instant. Then its compute did not depend on that collective, and no
// device had caught up. In that case, and before the first such collective, the comparison begins
// with each device's step.
//
// Only durations are compared, each on one device's own clock. Devices are added one after the
// other, in their order: sums are the same wherever they were observed. O(n log n).
//
// device_delays.h has what a device tells for the comparison, wait_charges.cpp charges the waits.
#pragma once

#include <array>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/metrics/communication/device_delays.h"
#include "analyzer/metrics/time/device_time.h"

namespace stepscope::analyzer {

/// The time of a device that counts, such as its steady steps.
struct MeasuredTime {
  DeviceRef ref;
  bool has_steps = false;         ///< false: the periods are not steps
  std::vector<Interval> periods;  ///< by time, disjoint
  int64_t compute_ns = 0;         ///< in them
};

class WaitAttribution {
 public:
  /// `collectives`: of all ranks. They must outlive this, and only add_device() may change them.
  explicit WaitAttribution(std::vector<CollectiveStats>& collectives);

  /// What the collectives say about a device, for its part of the comparison. Several threads may
  /// call it.
  [[nodiscard]] CollectivesOfDevice collectives_of(DeviceRef ref) const;

  /// Adds what a device did. `delays`: from collectives_of(ref), or empty.
  void add_device(DeviceRef ref, DeviceDelays const& delays);

  /// Charges the waits of the participants that begin in measured time. Causes of devices that were
  /// not added are kUnknown, and so are comparisons with them.
  [[nodiscard]] std::vector<WaitStats> attribute_waits(
      std::vector<MeasuredTime> const& measured) const;

 private:
  static constexpr uint32_t kNone = 0xFFFFFFFF;
  /// Why a collective was late.
  struct Delay {
    uint32_t late = kNone;        ///< its late participant
    uint32_t late_place = kNone;  ///< where that is among the participations of its device
    uint32_t previous =
        kNone;  ///< the last collective of the same participants that ended before, on the late one
    bool is_level = false;       ///< after `previous` all were level
    bool is_late_known = false;  ///< the late one's device was added
    bool is_first_step = false;  ///< the late one's recording begins at `since`
    float waiters_known = 0;     ///< share of the waits whose devices were added
    int64_t wait_ns = 0;         ///< of all participants
    double mean_wait_ns = 0;  ///< mean wait, each weighted by itself: a full explanation sums to it
    int64_t since = 0;        ///< begin of the compared time of the late one
    std::array<float, kActivityTimes>
        more{};  ///< what the late one had more of than the others since `previous`, ns
    std::array<float, kActivityTimes> more_of_step{};  ///< … and since the step began
    std::array<uint32_t, kIdleCauseCount>
        host{};  ///< in names_: the host op of most idle time, by cause
  };
  /// One participation of a device.
  struct Participation {
    uint32_t collective = 0, participant = 0;
  };
  struct Member {
    DeviceRef ref;
    std::vector<Participation> of;  ///< by begin on this device
  };
  class Charges;

  [[nodiscard]] CollectiveStats::Participant& participant(Participation at) const {
    return collectives_[at.collective].participants[at.participant];
  }
  [[nodiscard]] Member const* find_member(DeviceRef ref) const;
  void find_members();
  void find_previous();
  uint32_t number_of_name(std::string const& name);

  std::vector<CollectiveStats>& collectives_;
  std::vector<Delay> delays_;    ///< beside collectives_
  std::vector<Member> members_;  ///< by ref
  std::vector<std::string> names_ = {""};
  std::unordered_map<std::string, uint32_t> name_ids_;
};

/// Splits the amount (≥ 0) in proportion to the weights (≥ 0, not all 0) into whole parts that sum
/// to it: one for each weight.
void split_exactly(int64_t amount, std::span<double const> weights, std::span<int64_t> parts);

}  // namespace stepscope::analyzer
