#include "tracer/core/flight/asked_signal.h"

#include <atomic>

#include <signal.h>

namespace stepscope::tracer {
namespace {

std::atomic<bool> was_asked{false};
std::atomic<int> watched{0};
static_assert(std::atomic<bool>::is_always_lock_free);

void on_signal(int /*signal*/) { was_asked.store(true, std::memory_order_relaxed); }

}  // namespace

void watch_signal(int signal) {
  struct sigaction now {};
  if (::sigaction(signal, nullptr, &now) != 0) return;
  if ((now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL) return;

  struct sigaction ours {};
  ours.sa_handler = on_signal;
  ours.sa_flags = SA_RESTART | SA_ONSTACK;
  if (::sigaction(signal, &ours, nullptr) == 0) watched = signal;
}

void leave_signal() {
  int const signal = watched.exchange(0);
  struct sigaction now {};
  if (signal == 0 || ::sigaction(signal, nullptr, &now) != 0) return;
  if ((now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != on_signal) return;

  now = {};
  now.sa_handler = SIG_DFL;
  ::sigaction(signal, &now, nullptr);
}

bool take_asked_signal() {
  return was_asked.load(std::memory_order_relaxed) &&
         was_asked.exchange(false, std::memory_order_relaxed);
}

}  // namespace stepscope::tracer
