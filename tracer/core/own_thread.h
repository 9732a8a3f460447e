// A thread of the tracer's own inside of somebody's program: no signal of the program is handled there, and its stack is small,
// because the program may have a limit of addresses (ulimit -v).
//
// It says itself when it is done: a join by its handle is not safe where libraries of the program detach or join handles of
// threads that their process had before it forked.
#pragma once

#include <functional>
#include <memory>

#include "trace/base/expected.h"
#include "tracer/core/doorbell.h"

namespace stepscope::tracer {

class OwnThread {
 public:
  /// Starts `run` on a thread of that name (a literal of 15 characters at most), with every signal blocked. Errors: the system
  /// gives no thread.
  static base::Expected<OwnThread> start(char const* name, std::function<void()> run);

  /// Gives the memory of their stacks back, which stays for as long as the process lives otherwise. Only where the caller is the
  /// only thread of the process.
  static void free_stacks();

  /// Waits until `run` has returned; what it did is visible then. The thread itself may need some more instructions to end.
  void join() const;

 private:
  explicit OwnThread(std::shared_ptr<Doorbell> done) : done_(std::move(done)) {}

  std::shared_ptr<Doorbell> done_;
};

}  // namespace stepscope::tracer
