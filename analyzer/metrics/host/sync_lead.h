// How far the host would be ahead had it never waited for the device: what syncs cost beyond the
// device's idle time during the call (DEFINITIONS, "Idle causes"). A sync takes from the host the
// time for which it blocks it. Where the device is idle because of that, the time is paid for. The
// rest shows later: launches come late one after the other because nothing is queued behind them.
// Each step begins without a lead: what a step costs does not depend on the steps before it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "analyzer/metrics/steps/steps.h"

namespace stepscope::analyzer {

/// A framework needs up to some tens of µs from one launch to the next. A host that is late for no
/// longer than this did nothing but launch. One that is late for longer did something else, which
/// the sync just before did not cause beyond the time blocked in it.
inline constexpr int64_t kLongestExposedLaunchNs = 100'000;

/// One device; gaps come by time. O(1) a gap, amortised, plus the ops that ran before the gaps that
/// follow a sync.
class SyncLead {
 public:
  explicit SyncLead(DeviceOps const& device);

  /// A gap whose end the host launches. `launch` = the row of that call, `syncs` = the times its
  /// thread was blocked, `steps` = those that the thread has or works for.
  void enter(Interval gap, uint32_t launch, model::IntervalSet const& syncs,
             std::vector<HostStep> const& steps);
  /// Whether the thread was in a sync during the gap that was over before it began to launch.
  [[nodiscard]] bool is_behind_sync() const { return is_behind_sync_; }
  /// The device worked in `busy` until the gap began; the last op of that time is before place
  /// `last` in DeviceOps::ops. Ops that ran while the thread was in the call that launched them
  /// held the thread up like a sync.
  void add_held_up(Interval busy, size_t last);

  /// Idle time within syncs of the gap is paid for, before any of its late time.
  void pay(Interval idle_in_sync) {
    *lead_ -= idle_in_sync.begin >= since_ ? idle_in_sync.length() : 0;
  }

  // The gap's pieces by time.
  void pass_sync(Interval idle);
  /// What the host would have gained it would have waited for data.
  void pass_input() { *lead_ = std::min<int64_t>(*lead_, 0); }
  /// Late time: how much of it the syncs cost. `is_apart`: the host was in a range of its own for
  /// most of it.
  int64_t pass_late(Interval late, bool is_apart);

 private:
  struct OfThread {
    size_t syncs = 0;                                     ///< that are over
    size_t steps = 0;                                     ///< that have begun
    int64_t since = std::numeric_limits<int64_t>::min();  ///< the begin of the last of them
    int64_t lead_ns = 0;  ///< below 0 within a sync whose end is still to come
  };

  RowView rows_;
  std::vector<uint32_t> const& ops_;
  std::vector<OfThread> threads_;  ///< by track
  model::IntervalSet const* syncs_ = nullptr;
  int64_t* lead_ = nullptr;  ///< of the gap's thread
  int64_t since_ = 0;
  model::TrackId thread_;
  bool is_behind_sync_ = false;
  bool is_past_sync_ = false;  ///< within the gap
  int64_t blocked_ns_ = 0;     ///< in the gap's syncs so far, but for their idle time
};

}  // namespace stepscope::analyzer
