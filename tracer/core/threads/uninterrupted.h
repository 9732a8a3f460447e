// Pieces of the tracer that a thread of the program must run to their end: it holds a lock of ours
// there, or has counted itself somewhere. Neither a cancellation nor a jump out of a signal handler
// may end the thread's call in between, since other threads would wait for it for ever.
//
// A cancellation unwinds the stack, at any instruction where the program asks for that
// (PTHREAD_CANCEL_ASYNCHRONOUS). A function that cleans up or catches ends the program then, unless
// it was just calling. So callbacks have plain frames, and what cleans up is called through here:
// the cancellation that waited happens in this frame, which has nothing to clean up.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace stepscope::tracer {

/// Apart from its caller's frame. `call` throws nothing.
template <class Call>
[[gnu::noinline]] auto run_apart(Call const& call) noexcept -> decltype(call()) {
  return call();
}

/// Runs `call`, which throws nothing; a request to cancel the calling thread waits until it has
/// returned.
template <class Call>
auto not_cancelled(Call const& call) -> decltype(call()) {
  int before = PTHREAD_CANCEL_ENABLE;
  ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  if constexpr (std::is_void_v<decltype(call())>) {
    run_apart(call);
    ::pthread_setcancelstate(before, nullptr);
  } else {
    auto const result = run_apart(call);
    ::pthread_setcancelstate(before, nullptr);
    return result;
  }
}

/// While it lives signals of the calling thread wait, but for those of faults. Two system calls:
/// not for what every event does.
class SignalsWait {
 public:
  SignalsWait() {
    KernelMask held = ~KernelMask{0};
    for (int const signal : kNeverHeld) held &= ~(KernelMask{1} << (signal - 1));
    ::syscall(SYS_rt_sigprocmask, SIG_BLOCK, &held, &before_, sizeof before_);
  }
  ~SignalsWait() { ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before_, nullptr, sizeof before_); }
  SignalsWait(SignalsWait const&) = delete;
  SignalsWait& operator=(SignalsWait const&) = delete;

 private:
  /// As the kernel has it: bit s - 1 of signal s.
  using KernelMask = uint64_t;
  /// A fault ends the program at once when its signal is blocked; the C library needs 32 and 33.
  static constexpr std::array kNeverHeld = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT,
                                            SIGTRAP, SIGSYS, 32,     33};

  KernelMask before_ = 0;
};

/// Both: neither a cancellation nor a signal handler comes in between.
template <class Call>
auto uninterrupted(Call const& call) -> decltype(call()) {
  return not_cancelled([&] {
    SignalsWait const here;
    return call();
  });
}

}  // namespace stepscope::tracer
