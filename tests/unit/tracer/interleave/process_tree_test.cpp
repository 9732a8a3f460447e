// Stopping a program of several processes, some of them in groups and sessions of their own.
#include "tracer/interleave/process_tree.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace stepscope::tracer {
namespace {

/// As /proc has it: R, S, T …; 0 = gone.
char state_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string const text(std::istreambuf_iterator<char>(file), {});
  size_t const end = text.rfind(')');
  return end == std::string::npos || end + 2 >= text.size() ? '\0' : text[end + 2];
}

/// A signal takes some time to be acted upon.
bool comes_to(std::function<bool()> const& condition) {
  for (int i = 0; i < 60'000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}
bool is_stopped(pid_t process) { return state_of(process) == 'T'; }
bool runs(pid_t process) { return state_of(process) == 'S' || state_of(process) == 'R'; }

/// A process that leads a group, with a child, and a grandchild in a session of its own.
class SmallProgram {
 public:
  SmallProgram() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    processes_[0] = ::fork();
    if (processes_[0] == 0) be_leader(ends[1]);
    ::close(ends[1]);
    ::setpgid(processes_[0], processes_[0]);
    for (size_t i : {1, 2})
      EXPECT_EQ(::read(ends[0], &processes_[i], sizeof(pid_t)), ssize_t{sizeof(pid_t)});
    ::close(ends[0]);
  }
  ~SmallProgram() {
    for (pid_t const process : processes_) ::kill(process, SIGKILL);
    ::waitpid(processes_[0], nullptr, 0);
  }
  SmallProgram(SmallProgram const&) = delete;
  SmallProgram& operator=(SmallProgram const&) = delete;
  [[nodiscard]] pid_t leader() const { return processes_[0]; }
  [[nodiscard]] pid_t in_another_session() const { return processes_[2]; }
  [[nodiscard]] bool all(bool (*is)(pid_t)) const {
    return std::all_of(processes_.begin(), processes_.end(), is);
  }

 private:
  static void tell(int pipe) {
    pid_t const self = ::getpid();
    if (::write(pipe, &self, sizeof self) != ssize_t{sizeof self}) ::_exit(1);
  }
  [[noreturn]] static void be_leader(int pipe) {
    ::setpgid(0, 0);
    if (::fork() != 0) sleep_for_ever();
    tell(pipe);
    if (::fork() != 0) sleep_for_ever();
    ::setsid();
    tell(pipe);
    sleep_for_ever();
  }
  [[noreturn]] static void sleep_for_ever() {
    for (;;) ::pause();
  }

  std::array<pid_t, 3> processes_{};
};

TEST(ProcessTreeTest, StopsProcessesOfAllSessions) {
  SmallProgram const program;
  StoppedProcesses stopped;
  ProcessTree tree(stopped.of(0));
  tree.set_leader(program.leader());

  for (int round = 0; round < 3; ++round) {
    tree.stop();
    EXPECT_TRUE(comes_to([&] { return program.all(is_stopped); }));
    tree.go_on();
    EXPECT_TRUE(comes_to([&] { return program.all(runs); }));
  }
}

TEST(ProcessTreeTest, StopsAProcessThatHasLostItsParent) {
  SmallProgram const program;
  ::kill(program.leader(), SIGKILL);
  ::waitpid(program.leader(), nullptr, WNOHANG);

  StoppedProcesses stopped;
  ProcessTree tree(stopped.of(0));
  tree.add(program.in_another_session());
  tree.stop();
  EXPECT_TRUE(comes_to([&] { return is_stopped(program.in_another_session()); }));
  tree.go_on();
  EXPECT_TRUE(comes_to([&] { return runs(program.in_another_session()); }));
}

/// A program that starts one process after the other, each in a session of its own.
TEST(ProcessTreeTest, StopsAProgramThatStartsProcesses) {
  pid_t const leader = ::fork();
  if (leader == 0) {
    ::setpgid(0, 0);
    for (;;) {
      pid_t const child = ::fork();
      if (child == 0) {
        ::setsid();
        if (::fork() != 0) ::_exit(0);
        ::usleep(1000);
        ::_exit(0);
      }
      ::waitpid(child, nullptr, 0);
    }
  }
  ::setpgid(leader, leader);

  StoppedProcesses stopped;
  ProcessTree tree(stopped.of(0));
  tree.set_leader(leader);
  for (int round = 0; round < 50; ++round) {
    tree.stop();
    EXPECT_TRUE(comes_to([&] {
      tree.stop_late_ones();
      auto const all = processes_below({leader});
      return std::all_of(all.begin(), all.end(), [](pid_t process) {
        return is_stopped(process) || state_of(process) == 'Z' || state_of(process) == '\0';
      });
    }));
    tree.go_on();
  }

  tree.kill();
  int status = 0;
  EXPECT_EQ(::waitpid(leader, &status, 0), leader);
  EXPECT_TRUE(WIFSIGNALED(status));
}

TEST(ProcessTreeTest, ItsOwnProcessIsNeverStopped) {
  auto const all = processes_below({::getpid()});
  EXPECT_EQ(std::count(all.begin(), all.end(), ::getpid()), 0);
}

/// The command is killed while a program is stopped.
TEST(ProcessTreeTest, WhatIsStoppedGoesOnWhenTheCommandIsGone) {
  SmallProgram const program;
  pid_t const command = ::fork();
  if (command == 0) {
    StoppedProcesses stopped;
    ProcessTree tree(stopped.of(1));
    tree.set_leader(program.leader());
    tree.stop();
    ::kill(::getpid(), SIGKILL);
  }

  ::waitpid(command, nullptr, 0);
  EXPECT_TRUE(comes_to([&] { return program.all(runs); }));
}

}  // namespace
}  // namespace stepscope::tracer
