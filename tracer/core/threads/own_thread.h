// A thread of the tracer's own inside somebody's program. No signal of the program is handled
// there. Its stack is small, because the program may have a limit of addresses (ulimit -v).
//
// The kernel reports when it is gone. A join by its handle is not safe: libraries of the program
// may detach or join handles of threads that their process had before it forked.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

#include "trace/base/expected.h"

namespace stepscope::tracer {

class OwnThread {
 public:
  /// Starts `run` on a thread of that name (a literal of 15 characters at most), with every signal
  /// blocked. Errors: the system gives no thread.
  static base::Expected<OwnThread> start(char const* name, std::function<void()> run);

  /// The process ends next. Threads that end from now on leave out the C library's clean-up behind
  /// a thread: it touches a dozen pages, and nothing uses what it tidies.
  static void process_ends_next();

  /// Gives the memory of their stacks back, which stays for as long as the process lives otherwise.
  /// Only where the caller is the only thread of the process.
  static void free_stacks();

  /// Waits until the thread has ended; what `run` did is visible then.
  void join() const;
  /// The same for `timeout` at most; false when it lives on. Takes no lock and allocates nothing.
  [[nodiscard]] bool wait_until_gone(std::chrono::nanoseconds timeout) const;

 private:
  explicit OwnThread(std::atomic<uint32_t>* life) : life_(life) {}

  std::atomic<uint32_t>* life_;  ///< behind its stack: kGone, or anything else
};

}  // namespace stepscope::tracer
