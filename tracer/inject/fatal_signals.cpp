#include "tracer/inject/fatal_signals.h"

#include <array>
#include <atomic>
#include <cerrno>

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace stepscope::tracer {
namespace {

constexpr std::array kFatalSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

std::atomic<void (*)()> before_the_end{nullptr};

void end_as_by_default(int signal) {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  ::sigaction(signal, &action, nullptr);
}

/// The same signal again, with all that is known of it: it is blocked until the handler returns,
/// and then ends the program where it was.
void repeat(int signal, siginfo_t* info) {
  if (::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), ::syscall(SYS_gettid), signal, info) != 0)
    ::raise(signal);
}

void on_fatal_signal(int signal, siginfo_t* info, void* /*context*/) {
  int const error = errno;
  if (auto* const before = before_the_end.load()) before();
  end_as_by_default(signal);
  repeat(signal, info);
  errno = error;
}

bool is_by_default(struct sigaction const& action) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL;
}
bool is_ours(struct sigaction const& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == on_fatal_signal;
}

}  // namespace

void watch_fatal_signals(void (*before)()) {
  before_the_end = before;
  struct sigaction ours {};
  ours.sa_sigaction = on_fatal_signal;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (int const signal : kFatalSignals) {
    struct sigaction now {};
    if (::sigaction(signal, nullptr, &now) == 0 && is_by_default(now))
      ::sigaction(signal, &ours, nullptr);
  }
}

void leave_fatal_signals() {
  for (int const signal : kFatalSignals) {
    struct sigaction now {};
    if (::sigaction(signal, nullptr, &now) == 0 && is_ours(now)) end_as_by_default(signal);
  }
}

}  // namespace stepscope::tracer
