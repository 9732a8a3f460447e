// Start/end ranges whose end found no room in its ring. They are reported outside the ring, so that
// their begins are dropped too. Otherwise they would seem to go on until the capture ends.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace stepscope::tracer {

/// One thread adds, another takes; no lock.
class UnmatchedRangeEnds {
 public:
  /// Between two visits of the writer thread; what is beyond is only counted.
  static constexpr uint64_t kRemembered = 512;
  /// What had been lost at one moment.
  struct Mark {
    uint64_t remembered = 0;
    uint64_t forgotten = 0;
    int64_t last_forgotten_ticks = 0;
  };

  void add(uint64_t range, int64_t ticks) {
    uint64_t const added = added_.load(std::memory_order_relaxed);
    if (added - taken_.load(std::memory_order_acquire) < kRemembered) {
      ranges_[added % kRemembered] = range;
      added_.store(added + 1, std::memory_order_release);
      return;
    }
    last_forgotten_ticks_.store(ticks, std::memory_order_relaxed);
    forgotten_.store(forgotten_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  [[nodiscard]] Mark mark() const {
    uint64_t const forgotten = forgotten_.load(std::memory_order_acquire);
    return {added_.load(std::memory_order_acquire), forgotten,
            last_forgotten_ticks_.load(std::memory_order_relaxed)};
  }
  /// Calls visit(range) for those that were remembered up to the mark and not taken yet.
  template <class Visit>
  void take(Mark const& mark, Visit const& visit) {
    for (uint64_t i = taken_.load(std::memory_order_relaxed); i < mark.remembered; ++i)
      visit(ranges_[i % kRemembered]);
    taken_.store(mark.remembered, std::memory_order_release);
  }

 private:
  std::array<uint64_t, kRemembered> ranges_{};
  std::atomic<uint64_t> added_{0}, taken_{0}, forgotten_{0};
  std::atomic<int64_t> last_forgotten_ticks_{0};
};

}  // namespace stepscope::tracer
