// Programs under limits that leave the tracer little or nothing.
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <nvtx3/nvToolsExt.h>

#include "tests/e2e/attacks/attack_case.h"

namespace stepscope::attacks {
namespace {

constexpr rlim_t kMiB = 1U << 20;

/// The tracer may take no descriptor that the program counts on.
int few_descriptors(rlim_t count) {
  set_limit(RLIMIT_NOFILE, count);
  work(100);
  std::printf("fd %d\n", ::open("/dev/null", O_RDONLY));
  return 0;
}

int no_descriptor(Arguments const& /*unused*/) {
  set_limit(RLIMIT_NOFILE, 3);
  work(100);
  std::puts("ok");
  return 0;
}

int little_address_space(Arguments const& /*unused*/) {
  set_limit(RLIMIT_AS, 40 * kMiB);
  work(100'000);
  void* const memory = std::malloc(10 * kMiB);
  std::printf("malloc %d\n", static_cast<int>(memory != nullptr));
  return 0;
}

int almost_no_address_space(Arguments const& /*unused*/) {
  set_limit(RLIMIT_AS, 10 * kMiB);
  work(100'000);
  std::puts("ok");
  return 0;
}

void* make_ranges(void* /*unused*/) {
  work(10'000);
  return nullptr;
}

int no_address_space_later(Arguments const& /*unused*/) {
  work(10);
  set_limit(RLIMIT_AS, kMiB);
  work(1'000'000);
  pthread_t thread{};
  int const error = ::pthread_create(&thread, nullptr, make_ranges, nullptr);
  std::printf("create %d\n", static_cast<int>(error != 0));
  work(1'000'000);
  return 0;
}

/// Threads get a stack that was allocated before: only the tracer's own memory for them is missing.
int threads_without_address_space(Arguments const& /*unused*/) {
  pthread_attr_t attributes{};
  ::pthread_attr_init(&attributes);
  void* const stack = std::aligned_alloc(4096, kMiB);
  ::pthread_attr_setstack(&attributes, stack, kMiB);
  work(10);
  set_limit(RLIMIT_AS, kMiB);

  for (int i = 0; i < 20; ++i) {
    pthread_t thread{};
    int const error = ::pthread_create(&thread, &attributes, make_ranges, nullptr);
    if (error == 0) ::pthread_join(thread, nullptr);
    if (error != 0) std::printf("create %d\n", error);
  }

  std::puts("ok");
  return 0;
}

/// The limit on the size of files is for the program's; what the tracer writes must not end it.
int work_with_small_files(rlim_t bytes, int rounds) {
  set_limit(RLIMIT_FSIZE, bytes);
  for (int i = 0; i < rounds; ++i) {
    work(20'000);
    sleep_ms(30);
  }
  std::puts("alive");
  return 0;
}

int small_files_with_handler(Arguments const& /*unused*/) {
  std::signal(SIGXFSZ, [](int) { nvtxMarkA("in signal"); });
  return work_with_small_files(20'000, 20);
}

/// A user that may have no thread more. Root only: for root the limit means nothing.
int no_threads(Arguments const& /*unused*/) {
  set_limit(RLIMIT_NPROC, 0);
  become_nobody();
  work(1000);
  std::puts("ok");
  return 0;
}

constexpr Case kCases[] = {
    {"nofile20", [](Arguments const&) { return few_descriptors(20); }},
    {"nofile4", [](Arguments const&) { return few_descriptors(4); }},
    {"nofile3", no_descriptor},
    {"as", little_address_space},
    {"as_tiny", almost_no_address_space},
    {"as_after", no_address_space_later},
    {"as_threads", threads_without_address_space},
    {"fsize", [](Arguments const&) { return work_with_small_files(20'000, 20); }},
    {"fsize0", [](Arguments const&) { return work_with_small_files(0, 20); }},
    {"fsize_handler", small_files_with_handler},
    {"nproc", no_threads, Needs::kRoot}};

}  // namespace

Theme limit_cases() { return {"limits", kCases}; }

}  // namespace stepscope::attacks
