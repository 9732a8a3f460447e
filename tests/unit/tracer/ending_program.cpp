// Records 1000 ranges and one that stays open, then ends in the way that its first argument names.
#include <array>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <thread>

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nvtx3/nvToolsExt.h>

namespace {

constexpr int kStatus = 7;

void record() {
  nvtxRangePushA("left open");
  for (int i = 0; i < 1000; ++i) {
    nvtxRangePushA("range");
    nvtxRangePop();
  }
}

/// In a child; true when it ended with kStatus.
template <class Work>
bool in_child(pid_t child, Work const& work) {
  if (child == 0) work();
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == kStatus;
}

void end_as(std::string_view how) {
  std::array<char*, 3> arguments = {const_cast<char*>("sh"), const_cast<char*>("-c"),
                                    const_cast<char*>("exit 7")};
  std::array<char*, 4> const list = {arguments[0], arguments[1], arguments[2], nullptr};

  if (how == "_exit") ::_exit(kStatus);
  if (how == "_Exit") std::_Exit(kStatus);
  if (how == "quick_exit") std::quick_exit(kStatus);

  if (how == "execv") ::execv("/bin/sh", list.data());
  if (how == "execve") ::execve("/bin/sh", list.data(), environ);
  if (how == "execvp") ::execvp("sh", list.data());
  if (how == "execl") ::execl("/bin/sh", "sh", "-c", "exit 7", nullptr);
  if (how == "execlp") ::execlp("sh", "sh", "-c", "exit 7", nullptr);
  if (how == "execle") ::execle("/bin/sh", "sh", "-c", "exit 7", nullptr, environ);

  if (how == "signal-handler") {
    std::signal(SIGTERM, [](int) { ::_exit(kStatus); });
    std::raise(SIGTERM);
  }
  // The status of the last thread is that of the process: ours must not be it.
  if (how == "main-thread-first") {
    std::thread([] {
      ::usleep(100'000);
      ::syscall(SYS_exit, kStatus);
    }).detach();
    ::syscall(SYS_exit, kStatus);
  }
  if (how == "abort") std::abort();
  if (how == "sent-fault" || how == "handled-fault") std::raise(SIGSEGV);
  if (how == "fault") {
    int volatile* volatile nowhere = nullptr;
    *nowhere = kStatus;
  }
  if (how == "killed") std::raise(SIGKILL);
}

}  // namespace

int main(int argc, char** argv) {
  std::string_view const how = argc > 1 ? argv[1] : "";
  // The program sets its handler before it records anything, and keeps it.
  if (how == "handled-fault") std::signal(SIGSEGV, [](int) { ::_exit(kStatus); });
  record();

  // Like Python's multiprocessing: the child records too and ends without exit handlers.
  if (how == "fork") {
    bool const good = in_child(::fork(), [] {
      record();
      ::_exit(kStatus);
    });
    ::_exit(good ? kStatus : EXIT_FAILURE);
  }

  // A child that shares this memory must not end its parent's capture.
  if (how == "vfork") {
    bool const good = in_child(::vfork(), [] { ::_exit(kStatus); }) && in_child(::vfork(), [] {
                        ::execl("/bin/sh", "sh", "-c", "exit 7", nullptr);
                      });
    record();
    ::_exit(good ? kStatus : EXIT_FAILURE);
  }

  // The exec fails, and the program goes on.
  if (how == "failing-exec") {
    if (::execl("/nowhere/program", "program", nullptr) == 0 ||
        ::execlp("no-such-program-here", "program", nullptr) == 0)
      return EXIT_FAILURE;
    record();
    return kStatus;
  }

  end_as(how);
  return kStatus;
}
