// A child process that comes to a state, says so, and is killed there: no sleeping, no luck.
#pragma once

#include <array>
#include <functional>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace stepscope::support {

/// A child that has run `reach` and waits, with what `reach` made still alive. Killed by the
/// destructor unless kill() was called.
class WaitingChild {
 public:
  /// `reach` gets a function to call when the state is reached; it does not return.
  explicit WaitingChild(std::function<void(std::function<void()> const& wait)> const& reach) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) return;

    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(ends[0]);
      reach([&] {
        [[maybe_unused]] ssize_t const told = ::write(ends[1], "r", 1);
        for (;;) ::pause();
      });
      ::_exit(0);
    }

    ::close(ends[1]);
    char byte = 0;
    is_there_ = ::read(ends[0], &byte, 1) == 1;
    ::close(ends[0]);
  }
  WaitingChild(WaitingChild const&) = delete;
  WaitingChild& operator=(WaitingChild const&) = delete;
  ~WaitingChild() {
    if (pid_ > 0) kill(SIGKILL);
  }

  [[nodiscard]] bool is_there() const { return is_there_; }
  [[nodiscard]] pid_t pid() const { return pid_; }
  /// Its status as waitpid() gives it.
  int kill(int signal) {
    ::kill(pid_, signal);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }

 private:
  pid_t pid_ = -1;
  bool is_there_ = false;
};

}  // namespace stepscope::support
