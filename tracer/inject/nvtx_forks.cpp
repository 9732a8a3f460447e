#include "tracer/inject/nvtx_forks.h"

#include <array>
#include <atomic>
#include <cstdint>

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tracer/inject/exit_hooks.h"

namespace stepscope::tracer {
namespace {

// Initializing and forking exclude each other, but for a bounded time: who waits may hold a lock of the loader, which the other
// one needs.
constexpr int kMaxWaits = 10'000;  // of 50 µs and the timer's slack: about a second
std::atomic<int> initializing{0}, forking{0};
thread_local int own_forks __attribute__((tls_model("initial-exec"))) = 0;
thread_local bool is_initializing __attribute__((tls_model("initial-exec"))) = false;

/// Until no other thread is counted there. No function of the C library, which would end a thread that is to be cancelled here.
void wait_for_others(std::atomic<int> const& counted, int own) {
  timespec const pause = {0, 50'000};
  for (int waits = 0; counted.load() > own && waits < kMaxWaits; ++waits) ::syscall(SYS_nanosleep, &pause, nullptr);
}

// That leaves the threads which NVTX already counts as initializing and which have not reached us when the process is copied.
// Their children learn from the parent, in memory that both have, where that copy of NVTX keeps its state, and begin anew.

/// NVTX's (nvtxDetail/nvtxImpl.h).
constexpr uint32_t kFresh = 0, kStarted = 1, kComplete = 2;

using Initialize = int(void const*);

/// One copy of NVTX: each library that is built with it has its own.
struct Copy {
  std::atomic<uint32_t>* state;
  Initialize** function;   ///< where it keeps the function that initializes it when it is called …
  Initialize* initialize;  ///< … and that function
};
/// What one process tells the children that it forks; it alone writes.
struct Shared {
  std::atomic<uint32_t> taken{0};
  std::array<Copy, 64> copies;
  std::array<std::atomic<bool>, 64> are_told{};
};
std::atomic<Shared*> to_children{nullptr}, of_parent{nullptr};
std::atomic<uint32_t> looked_at{0};  ///< of the parent's
std::atomic<int (*)()> next_sched_yield{nullptr};

Shared* make_shared() {
  void* const memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory != MAP_FAILED ? new (memory) Shared : nullptr;
}

/// Whether all of it is writable memory of one library that is loaded here: the parent may have opened it after the fork.
bool is_loaded(Copy const& copy) {
  struct Search {
    Copy const& copy;
    bool is_found = false;
  };
  Search search{copy};
  auto const look = [](dl_phdr_info* object, size_t, void* argument) {
    auto& self = *static_cast<Search*>(argument);
    auto const holds = [object](void const* address, uint32_t flag) {
      auto const at = reinterpret_cast<uintptr_t>(address);
      for (int i = 0; i < object->dlpi_phnum; ++i) {
        ElfW(Phdr) const& segment = object->dlpi_phdr[i];
        uintptr_t const begin = object->dlpi_addr + segment.p_vaddr;
        if (segment.p_type == PT_LOAD && (segment.p_flags & flag) != 0 && at >= begin && at < begin + segment.p_memsz)
          return true;
      }
      return false;
    };
    self.is_found = holds(self.copy.state, PF_W) && holds(self.copy.function, PF_W) &&
                    holds(reinterpret_cast<void const*>(self.copy.initialize), PF_X);
    return self.is_found ? 1 : 0;
  };
  ::dl_iterate_phdr(look, &search);
  return search.is_found;
}

/// In a forked child, whose caller may wait for a thread that was not copied: NVTX makes this call while it waits. Looks at each
/// copy of NVTX that the parent tells of, once.
void begin_anew_where_nobody_initializes(Shared& parent) {
  uint32_t const next = looked_at.load(std::memory_order_relaxed);
  if (next >= parent.copies.size() || !parent.are_told[next].load(std::memory_order_acquire) || initializing.load() != 0) return;
  uint32_t expected_place = next;
  if (!looked_at.compare_exchange_strong(expected_place, next + 1)) return;  // another thread looks at it
  Copy const& copy = parent.copies[next];
  if (!is_loaded(copy)) return;

  // It was told what to call before the process was copied, or not.
  bool const is_told = *copy.function != copy.initialize;
  uint32_t expected = kStarted;
  if (copy.state->compare_exchange_strong(expected, is_told ? kComplete : kFresh) && !is_told) copy.initialize(nullptr);
}

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
  of_parent = to_children.load();
  looked_at = 0;
  to_children = make_shared();
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
  to_children = make_shared();
  next_sched_yield = reinterpret_cast<int (*)()>(::dlsym(RTLD_NEXT, "sched_yield"));
  ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

}  // namespace stepscope::tracer

using namespace stepscope::tracer;

extern "C" {
__attribute__((visibility("default"))) void stepscope_fork_begins() { before_fork(); }
__attribute__((visibility("default"))) void stepscope_fork_ends() {
  if (own_forks > 0) after_fork_in_parent();  // in a child all is as at its begin
}

__attribute__((visibility("default"))) void stepscope_found_nvtx(uint32_t* state, void* function) {
  Shared* const children = to_children.load(std::memory_order_acquire);
  auto* const atomic_state = reinterpret_cast<std::atomic<uint32_t>*>(state);
  if (children == nullptr || atomic_state->load() != kStarted) return;  // not the NVTX that we know
  uint32_t const place = children->taken.fetch_add(1);
  if (place >= children->copies.size()) return;
  auto* const where = static_cast<Initialize**>(function);
  children->copies[place] = {atomic_state, where, *where};
  children->are_told[place].store(true, std::memory_order_release);
}

__attribute__((visibility("default"))) int sched_yield() noexcept {
  if (Shared* const parent = of_parent.load(std::memory_order_acquire); parent != nullptr)
    begin_anew_where_nobody_initializes(*parent);
  auto* const next = next_sched_yield.load(std::memory_order_relaxed);
  return next != nullptr ? next() : 0;
}
}
