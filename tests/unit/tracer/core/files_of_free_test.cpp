// A thread with the program's descriptors frees memory: it must open no file. A filter of system
// calls ends the process if it does.
#include "tracer/core/threads/files_of_free.h"

#include <array>
#include <cstddef>
#include <cstdlib>
#include <thread>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "tests/support/sanitized.h"

namespace stepscope::tracer {
namespace {

/// The calling thread may open nothing from now on.
bool forbid_opening() {
  std::array<sock_filter, 4> program = {
      {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
       BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
       BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
       BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)}};
  sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/// So much that free() gives memory back.
void take_and_free() {
  std::array<char*, 16> blocks{};
  for (char*& block : blocks) {
    block = static_cast<char*>(std::malloc(100'000));
    *static_cast<char volatile*>(block) = 0;
  }
  for (size_t i = blocks.size(); i > 0; --i) std::free(blocks[i - 1]);
}

constexpr int kNoFilter = 77;

/// How a process ends in which a thread frees memory and may open nothing.
int end_of_process(bool is_prepared) {
  pid_t const child = ::fork();
  if (child == 0) {
    if (is_prepared) std::thread(read_files_of_free).join();
    std::thread([] {
      if (!forbid_opening()) ::_exit(kNoFilter);
      take_and_free();
    }).join();
    ::_exit(0);
  }

  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(FilesOfFree, AreNotOpenedByThreadsThatShareTheProgramsDescriptors) {
  if (support::kSanitized) GTEST_SKIP() << "the sanitizers have an allocator of their own";
  int const alone = end_of_process(false);
  if (alone == kNoFilter) GTEST_SKIP() << "the system filters no calls here";
  if (alone == 0) GTEST_SKIP() << "this allocator reads no file, or has read it";
  EXPECT_EQ(alone, 128 + SIGSYS);
  EXPECT_EQ(end_of_process(true), 0);
}

}  // namespace
}  // namespace stepscope::tracer
