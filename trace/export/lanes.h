// Puts the slices of one track on lanes so that on each lane they nest: formats with begins and
// ends cannot have a slice that ends within another. Nearly all tracks need one lane; a device's
// ops that overlap on a stream, or a tool's unordered ranges, need more.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace stepscope::exporting {

/// Slices come by (start, −duration). Lanes reports ends lane by lane in the order of their time,
/// before anything begins behind them. Ends and begins of one lane in this order nest.
class Lanes {
 public:
  /// Lanes are tried one after the other up to this number, and slices within slices stay with
  /// them. Further lanes hold one slice at a time and are found by their ends, so that a track of n
  /// slices that all overlap takes n log n.
  static constexpr uint32_t kNestingLanes = 16;

  /// The lane of the slice [start, end). Calls ended(lane, time) for slices that are over by then.
  template <class Ended>
  uint32_t open(int64_t start, int64_t end, Ended&& ended) {
    for (uint32_t lane = 0; lane < kNestingLanes; ++lane) {
      if (lane == nesting_.size()) nesting_.emplace_back();
      close_until(lane, start, ended);
      std::vector<int64_t>& open_ends = nesting_[lane];

      if (!open_ends.empty() && open_ends.back() < end) continue;
      open_ends.push_back(end);
      return lane;
    }

    uint32_t lane = kNestingLanes + flat_count_;
    if (!flat_.empty() && flat_.top().first <= start) {
      lane = flat_.top().second;
      ended(lane, flat_.top().first);
      flat_.pop();
    } else {
      ++flat_count_;
    }

    flat_.emplace(end, lane);
    return lane;
  }
  /// Reports the ends on a nesting lane that are not behind `time`.
  template <class Ended>
  void close_until(uint32_t lane, int64_t time, Ended&& ended) {
    if (lane >= nesting_.size()) return;
    std::vector<int64_t>& open_ends = nesting_[lane];
    while (!open_ends.empty() && open_ends.back() <= time) {
      ended(lane, open_ends.back());
      open_ends.pop_back();
    }
  }
  /// Reports the ends of all that is open.
  template <class Ended>
  void close_all(Ended&& ended) {
    for (uint32_t lane = 0; lane < nesting_.size(); ++lane) close_until(lane, INT64_MAX, ended);
    for (; !flat_.empty(); flat_.pop()) ended(flat_.top().second, flat_.top().first);
  }

 private:
  using Flat = std::pair<int64_t, uint32_t>;   ///< end, lane
  std::vector<std::vector<int64_t>> nesting_;  ///< ends of what is open, the innermost last
  std::priority_queue<Flat, std::vector<Flat>, std::greater<>> flat_;
  uint32_t flat_count_ = 0;
};

}  // namespace stepscope::exporting
