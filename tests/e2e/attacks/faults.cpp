// Programs that end by a fault, or that live on after one.
#include <array>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <nvtx3/nvToolsExt.h>

#include "tests/e2e/attacks/attack_case.h"

namespace stepscope::attacks {
namespace {

using ThreadFunction = void* (*)(void*);

/// Volatile, so that no compiler knows what happens.
int volatile* volatile nowhere = nullptr;

void block_all_signals() {
  sigset_t all{};
  sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, nullptr);
}

int write_to_null(Arguments const& /*unused*/) {
  work(10);
  *nowhere = 1;
  return 0;
}

/// Threads whose first instruction is at an address that holds nothing.
int fault_in_threads(int count) {
  work(10);
  auto const function = reinterpret_cast<ThreadFunction>(8);
  std::array<pthread_t, 8> threads{};
  for (int i = 0; i < count; ++i)
    ::pthread_create(&threads[static_cast<size_t>(i)], nullptr, function, nullptr);
  for (int i = 0; i < count; ++i) ::pthread_join(threads[static_cast<size_t>(i)], nullptr);
  return 0;
}

int fault_in_thread(Arguments const& /*unused*/) { return fault_in_threads(1); }
int fault_in_many_threads(Arguments const& /*unused*/) { return fault_in_threads(8); }

sigjmp_buf before_fault;

int recover_from_faults(Arguments const& /*unused*/) {
  struct sigaction action {};
  action.sa_handler = [](int) { siglongjmp(before_fault, 1); };
  action.sa_flags = SA_NODEFER;
  ::sigaction(SIGSEGV, &action, nullptr);

  int volatile recovered = 0;
  while (recovered < 1000) {
    if (sigsetjmp(before_fault, 1) == 0) {
      nvtxRangePushA("x");
      *nowhere = 1;
    }
    recovered = recovered + 1;
    nvtxRangePop();
  }

  std::printf("%d\n", recovered);
  return 0;
}

int fault_with_signals_blocked(Arguments const& /*unused*/) {
  block_all_signals();
  work(10);
  *nowhere = 1;
  return 0;
}

int ignore_sent_fault(Arguments const& /*unused*/) {
  std::signal(SIGSEGV, SIG_IGN);
  work(10);
  ::kill(::getpid(), SIGSEGV);
  std::puts("survived");
  return 0;
}

int send_fault(Arguments const& /*unused*/) {
  work(10);
  ::kill(::getpid(), SIGSEGV);
  ::pause();
  return 0;
}

/// With the signal that the compiler's own trap makes on this machine.
int divide_by_zero(Arguments const& /*unused*/) {
  work(10);
  int volatile zero = 0;
  return 1 / zero;
}

int illegal_instruction(Arguments const& /*unused*/) {
  work(10);
  __builtin_trap();
}

int touch_behind_end_of_file(Arguments const& /*unused*/) {
  work(10);
  int const fd = ::open("bus.tmp", O_RDWR | O_CREAT | O_TRUNC, 0644);
  if (::ftruncate(fd, 4096) != 0) return 1;
  auto volatile* const bytes =
      static_cast<char*>(::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  bytes[5000] = 1;
  return 0;
}

int call_abort(Arguments const& /*unused*/) {
  work(10);
  std::abort();
}

int abort_with_handler(Arguments const& /*unused*/) {
  std::signal(SIGABRT, [](int) { nvtxMarkA("in signal"); });
  work(10);
  std::abort();
}

int abort_with_signals_blocked(Arguments const& /*unused*/) {
  block_all_signals();
  work(10);
  std::abort();
}

int raise_one(int signal) {
  work(10);
  std::raise(signal);
  return 0;
}

int volatile deepest = 1 << 30;

/// Recurses until no stack is left, long before the deepest.
int recurse(int depth) {
  if (depth == deepest) return 0;
  std::array<char volatile, 4096> frame{};
  frame[0] = static_cast<char>(depth);
  if (depth % 10 == 0) nvtxRangePushA("deep");
  int const result = recurse(depth + 1) + frame[0];
  return result;
}

int overflow(Arguments const& /*unused*/) {
  work(10);
  sleep_ms(50);
  return recurse(1);
}

int overflow_in_thread(Arguments const& /*unused*/) {
  work(10);
  pthread_t thread{};
  ::pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        recurse(1);
        return nullptr;
      },
      nullptr);

  ::pthread_join(thread, nullptr);
  return 0;
}

int overflow_with_alternate_stack(Arguments const& /*unused*/) {
  static std::array<char, 65536> memory;
  stack_t stack{};
  stack.ss_sp = memory.data();
  stack.ss_size = memory.size();
  ::sigaltstack(&stack, nullptr);
  work(10);
  return recurse(1);
}

constexpr Case kCases[] = {{"segv", write_to_null},
                           {"segv_thread", fault_in_thread},
                           {"segv_many", fault_in_many_threads},
                           {"segv_recover", recover_from_faults},
                           {"segv_block", fault_with_signals_blocked},
                           {"segv_ignored", ignore_sent_fault},
                           {"kill_segv", send_fault},
                           {"fpe", divide_by_zero},
                           {"ill", illegal_instruction},
                           {"bus", touch_behind_end_of_file},
                           {"abort", call_abort},
                           {"abort_handled", abort_with_handler},
                           {"abort_block", abort_with_signals_blocked},
                           {"raise_quit", [](Arguments const&) { return raise_one(SIGQUIT); }},
                           {"sigsys", [](Arguments const&) { return raise_one(SIGSYS); }},
                           {"overflow", overflow},
                           {"overflow_thread", overflow_in_thread},
                           {"overflow_altstack", overflow_with_alternate_stack}};

}  // namespace

Theme fault_cases() { return {"faults", kCases}; }

}  // namespace stepscope::attacks
