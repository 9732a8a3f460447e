// Which call recorded a CUDA event last: what a wait for that event waits for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace stepscope::tracer {

/// Where and by which call an event was recorded.
struct EventPlace {
  uint64_t correlation = 0;  ///< of the call; 0 = unknown
  uint32_t context = 0, stream = 0;
};

/// CUDA numbers calls in their order, process-wide: the record that a wait means is the last one
/// with a smaller number. The writer thread's.
class EventLog {
 public:
  void add(uint32_t event, EventPlace const& place) {
    if (events_.size() >= kMaxEvents)
      events_.clear();  // a program that makes an event a step for hours
    History& history = events_[event];
    history.places[history.next++ % history.places.size()] = place;
  }
  /// The last record of `event` before the call with that correlation; one with correlation 0 when
  /// there is none.
  [[nodiscard]] EventPlace find(uint32_t event, uint64_t before) const {
    EventPlace last;
    auto const found = events_.find(event);
    if (found == events_.end()) return last;
    for (EventPlace const& place : found->second.places)
      if (place.correlation < before && place.correlation > last.correlation) last = place;
    return last;
  }

 private:
  static constexpr size_t kMaxEvents = 1 << 16;
  /// Records kept of each event: buffers of several threads come out of order, but not by many
  /// records of one event.
  static constexpr size_t kKept = 8;
  struct History {
    std::array<EventPlace, kKept> places{};
    size_t next = 0;
  };
  std::unordered_map<uint32_t, History> events_;
};

}  // namespace stepscope::tracer
