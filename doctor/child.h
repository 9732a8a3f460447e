// Runs what may crash or hang in a process of its own, with a time limit: other people's libraries
// and programs.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "trace/base/expected.h"

namespace stepscope::doctor {

struct ChildResult {
  std::string output;  ///< what it wrote
  int exit_code = 0;
  int signal = 0;  ///< that ended it; 0 = none
  bool timed_out = false;

  [[nodiscard]] bool succeeded() const { return exit_code == 0 && signal == 0 && !timed_out; }
};

/// "exit status 2", "signal 11 (Segmentation fault)", "no answer within the time limit".
std::string how_it_ended(ChildResult const& result);

/// Calls `body` in a fork of this process, which must have no other threads that hold locks. What
/// it writes to the file descriptor that it is given is the output; the child's own stdout and
/// stderr go to /dev/null. After `limit` the child and what it started are killed. Errors: no
/// process can be made.
base::Expected<ChildResult> run_in_child(std::function<void(int output)> const& body,
                                         std::chrono::seconds limit);

/// Runs a program (found in PATH) with its arguments; its stdout and stderr together are the
/// output. 127 = it cannot be started.
base::Expected<ChildResult> run_program(std::vector<std::string> const& command,
                                        std::chrono::seconds limit);

}  // namespace stepscope::doctor
