#include "cli/commands/watched_process.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trace/base/format.h"

namespace stepscope::cli {
namespace {

using WatchClock = std::chrono::steady_clock;

/// What a program has to end itself, after SIGTERM.
constexpr std::chrono::seconds kTimeToEndItself{10};
constexpr int kLookAgainEveryMs = 50;
/// A program that starts others while it is ended loses this race at some point.
constexpr int kMostRoundsOfOrphans = 100;

double seconds_since(WatchClock::time_point begin) {
  return std::chrono::duration<double>(WatchClock::now() - begin).count();
}

int shell_code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// The parent of a process, from "PID (NAME) STATE PPID …"; the name may hold anything.
std::optional<pid_t> parent_of(std::filesystem::path const& process) {
  std::ifstream file(process / "stat");
  std::string line;
  std::getline(file, line);
  size_t const end = line.rfind(')');
  if (end == std::string::npos || line.size() < end + 5) return std::nullopt;
  return static_cast<pid_t>(std::atol(line.c_str() + end + 4));
}

std::vector<pid_t> children_of_this_process() {
  std::vector<pid_t> children;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    long const process = std::atol(entry->path().filename().c_str());
    if (process > 0 && parent_of(entry->path()) == ::getpid())
      children.push_back(static_cast<pid_t>(process));
  }
  return children;
}

[[noreturn]] void become(std::vector<char*> const& words, int log, sigset_t const& mask) {
  ::setpgid(0, 0);
  if (int const nothing = ::open("/dev/null", O_RDONLY); nothing >= 0)
    ::dup2(nothing, STDIN_FILENO);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  ::execvp(words[0], words.data());
  ::_exit(errno == ENOENT ? 127 : 126);
}

}  // namespace

ProcessWatch::ProcessWatch() {
  sigset_t mask;
  sigemptyset(&mask);
  for (int const signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&mask, signal);
  ::pthread_sigmask(SIG_BLOCK, &mask, &before_);
  signals_ = ::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

ProcessWatch::~ProcessWatch() {
  while (take_interrupt()) {
  }
  if (signals_ >= 0) ::close(signals_);
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

bool ProcessWatch::take_interrupt() {
  signalfd_siginfo info;
  return ::read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info);
}

void ProcessWatch::end_orphans() const {
  for (int round = 0; round < kMostRoundsOfOrphans; ++round) {
    std::vector<pid_t> const children = children_of_this_process();
    if (children.empty()) return;
    for (pid_t const child : children) ::kill(child, SIGKILL);
    for (pid_t const child : children) ::waitpid(child, nullptr, 0);
  }
}

base::Expected<ProcessEnd> ProcessWatch::run(std::vector<std::string> const& words,
                                             std::string const& log, double most_seconds) {
  int const file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0)
    return base::fail("{}: cannot be written ({})", base::printable(log), std::strerror(errno));
  std::vector<char*> arguments;
  for (std::string const& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);

  auto const begin = WatchClock::now();
  pid_t const child = ::fork();
  if (child == 0) become(arguments, file, before_);
  ::close(file);
  if (child < 0)
    return base::fail("{}: cannot be started ({})", base::printable(words[0]),
                      std::strerror(errno));

  ProcessEnd end;
  std::optional<WatchClock::time_point> asked;
  int status = 0;
  for (;;) {
    pid_t const ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child || (ended < 0 && errno != EINTR)) break;

    end.is_interrupted = take_interrupt() || end.is_interrupted;
    end.is_timed_out = end.is_timed_out || (!asked && seconds_since(begin) > most_seconds);
    if (!asked && (end.is_interrupted || end.is_timed_out)) {
      ::kill(child, SIGTERM);
      asked = WatchClock::now();
    }
    if (asked && WatchClock::now() - *asked > kTimeToEndItself) ::kill(child, SIGKILL);

    std::array<pollfd, 1> what = {pollfd{signals_, POLLIN, 0}};
    ::poll(what.data(), what.size(), kLookAgainEveryMs);
  }

  end_orphans();
  end.exit_code = shell_code_of(status);
  end.seconds = seconds_since(begin);
  return end;
}

}  // namespace stepscope::cli
