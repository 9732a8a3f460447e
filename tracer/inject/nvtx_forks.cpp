#include "tracer/inject/nvtx_forks.h"

#include <array>
#include <atomic>
#include <cstdint>

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <time.h>

#include "tracer/inject/exit_hooks.h"

namespace stepscope::tracer {
namespace {

// Initializing and forking exclude each other, but for a bounded time: who waits may hold a lock of the loader, which the other
// one needs.
constexpr int kMaxWaits = 20'000;  // of 50 µs: a second
std::atomic<int> initializing{0}, forking{0};
thread_local int own_forks __attribute__((tls_model("initial-exec"))) = 0;
thread_local bool is_initializing __attribute__((tls_model("initial-exec"))) = false;

/// Until no other thread is counted there.
void wait_for_others(std::atomic<int> const& counted, int own) {
  timespec const pause = {0, 50'000};
  for (int waits = 0; counted.load() > own && waits < kMaxWaits; ++waits) ::nanosleep(&pause, nullptr);
}

// That leaves the threads which NVTX already counts as initializing and which have not reached us when the process is copied.
// Their children learn from the parent, in memory that both have, where that copy of NVTX keeps its state, and begin anew.

/// NVTX's (nvtxDetail/nvtxImpl.h).
constexpr uint32_t kFresh = 0, kStarted = 1;

/// One copy of NVTX: each library that is built with it has its own.
struct Copy {
  std::atomic<uint32_t>* state;
  int (**initialize)(void const*);  ///< where it keeps the function that initializes it when it is called
};
struct Shared {
  std::atomic<uint32_t> taken{0}, count{0};
  std::array<Copy, 64> copies;
};
std::atomic<Shared*> shared{nullptr};
std::atomic<bool> is_forked{false};
std::atomic<int (*)()> next_sched_yield{nullptr};

void before_fork() {
  forking.fetch_add(1);
  ++own_forks;
  wait_for_others(initializing, is_initializing ? 1 : 0);
}

void after_fork_in_parent() {
  --own_forks;
  forking.fetch_sub(1);
}

void after_fork_in_child() {
  own_forks = 0;
  forking = 0;
  initializing = is_initializing ? 1 : 0;
  is_forked = true;
}

/// In a forked child, whose caller may wait for a thread that was not copied. NVTX makes this call while it waits.
void begin_anew_where_nobody_initializes() {
  Shared const* const known = shared.load(std::memory_order_acquire);
  if (known == nullptr || initializing.load() != 0) return;
  uint32_t const count = known->count.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < count; ++i) {
    Copy const& copy = known->copies[i];
    uint32_t expected = kStarted;
    if (copy.state->compare_exchange_strong(expected, kFresh)) (*copy.initialize)(nullptr);
  }
}

}  // namespace

void nvtx_initialization_begins() {
  if (is_initializing) return;
  initializing.fetch_add(1);
  if (forking.load() != own_forks) {
    initializing.fetch_sub(1);
    wait_for_others(forking, own_forks);
    initializing.fetch_add(1);
  }
  is_initializing = true;
}

void nvtx_initialization_ends() {
  if (!is_initializing) return;
  is_initializing = false;
  initializing.fetch_sub(1);
}

bool this_thread_initializes_nvtx() { return is_initializing; }

void prepare_for_forks() {
  void* const memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) shared = new (memory) Shared;
  next_sched_yield = reinterpret_cast<int (*)()>(::dlsym(RTLD_NEXT, "sched_yield"));
  ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

}  // namespace stepscope::tracer

using namespace stepscope::tracer;

extern "C" {
__attribute__((visibility("default"))) void stepscope_wait_for_nvtx() { wait_for_others(initializing, is_initializing ? 1 : 0); }

__attribute__((visibility("default"))) void stepscope_found_nvtx(uint32_t* state, void* initialize) {
  Shared* const known = shared.load(std::memory_order_acquire);
  auto* const atomic_state = reinterpret_cast<std::atomic<uint32_t>*>(state);
  if (known == nullptr || atomic_state->load() != kStarted) return;  // not the NVTX that we know
  if (known->taken.fetch_add(1) >= known->copies.size()) return;
  uint32_t const place = known->count.load();
  known->copies[place] = {atomic_state, static_cast<int (**)(void const*)>(initialize)};
  known->count.store(place + 1, std::memory_order_release);
}

__attribute__((visibility("default"))) int sched_yield() noexcept {
  if (is_forked.load(std::memory_order_relaxed)) begin_anew_where_nobody_initializes();
  auto* const next = next_sched_yield.load(std::memory_order_relaxed);
  return next != nullptr ? next() : 0;
}
}
