// Part of libstepscope-exit.so: where that is preloaded NVTX loads it instead of the tracer (NVTX_INJECTION64_PATH), finds it in
// memory, and it loads the tracer with signals held back.
//
// Why: while NVTX initializes itself, at a program's first annotation, every other annotation waits for that. A signal handler
// that annotates, and interrupts the thread that initializes, would wait for ever. Without a tracer that takes a moment; loading
// one takes milliseconds. So signals are blocked from the first moment that NVTX gives us until NVTX is done, which the tracer
// knows by the callback that follows (release_signals in callbacks.cpp).
//
// For the same reason no thread forks meanwhile: its child would find NVTX half initialized and wait for a thread that it does
// not have.
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tracer/inject/exit_hooks.h"

namespace {

constexpr char const* kTracerName = "libstepscope-tracer.so";
constexpr size_t kMaxPath = 4096;

/// As the kernel has it: bit s − 1 of signal s.
using KernelMask = uint64_t;
thread_local KernelMask mask_before __attribute__((tls_model("initial-exec"))) = 0;
thread_local bool are_held __attribute__((tls_model("initial-exec"))) = false;

constexpr KernelMask bit_of(int signal) { return KernelMask{1} << (signal - 1); }
/// A fault ends the program at once when its signal is blocked; the C library needs 32 and 33.
constexpr KernelMask kNeverHeld = bit_of(SIGSEGV) | bit_of(SIGBUS) | bit_of(SIGFPE) | bit_of(SIGILL) | bit_of(SIGABRT) |
                                  bit_of(SIGTRAP) | bit_of(SIGSYS) | bit_of(32) | bit_of(33);

void set_mask(KernelMask const* mask, KernelMask* before) {
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, mask, before, sizeof(KernelMask));
}

// Initializing and forking exclude each other, but for a bounded time: who waits may hold a lock of the loader, which the other
// one needs.
constexpr int kMaxWaits = 20'000;  // of 50 µs: a second
std::atomic<int> initializing{0}, forking{0};
thread_local int own_forks __attribute__((tls_model("initial-exec"))) = 0;

/// Until no other thread is counted there.
void wait_for_others(std::atomic<int> const& counted, int own) {
  timespec const pause = {0, 50'000};
  for (int waits = 0; counted.load() > own && waits < kMaxWaits; ++waits) ::nanosleep(&pause, nullptr);
}

void begin_initialization() {
  initializing.fetch_add(1);
  if (forking.load() == own_forks) return;
  initializing.fetch_sub(1);
  wait_for_others(forking, own_forks);
  initializing.fetch_add(1);
}

void hold_signals() {
  if (are_held) return;
  KernelMask now = 0;
  ::syscall(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, &now, sizeof now);
  mask_before = now;
  now |= ~kNeverHeld;
  set_mask(&now, nullptr);
  begin_initialization();
  are_held = true;
}

void before_fork() {
  forking.fetch_add(1);
  ++own_forks;
  wait_for_others(initializing, are_held ? 1 : 0);
}

void after_fork_in_parent() {
  --own_forks;
  forking.fetch_sub(1);
}

void after_fork_in_child() {
  own_forks = 0;
  forking = 0;
  initializing = are_held ? 1 : 0;
}

__attribute__((constructor)) void watch_forks() { ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child); }

/// The function of that name in the tracer, which is beside this library; null when it is not there.
void* find_in_tracer(char const* name) {
  Dl_info self{};
  std::array<char, kMaxPath> path{};
  if (::dladdr(reinterpret_cast<void const*>(&stepscope_release_signals), &self) == 0 || self.dli_fname == nullptr)
    return nullptr;
  char const* const slash = std::strrchr(self.dli_fname, '/');
  size_t const folder = slash == nullptr ? 0 : static_cast<size_t>(slash + 1 - self.dli_fname);
  if (folder + std::strlen(kTracerName) + 1 > path.size()) return nullptr;
  std::memcpy(path.data(), self.dli_fname, folder);
  std::strcpy(path.data() + folder, kTracerName);
  void* const tracer = ::dlopen(path.data(), RTLD_LAZY);
  return tracer != nullptr ? ::dlsym(tracer, name) : nullptr;
}

/// Signals stay held when the tracer takes part: it is called back next.
int initialize(char const* function, void* argument) {
  hold_signals();
  auto* const tracer = reinterpret_cast<int (*)(void*)>(find_in_tracer(function));
  int const takes_part = tracer != nullptr ? tracer(argument) : 0;
  if (takes_part == 0) stepscope_release_signals();
  return takes_part;
}

}  // namespace

extern "C" {
__attribute__((visibility("default"))) void stepscope_release_signals() {
  if (!are_held) return;
  are_held = false;
  initializing.fetch_sub(1);
  set_mask(&mask_before, nullptr);
}

/// The tracer's own handler of forks runs before ours and takes locks that initializing needs: it waits here first.
__attribute__((visibility("default"))) void stepscope_wait_for_initialization() {
  wait_for_others(initializing, are_held ? 1 : 0);
}

// As NVTX calls them; what they are given is the tracer's to know.
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(void* get_export_table) {
  return initialize("InitializeInjectionNvtx2", get_export_table);
}
__attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(void* module) {
  return initialize("InitializeInjectionNvtxExtension", module);
}
}
