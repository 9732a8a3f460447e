// How programs end, with and without threads that still make events.
#include <cstdio>
#include <cstdlib>

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <nvtx3/nvToolsExt.h>

#include "tests/e2e/attacks/attack_case.h"

namespace stepscope::attacks {
namespace {

constexpr int kBusyThreads = 8;
constexpr int kBusyMs = 300;  ///< long enough that the tracer's writer runs while they do

int plain(Arguments const& /*unused*/) {
  work(1000);
  std::puts("ok");
  return 0;
}

int nothing(Arguments const& /*unused*/) { return 0; }

int one_mark(Arguments const& /*unused*/) {
  nvtxMarkA("x");
  return 0;
}

int quick_exit(Arguments const& /*unused*/) {
  work(10);
  std::at_quick_exit([] {
    std::puts("quick exit handler");
    std::fflush(stdout);
  });
  std::quick_exit(11);
}

int exit_handlers(Arguments const& /*unused*/) {
  std::atexit([] {
    work(10);
    std::puts("second handler");
  });
  std::atexit([] { std::puts("first handler"); });
  work(10);
  return 14;
}

int exit_in_thread(Arguments const& /*unused*/) {
  work(10);
  pthread_t thread{};
  ::pthread_create(
      &thread, nullptr, [](void*) -> void* { std::exit(12); }, nullptr);
  ::pthread_join(thread, nullptr);
  ::pause();
  return 1;
}

/// The process ends when its last thread does.
int pthread_exit_in_main(Arguments const& /*unused*/) {
  work(10);
  pthread_t thread{};
  ::pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        work(100'000);
        return nullptr;
      },
      nullptr);

  ::pthread_exit(nullptr);
}

int exit_while_busy(Arguments const& /*unused*/) {
  BusyThreads const threads(kBusyThreads);
  sleep_ms(kBusyMs);
  std::exit(13);
}

int exit_now_while_busy(Arguments const& /*unused*/) {
  BusyThreads const threads(kBusyThreads);
  sleep_ms(kBusyMs);
  ::_exit(13);
}

int exit_group_while_busy(Arguments const& /*unused*/) {
  BusyThreads const threads(kBusyThreads);
  sleep_ms(kBusyMs);
  ::syscall(SYS_exit_group, 13);
  return 1;
}

/// Like a supervisor that took the descriptors of its output away from the program.
int closed_stdio(Arguments const& /*unused*/) {
  ::close(STDOUT_FILENO);
  ::close(STDERR_FILENO);
  work(1000);
  return 8;
}

constexpr Case kCases[] = {{"plain", plain},
                           {"nothing", nothing},
                           {"onemark", one_mark},
                           {"quick_exit", quick_exit},
                           {"exit_handlers", exit_handlers},
                           {"exit_thread", exit_in_thread},
                           {"pthread_exit_main", pthread_exit_in_main},
                           {"exit_busy", exit_while_busy},
                           {"uexit_busy", exit_now_while_busy},
                           {"rawexit_busy", exit_group_while_busy},
                           {"stdio_closed", closed_stdio}};

}  // namespace

Theme ending_cases() { return {"endings", kCases}; }

}  // namespace stepscope::attacks
