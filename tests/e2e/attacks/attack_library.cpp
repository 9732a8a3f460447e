// NVTX for programs in other languages: Python loads this by ctypes, Java and Node as a native
// library, and into programs that can load nothing (bash, perl) it is preloaded.
//   ATTACK_RANGES=N   makes N ranges when it is loaded
//   ATTACK_BUSY=1     and starts a thread that makes ranges until the process ends
#include <csignal>
#include <cstdlib>

#include <pthread.h>
#include <unistd.h>

#include <nvtx3/nvToolsExt.h>

#define ATTACK_EXPORT extern "C" __attribute__((visibility("default")))

ATTACK_EXPORT void attack_push(char const* name) { nvtxRangePushA(name); }
ATTACK_EXPORT void attack_pop() { nvtxRangePop(); }
ATTACK_EXPORT void attack_mark(char const* name) { nvtxMarkA(name); }

ATTACK_EXPORT void attack_work(int ranges) {
  for (int i = 0; i < ranges; ++i) {
    nvtxRangePushA("library");
    nvtxRangePop();
  }
}

/// Java: static native void work(), of the class AttackJava.
ATTACK_EXPORT void Java_AttackJava_work(void* /*environment*/, void* /*its_class*/) {
  attack_work(10);
}

/// Node: process.dlopen() calls it once for each thread that loads this.
ATTACK_EXPORT void* napi_register_module_v1(void* /*environment*/, void* exports) {
  attack_work(100);
  return exports;
}

namespace {

void* be_busy(void* /*unused*/) {
  for (;;) {
    attack_work(10);
    ::usleep(200);
  }
}

__attribute__((constructor)) void start() {
  if (char const* const ranges = std::getenv("ATTACK_RANGES"); ranges != nullptr)
    attack_work(std::atoi(ranges));
  if (std::getenv("ATTACK_BUSY") == nullptr) return;
  // Signals are for the program's own thread: interpreters set variables in their handlers.
  sigset_t all{}, before{};
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread{};
  if (::pthread_create(&thread, nullptr, be_busy, nullptr) == 0) ::pthread_detach(thread);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace
