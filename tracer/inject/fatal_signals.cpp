#include "tracer/inject/fatal_signals.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace stepscope::tracer {
namespace {

constexpr std::array kCrashes = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr std::array kRequests = {SIGTERM, SIGHUP, SIGINT};

std::atomic<void (*)(int)> before_the_end{nullptr};

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
  if (auto* const before = before_the_end.load()) before(signal);
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

void watch(int signal) {
  struct sigaction ours {};
  ours.sa_sigaction = on_fatal_signal;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;

  struct sigaction now {};
  if (::sigaction(signal, nullptr, &now) == 0 && is_by_default(now))
    ::sigaction(signal, &ours, nullptr);
}

void leave(int signal) {
  struct sigaction now {};
  if (::sigaction(signal, nullptr, &now) == 0 && is_ours(now)) end_as_by_default(signal);
}

}  // namespace

bool is_crash_signal(int signal) {
  return std::find(kCrashes.begin(), kCrashes.end(), signal) != kCrashes.end();
}

void watch_fatal_signals(void (*before)(int signal), bool requests_too) {
  before_the_end = before;
  for (int const signal : kCrashes) watch(signal);
  if (!requests_too) return;
  for (int const signal : kRequests) watch(signal);
}

void leave_fatal_signals() {
  for (int const signal : kCrashes) leave(signal);
  for (int const signal : kRequests) leave(signal);
}

}  // namespace stepscope::tracer
