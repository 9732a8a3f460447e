// One flag that a thread waits for. Ringing it takes no lock and allocates nothing, so that a
// signal handler may do it, and a process that is forked meanwhile finds nothing locked.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace stepscope::tracer {

/// Once rung it stays rung. Thread-safe, and safe in signal handlers.
class Doorbell {
 public:
  /// Wakes all who wait, and lets all who come later pass.
  void ring();
  [[nodiscard]] bool has_rung() const { return state_.load(std::memory_order_acquire) != 0; }
  /// Returns has_rung(), at the latest after `timeout`; a signal may end the wait earlier.
  bool wait_for(std::chrono::nanoseconds timeout);
  /// The same, but signals do not end the wait.
  bool wait_until_rung(std::chrono::nanoseconds timeout);

 private:
  std::atomic<uint32_t> state_{0};  ///< the futex
};

}  // namespace stepscope::tracer
