// Many, short, small and unusual threads.
#include <array>
#include <cstdio>
#include <cstring>

#include <pthread.h>
#include <ucontext.h>
#include <unistd.h>

#include <nvtx3/nvToolsExt.h>

#include "tests/e2e/attacks/attack_case.h"

namespace stepscope::attacks {
namespace {

void* make_one_range(void* /*unused*/) {
  work(1);
  return nullptr;
}

int fail() {
  std::puts("fail");
  return 1;
}

int ten_thousand_threads(Arguments const& arguments) {
  double const begin = now_s();
  for (long i = arguments.number(0, 10'000); i > 0; --i) {
    pthread_t thread{};
    if (::pthread_create(&thread, nullptr, make_one_range, nullptr) != 0) return fail();
    ::pthread_join(thread, nullptr);
  }
  std::fprintf(stderr, "T %.3f\n", now_s() - begin);
  std::puts("ok");
  return 0;
}

int two_thousand_threads_at_once(Arguments const& /*unused*/) {
  static std::array<pthread_t, 2000> threads;
  pthread_attr_t attributes{};
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, 65536);

  auto const live = [](void*) -> void* {
    nvtxRangePushA("live");
    sleep_ms(200);
    nvtxRangePop();
    return nullptr;
  };

  for (pthread_t& thread : threads)
    if (::pthread_create(&thread, &attributes, live, nullptr) != 0) return fail();
  for (pthread_t const thread : threads) ::pthread_join(thread, nullptr);

  std::puts("ok");
  return 0;
}

/// With the smallest stack that the C library allows. NVTX itself needs more for its start: that is
/// on the main thread's.
int small_stacks(Arguments const& /*unused*/) {
  work(1);
  pthread_attr_t attributes{};
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, 16384);

  for (int i = 0; i < 100; ++i) {
    pthread_t thread{};
    if (::pthread_create(&thread, &attributes, make_one_range, nullptr) != 0) return fail();
    ::pthread_join(thread, nullptr);
  }

  std::puts("ok");
  return 0;
}

ucontext_t main_context, other_context;

/// Ranges that begin on one stack and end on another, as coroutines have them.
int swap_stacks(Arguments const& /*unused*/) {
  static std::array<char, 65536> stack;
  static int rounds = 0;

  ::getcontext(&other_context);
  other_context.uc_stack.ss_sp = stack.data();
  other_context.uc_stack.ss_size = stack.size();
  other_context.uc_link = &main_context;
  ::makecontext(
      &other_context,
      [] {
        for (;;) {
          nvtxRangePop();
          ++rounds;
          nvtxRangePushA("coroutine");
          ::swapcontext(&other_context, &main_context);
        }
      },
      0);

  for (int i = 0; i < 1000; ++i) {
    nvtxRangePushA("main");
    ::swapcontext(&main_context, &other_context);
    nvtxRangePop();
  }

  std::printf("%d rounds\n", rounds);
  return 0;
}

int count_threads(Arguments const& /*unused*/) {
  work(10);
  sleep_ms(20);
  std::array<char, 256> line{};
  FILE* const status = std::fopen("/proc/self/status", "r");
  while (std::fgets(line.data(), line.size(), status) != nullptr)
    if (std::strncmp(line.data(), "Threads", 7) == 0) std::fputs(line.data(), stderr);
  std::fclose(status);
  return 0;
}

/// Ranges and whatever else takes a lock or memory in a tracer, until the thread is cancelled.
void* annotate_until_cancelled(void* /*unused*/) {
  nvtxDomainHandle_t const domain = nvtxDomainCreateA("cancelled");
  for (unsigned i = 0;; ++i) {
    work(1);
    nvtxDomainRegisterStringA(domain, "a text");
    nvtxMarkW(L"wide");
    nvtxNameOsThreadA(static_cast<uint32_t>(::gettid()), "cancelled");
    if (i % 16 == 0) ::pthread_testcancel();
  }
}

/// Each thread is cancelled at another moment, some in the midst of their first event. The others
/// must go on after it.
int cancel_threads(Arguments const& /*unused*/) {
  work(1);
  constexpr int kThreads = 300, kLongestPauseUs = 400;
  int cancelled = 0;

  for (int i = 0; i < kThreads; ++i) {
    pthread_t thread{};
    if (::pthread_create(&thread, nullptr, annotate_until_cancelled, nullptr) != 0) return fail();
    ::usleep(static_cast<useconds_t>(i * 37 % kLongestPauseUs));
    ::pthread_cancel(thread);

    void* result = nullptr;
    ::pthread_join(thread, &result);
    cancelled += static_cast<int>(result == PTHREAD_CANCELED);
    work(1);
    nvtxDomainRegisterStringA(nullptr, "after");
  }

  std::printf("cancelled %d\n", cancelled);
  return 0;
}

/// A thread that is to be cancelled ends the process all the same.
int exit_while_cancelled(Arguments const& /*unused*/) {
  work(10);
  ::pthread_cancel(::pthread_self());
  ::_exit(12);
}

constexpr Case kCases[] = {
    {"cancel", cancel_threads},           {"cancel_exit", exit_while_cancelled},
    {"threads10k", ten_thousand_threads}, {"threads2k_live", two_thousand_threads_at_once},
    {"smallstack", small_stacks},         {"swapcontext", swap_stacks},
    {"threadcount", count_threads}};

}  // namespace

Theme thread_cases() { return {"threads", kCases}; }

}  // namespace stepscope::attacks
