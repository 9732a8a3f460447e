#include "doctor/child.h"

#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace stepscope::doctor {
namespace {

using base::fail;
using Clock = std::chrono::steady_clock;

constexpr int kCannotStart = 127;

/// Runs in the child: makes a process group, so that all of it can be killed, and silences it.
void become_child(bool silent) {
  ::setpgid(0, 0);
  int const nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nothing < 0) return;
  ::dup2(nothing, STDIN_FILENO);
  if (!silent) return;
  ::dup2(nothing, STDOUT_FILENO);
  ::dup2(nothing, STDERR_FILENO);
}

/// Reads until the other end is closed; false when the time is up before.
bool read_all(int from, Clock::time_point deadline, std::string& output) {
  for (;;) {
    auto const left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;

    pollfd waited{from, POLLIN, 0};
    int const ready = ::poll(&waited, 1, static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;

    std::array<char, 4096> buffer{};
    ssize_t const got = ::read(from, buffer.data(), buffer.size());
    if (got == 0) return true;
    if (got > 0) output.append(buffer.data(), static_cast<size_t>(got));
  }
}

void note_status(int status, ChildResult& result) {
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
}

template <class Body>
base::Expected<ChildResult> fork_and_wait(Body const& body, bool silent,
                                          std::chrono::seconds limit) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return fail("no pipe can be made ({}), close other programs", std::strerror(errno));

  pid_t const child = ::fork();
  if (child == 0) {
    become_child(silent);
    body(ends[1]);
    ::_exit(0);
  }

  ::close(ends[1]);
  if (child < 0) {
    ::close(ends[0]);
    return fail("no process can be started ({}), close other programs", std::strerror(errno));
  }

  ChildResult result;
  result.timed_out = !read_all(ends[0], Clock::now() + limit, result.output);
  ::close(ends[0]);
  if (result.timed_out && ::kill(-child, SIGKILL) != 0) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }

  note_status(status, result);
  return result;
}

}  // namespace

std::string how_it_ended(ChildResult const& result) {
  if (result.timed_out) return "no answer within the time limit";
  if (result.signal != 0)
    return fmt::format("signal {} ({})", result.signal, ::strsignal(result.signal));
  return fmt::format("exit status {}", result.exit_code);
}

base::Expected<ChildResult> run_in_child(std::function<void(int output)> const& body,
                                         std::chrono::seconds limit) {
  return fork_and_wait(body, true, limit);
}

base::Expected<ChildResult> run_program(std::vector<std::string> const& command,
                                        std::chrono::seconds limit) {
  std::vector<char*> arguments;
  for (std::string const& argument : command)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);

  auto const become_program = [&arguments](int output) {
    ::dup2(output, STDOUT_FILENO);
    ::dup2(output, STDERR_FILENO);
    ::execvp(arguments.front(), arguments.data());
    ::_exit(kCannotStart);
  };

  return fork_and_wait(become_program, false, limit);
}

}  // namespace stepscope::doctor
