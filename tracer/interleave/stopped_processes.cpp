#include "tracer/interleave/stopped_processes.h"

#include <cerrno>
#include <new>

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tracer/core/threads/private_descriptors.h"

namespace stepscope::tracer {
namespace {

/// Until the command is gone. In a session of its own: a signal to the command's group is not for
/// this process. Only what is allowed after fork().
template <class Lists>
[[noreturn]] void watch(int pipe, Lists const& lists) {
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  ::setsid();
  // It keeps no file of the command open or locked, nor the other end of its pipe.
  [[maybe_unused]] auto const closed = take_private_descriptors(pipe);

  char byte = 0;
  while (::read(pipe, &byte, 1) < 0 && errno == EINTR) {
  }
  for (auto const& list : lists) list.let_go_on();
  ::_exit(0);
}

}  // namespace

void StoppedProcesses::List::let_go_on() const {
  uint32_t const count = count_.load(std::memory_order_acquire);
  for (uint32_t at = 0; at < count; ++at)
    ::kill(processes_[at].load(std::memory_order_relaxed), SIGCONT);
}

StoppedProcesses::StoppedProcesses() {
  void* const memory =
      ::mmap(nullptr, sizeof(Lists), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  is_shared_ = memory != MAP_FAILED;
  lists_ = is_shared_ ? new (memory) Lists : new Lists;

  std::array<int, 2> ends{};
  if (!is_shared_ || ::pipe2(ends.data(), O_CLOEXEC) != 0) return;
  alive_ = FileDescriptor(ends[1]);
  FileDescriptor const other_end(ends[0]);

  watching_ = ::fork();
  if (watching_ == 0) watch(ends[0], *lists_);
}

StoppedProcesses::~StoppedProcesses() {
  alive_.close();
  if (watching_ > 0) ::waitpid(watching_, nullptr, 0);
  if (is_shared_)
    ::munmap(lists_, sizeof(Lists));
  else
    delete lists_;
}

}  // namespace stepscope::tracer
