// A program that a command runs and waits for: with a limit of time, and with nothing left of it
// afterwards.
#pragma once

#include <csignal>
#include <string>
#include <vector>

#include "trace/base/expected.h"

namespace stepscope::cli {

struct ProcessEnd {
  int exit_code = 0;  ///< as a shell reports it
  bool is_timed_out = false;
  bool is_interrupted = false;  ///< the command itself was asked to end: Ctrl-C, SIGTERM, SIGHUP
  double seconds = 0;
};

/// While one lives, SIGINT, SIGTERM and SIGHUP end no run half way: they end the program that is
/// watched. Orphans of programs become children of this process, so that they can be ended.
class ProcessWatch {
 public:
  ProcessWatch();
  ~ProcessWatch();
  ProcessWatch(ProcessWatch const&) = delete;
  ProcessWatch& operator=(ProcessWatch const&) = delete;

  /// Runs `words` without an input, in a process group of its own; what it prints goes to the end
  /// of `log`. When it has ended, or its time has, all that it has started is ended. Errors: the
  /// log cannot be written, no process can be made.
  base::Expected<ProcessEnd> run(std::vector<std::string> const& words, std::string const& log,
                                 double most_seconds);
  /// Whether a signal has come since the last call.
  bool take_interrupt();

 private:
  void end_orphans() const;

  sigset_t before_{};
  int signals_ = -1;
};

}  // namespace stepscope::cli
