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

// Initializing and forking exclude each other, but for a bounded time: who waits may hold a lock of
// the loader, which the other one needs.
constexpr int kMaxWaits = 10'000;  // of 50 µs and the timer's slack: about a second
std::atomic<int> initializing{0}, forking{0};
thread_local int own_forks __attribute__((tls_model("initial-exec"))) = 0;
thread_local bool is_initializing __attribute__((tls_model("initial-exec"))) = false;

/// Until no other thread is counted there. No function of the C library, which would end a thread
/// that is to be cancelled here.
void wait_for_others(std::atomic<int> const& counted, int own) {
  timespec const pause = {0, 50'000};
  for (int waits = 0; counted.load() > own && waits < kMaxWaits; ++waits)
    ::syscall(SYS_nanosleep, &pause, nullptr);
}

// Threads remain which NVTX already counts as initializing and which have not reached us when the
// process is copied. Their children learn from the parent, in memory that both have, where that
// copy of NVTX keeps its state, and begin anew.

/// NVTX's (nvtxDetail/nvtxImpl.h).
constexpr uint32_t kFresh = 0, kStarted = 1, kComplete = 2;

using Initialize = int(void const*);

/// The core of one copy of NVTX: each library that is built with it has its own.
struct Core {
  std::atomic<uint32_t>* state;
  Initialize** function;  ///< where it keeps the function that initializes it when it is called …
  Initialize* initialize;  ///< … and that function
};

/// An extension of one copy of NVTX (nvtxDetail/nvtxExtTypes.h). Its state stands in front of the
/// slots of its functions.
struct ModuleSegment {
  size_t id, slot_count;
  std::atomic<intptr_t>* slots;
};
struct Module {
  uint16_t version, size, id, compatibility;
  size_t segment_count;
  ModuleSegment* segments;
  void* get_export_function;
  void const* info;
};
/// Slots have the first two values, states all of them (nvtxDetail/nvtxExtImpl.h).
constexpr intptr_t kExtensionFresh = 0, kDisabled = 1, kStarting = 2, kLoaded = 3, kFailed = 4;

/// What is known of one that a thread initializes.
struct Begun {
  bool is_module;
  Core core;
  Module module;
  ModuleSegment segment;  ///< the module's only one
};
/// What one process tells the children that it forks; it alone writes.
struct Shared {
  std::atomic<uint32_t> taken{0};
  std::array<Begun, 64> begun;
  std::array<std::atomic<bool>, 64> are_known{};
};
std::atomic<Shared*> to_children{nullptr}, of_parent{nullptr};
std::atomic<uint32_t> looked_at{0};  ///< of the parent's
std::atomic<int (*)()> next_sched_yield{nullptr};
int (*initialize_module)(void*) = nullptr;

Shared* make_shared() {
  void* const memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory != MAP_FAILED ? new (memory) Shared : nullptr;
}

/// Made by the first fork or initialization: most processes that are forked do neither.
void share_with_children() {
  if (to_children.load() != nullptr) return;
  Shared* const made = make_shared();
  Shared* none = nullptr;
  if (made != nullptr && !to_children.compare_exchange_strong(none, made))
    ::munmap(made, sizeof(Shared));
}

void tell_children(Begun const& begun) {
  share_with_children();
  Shared* const children = to_children.load(std::memory_order_acquire);
  if (children == nullptr) return;
  uint32_t const place = children->taken.fetch_add(1);
  if (place >= children->begun.size()) return;
  children->begun[place] = begun;
  children->are_known[place].store(true, std::memory_order_release);
}

/// A place in the memory of a library, with the rights that the library has there.
struct Place {
  void const* address;
  uint32_t flag;
};

/// Whether one library that is loaded here has all of them: the parent may have opened it after the
/// fork.
bool are_loaded(std::array<Place, 3> const& places) {
  struct Search {
    std::array<Place, 3> const& places;
    bool is_found = false;
  };
  Search search{places};

  auto const look = [](dl_phdr_info* object, size_t, void* argument) {
    auto& self = *static_cast<Search*>(argument);
    auto const holds = [object](Place const& place) {
      auto const at = reinterpret_cast<uintptr_t>(place.address);
      for (int i = 0; i < object->dlpi_phnum; ++i) {
        ElfW(Phdr) const& segment = object->dlpi_phdr[i];
        uintptr_t const begin = object->dlpi_addr + segment.p_vaddr;
        if (segment.p_type == PT_LOAD && (segment.p_flags & place.flag) != 0 && at >= begin &&
            at < begin + segment.p_memsz)
          return true;
      }
      return false;
    };
    self.is_found = holds(self.places[0]) && holds(self.places[1]) && holds(self.places[2]);
    return self.is_found ? 1 : 0;
  };

  ::dl_iterate_phdr(look, &search);
  return search.is_found;
}

void begin_anew(Core const& core) {
  if (!are_loaded({Place{core.state, PF_W}, Place{core.function, PF_W},
                   Place{reinterpret_cast<void const*>(core.initialize), PF_X}}))
    return;
  // Its function was replaced before the process was copied, or not.
  bool const is_replaced = *core.function != core.initialize;
  uint32_t expected = kStarted;
  if (core.state->compare_exchange_strong(expected, is_replaced ? kComplete : kFresh) &&
      !is_replaced)
    core.initialize(nullptr);
}

/// Does what NVTX would have done (nvtxDetail/nvtxExtInit.h), which offers no function for it.
void begin_anew(Module module, ModuleSegment segment) {
  std::atomic<intptr_t>* const state = segment.slots - 1;
  std::atomic<intptr_t>* const end = segment.slots + segment.slot_count;
  if (!are_loaded({Place{state, PF_W}, Place{segment.slots, PF_W}, Place{end - 1, PF_W}}) ||
      state->load() != kStarting)
    return;

  module.segments = &segment;
  bool const takes_part = initialize_module(&module) != 0;
  for (std::atomic<intptr_t>* slot = segment.slots; slot != end; ++slot)
    if (!takes_part || slot->load() == kExtensionFresh) slot->store(kDisabled);
  state->store(takes_part ? kLoaded : kFailed);
}

/// In a forked child, whose caller may wait for a thread that was not copied: NVTX makes this call
/// while it waits. Looks at each copy of NVTX that the parent tells of, once.
void begin_anew_where_nobody_initializes(Shared& parent) {
  uint32_t const next = looked_at.load(std::memory_order_relaxed);
  if (next >= parent.begun.size() || !parent.are_known[next].load(std::memory_order_acquire) ||
      initializing.load() != 0)
    return;

  uint32_t expected_place = next;
  if (!looked_at.compare_exchange_strong(expected_place, next + 1))
    return;  // another thread looks at it

  Begun const& begun = parent.begun[next];
  if (begun.is_module)
    begin_anew(begun.module, begun.segment);
  else
    begin_anew(begun.core);
}

void before_fork() {
  share_with_children();
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
  to_children = nullptr;
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

void nvtx_module_begins(void const* module) {
  auto const& begun = *static_cast<Module const*>(module);
  bool const is_known = begun.size >= sizeof(Module) && begun.segment_count == 1 &&
                        begun.segments != nullptr && begun.segments->slot_count > 0 &&
                        begun.segments->slots != nullptr;
  // Else not the NVTX that we know.
  if (is_known && begun.segments->slots[-1].load() == kStarting)
    tell_children({true, {}, begun, *begun.segments});
}

void prepare_for_forks(int (*module_initializer)(void*)) {
  initialize_module = module_initializer;
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
  auto* const atomic_state = reinterpret_cast<std::atomic<uint32_t>*>(state);
  if (atomic_state->load() != kStarted) return;  // not the NVTX that we know
  auto* const where = static_cast<Initialize**>(function);
  tell_children({false, {atomic_state, where, *where}, {}, {}});
}

__attribute__((visibility("default"))) int sched_yield() noexcept {
  if (Shared* const parent = of_parent.load(std::memory_order_acquire); parent != nullptr)
    begin_anew_where_nobody_initializes(*parent);
  auto* const next = next_sched_yield.load(std::memory_order_relaxed);
  return next != nullptr ? next() : 0;
}
}
