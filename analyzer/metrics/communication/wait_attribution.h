// Who makes the others wait in collectives, and by what (DEFINITIONS, "Waiting for peers").
//
// The late participant of a collective is the one that waited least. What it did since all were level is compared with the mean
// of what the others did since then, weighted by how long each of them waited. What it had more of is what made it late: the
// waits are charged to these causes in proportion, but no more of them than it had more. What is left the late one had begun
// later with: its step, or its recording, began later. So the charges sum to the waits exactly. Where the late one had waited for
// somebody itself, that part is charged to the collectives in which it had, and there in the same way: to what made their late
// participants late.
//
// They were level when the last collective of the same participants had ended, unless the late one computed at that instant: then
// its compute did not depend on it, and nobody had caught up with anybody. In that case, and before the first such collective, it
// is since each device's step began.
//
// Durations alone are compared, each on one device's own clock. One device after the other is looked at; of each, what is kept is
// a few numbers a collective. O(n log n).
#pragma once

#include <array>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyzer/metrics/time/device_time.h"
#include "analyzer/metrics/time/readiness.h"

namespace stepscope::analyzer {

/// The time of a device that counts: of its usual steps, say.
struct MeasuredTime {
  DeviceRef ref;
  bool has_steps = false;         ///< false: the periods are not steps
  std::vector<Interval> periods;  ///< by time, disjoint
  int64_t compute_ns = 0;         ///< in them
};

class WaitAttribution {
 public:
  /// `collectives`: of all ranks. They must outlive this, and nobody may change them but expose().
  explicit WaitAttribution(std::vector<CollectiveStats>& collectives);

  /// Fills exposed_late_ns and exposed_transfer_ns where the device takes part, from its sets.exposed_comm. Returns the part of
  /// that which late peers cause: of each collective the last that no compute hides, as long as it would have ended earlier, had
  /// nobody come late. That is its wait and, where it began when the one before it on its stream was over, what that one would
  /// have ended earlier, as far as it was `ready` itself. Of different devices at the same time from several threads.
  [[nodiscard]] model::IntervalSet split_exposed_wait(DeviceRef ref, model::IntervalSet const& exposed_comm,
                                                      std::vector<ReadyCollective> const& ready) const;

  /// Takes in what a device did, after expose(). `gaps`: by time, disjoint; `steps`: by time; `trace`: of its process, for names.
  void add_device(DeviceRef ref, DeviceSets const& sets, std::vector<IdleGap> const& gaps, std::vector<StepStats> const& steps,
                  model::Trace const& trace);

  /// Charges the waits of the participants that begin in measured time. Of devices that were not added nothing is known: what
  /// they cause, and what delays them less than others, is kUnknown.
  [[nodiscard]] std::vector<WaitStats> attribute_waits(std::vector<MeasuredTime> const& measured) const;

  /// What a device did, by class: compute, exposed transfer, exposed copy, 3 + idle by cause. Exposed waiting counts as idle time
  /// of cause kPeer.
  static constexpr size_t kActivityTimes = 3 + kIdleCauseCount;
  using ActivityTimes = std::array<int64_t, kActivityTimes>;

 private:
  static constexpr uint32_t kNone = 0xFFFFFFFF;
  /// Why a collective was late.
  struct Delay {
    uint32_t late = kNone;                     ///< its late participant
    uint32_t late_place = kNone;               ///< where that is among the participations of its device
    uint32_t previous = kNone;                 ///< collective of the same participants that had ended on the late one before
    bool is_level = false;                     ///< … and after which they were level
    bool is_late_known = false;                ///< the late one's device was added
    bool is_first_step = false;                ///< before `since` nothing of the late one was recorded
    float waiters_known = 0;                   ///< share of the waits whose devices were added
    int64_t wait_ns = 0;                       ///< of all participants
    double mean_wait_ns = 0;                   ///< their mean, each weighted by itself: what `more` would explain in full
    int64_t since = 0;                         ///< begin of the late one's time that is compared
    std::array<float, kActivityTimes> more{};  ///< what the late one had more of than the others since `previous`, ns
    std::array<float, kActivityTimes> more_of_step{};  ///< … and since the step began
    std::array<uint32_t, kIdleCauseCount> host{};  ///< in names_: what its host was in for most of the idle time, by its cause
  };
  /// A device takes part in the collective as this participant.
  struct Participation {
    uint32_t collective = 0, participant = 0;
  };
  struct Member {
    DeviceRef ref;
    std::vector<Participation> of;  ///< by begin on this device
  };
  class Comparison;
  class Charges;
  class Lateness;

  [[nodiscard]] CollectiveStats::Participant& participant(Participation at) const {
    return collectives_[at.collective].participants[at.participant];
  }
  [[nodiscard]] Member const* find_member(DeviceRef ref) const;
  void find_members();
  void find_previous();

  std::vector<CollectiveStats>& collectives_;
  std::vector<Delay> delays_;    ///< beside collectives_
  std::vector<Member> members_;  ///< by ref
  std::vector<uint32_t> place_;  ///< beside collectives_: among the participations of the device that is being added
  std::vector<std::string> names_ = {""};
  std::unordered_map<std::string, uint32_t> name_ids_;
};

/// Splits the amount (≥ 0) in proportion to the weights (≥ 0, not all 0) into whole parts, beside the weights, that sum to it.
void split_exactly(int64_t amount, std::span<double const> weights, std::span<int64_t> parts);

}  // namespace stepscope::analyzer
