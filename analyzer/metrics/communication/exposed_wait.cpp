// split_exposed_wait(): the exposed communication that late peers cause.
#include "analyzer/metrics/communication/device_delays.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "analyzer/metrics/core/saturate.h"

namespace stepscope::analyzer {
namespace {

/// How much of an interval set lies before an instant. Fast where instants come nearly in order.
class CoveredTime {
 public:
  explicit CoveredTime(model::IntervalSet const& set) : set_(set), near_(set.begin()) {
    for (Interval const& interval : set) passed_.push_back(passed_.back() + interval.length());
  }

  int64_t until(int64_t instant) {
    seek(instant);
    int64_t const whole = passed_[static_cast<size_t>(near_ - set_.begin())];
    return near_ != set_.end() && near_->begin < instant ? whole + (instant - near_->begin) : whole;
  }

  /// The instant until which `covered` ns lie in the set, and after which more follow.
  [[nodiscard]] int64_t instant_after(int64_t covered) const {
    auto const place = std::partition_point(passed_.begin(), passed_.end(),
                                            [&](int64_t sum) { return sum <= covered; }) -
                       passed_.begin() - 1;
    auto const i = static_cast<size_t>(place);
    return set_[i].begin + (covered - passed_[i]);
  }

 private:
  /// Moves near_ to the first interval that ends after the instant: mostly it is the last one or
  /// follows it closely.
  void seek(int64_t instant) {
    for (int i = 0; i < 4 && near_ != set_.end() && near_->end <= instant; ++i) ++near_;
    bool const is_here = (near_ == set_.end() || near_->end > instant) &&
                         (near_ == set_.begin() || std::prev(near_)->end <= instant);
    auto const is_before = [&](Interval const& i) { return i.end <= instant; };
    if (!is_here) near_ = std::partition_point(set_.begin(), set_.end(), is_before);
  }

  model::IntervalSet const& set_;
  std::vector<int64_t> passed_ = {0};  ///< lengths of the intervals before each one
  model::IntervalSet::const_iterator near_;
};

/// Where a device's collectives would have been without late peers. They must come by begin.
class PlacesWithoutLatePeers {
 public:
  explicit PlacesWithoutLatePeers(std::vector<ReadyCollective> const& ready) : ready_(ready) {}

  Interval of(CollectivesOfDevice::One const& own) {
    Stream& stream = streams_[own.track.value];
    int64_t inherited = 0;
    // A collective that begins later than this after the one before was delayed by something else.
    constexpr int64_t kAtOnceNs = 10'000;
    if (stream.late_ns > 0 && own.when.begin - stream.end < kAtOnceNs)
      inherited = std::min(stream.late_ns, own.when.begin - ready_at(own));
    stream = {own.when.end, saturated_sum(own.wait_ns, inherited)};
    return {own.when.begin - inherited, own.when.end - own.wait_ns - inherited};
  }

 private:
  struct Stream {
    int64_t end = 0, late_ns = 0;  ///< of its last collective: how much earlier it would have ended
  };

  /// When the collective was ready; its begin where nothing earlier is known.
  [[nodiscard]] int64_t ready_at(CollectivesOfDevice::One const& own) const {
    auto const at = std::lower_bound(ready_.begin(), ready_.end(),
                                     ReadyCollective{own.when.begin, own.track.value, INT64_MIN});
    bool const is_known =
        at != ready_.end() && at->begin == own.when.begin && at->track == own.track.value;
    return is_known ? at->ready : own.when.begin;
  }

  std::vector<ReadyCollective> const& ready_;
  std::unordered_map<uint32_t, Stream> streams_;  ///< by track
};

}  // namespace

model::IntervalSet split_exposed_wait(CollectivesOfDevice const& collectives,
                                      model::IntervalSet const& exposed_comm,
                                      std::vector<ReadyCollective> const& ready,
                                      std::vector<DeviceDelays::Exposed>& exposed) {
  exposed.clear();
  if (collectives.of.empty()) return {};

  CoveredTime exposed_time(exposed_comm);
  PlacesWithoutLatePeers places(ready);
  std::vector<Interval> late;
  for (CollectivesOfDevice::One const& own : collectives.of) {
    int64_t const until_end = exposed_time.until(own.when.end),
                  in_all = until_end - exposed_time.until(own.when.begin);
    int64_t const by_waiting = std::min(own.wait_ns, in_all);
    exposed.push_back({by_waiting, in_all - by_waiting});

    // What no compute hides there, either, is not lost by late peers.
    Interval const place = places.of(own);
    int64_t const there = exposed_time.until(place.end) - exposed_time.until(place.begin);
    int64_t const lost = in_all - std::clamp<int64_t>(there, 0, in_all);
    if (lost > 0) late.push_back({exposed_time.instant_after(until_end - lost), own.when.end});
  }
  return model::intersect(model::unite(std::move(late)), exposed_comm);
}

}  // namespace stepscope::analyzer
