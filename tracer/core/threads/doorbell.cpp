#include "tracer/core/threads/doorbell.h"

#include <algorithm>
#include <climits>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracer/core/clock.h"

namespace stepscope::tracer {
namespace {

static_assert(std::atomic<uint32_t>::is_always_lock_free &&
              sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

constexpr int64_t kNsPerSecond = 1'000'000'000;

}  // namespace

void Doorbell::ring() {
  state_.store(1, std::memory_order_release);
  ::syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

bool Doorbell::wait_for(std::chrono::nanoseconds timeout) {
  int64_t const ns = std::max<int64_t>(timeout.count(), 0);
  timespec const relative = {ns / kNsPerSecond, ns % kNsPerSecond};
  if (!has_rung()) ::syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, 0, &relative, nullptr, 0);
  return has_rung();
}

bool Doorbell::wait_until_rung(std::chrono::nanoseconds timeout) {
  int64_t const begin = monotonic_ns();
  for (;;) {
    int64_t const left = timeout.count() - (monotonic_ns() - begin);
    if (wait_for(std::chrono::nanoseconds(left)) || left <= 0) return has_rung();
  }
}

}  // namespace stepscope::tracer
