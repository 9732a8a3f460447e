// Part of libstepscope-exit.so: where that is preloaded NVTX loads it instead of the tracer
// (NVTX_INJECTION64_PATH), finds it in memory, and it loads the tracer with signals held back.
//
// Why: while NVTX initializes itself, at a program's first annotation, every other annotation waits
// for that. A signal handler that annotates, and interrupts the thread that initializes, would wait
// for ever. Without a tracer that takes a moment; loading one takes milliseconds. So signals are
// blocked from the moment that NVTX calls dlopen() until NVTX is done, which the tracer knows by
// the callback that follows (release_signals in callbacks.cpp).
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>

#include <dlfcn.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracer/inject/exit_hooks.h"
#include "tracer/inject/nvtx_forks.h"

// The loader looks for a library as the caller of dlopen() asks for it (its RUNPATH, its
// namespace), and knows the caller by the return address. So this one leaves the stack as it found
// it and jumps.
#if defined(__x86_64__)
__asm__(R"(
  .text
  .globl dlopen
  .type dlopen, @function
dlopen:
  .cfi_startproc
  endbr64
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  pushq %rsi
  .cfi_adjust_cfa_offset 8
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  call stepscope_next_dlopen
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
  jmpq *%rax
  .cfi_endproc
  .size dlopen, . - dlopen
)");
#endif

extern "C" __attribute__((visibility("hidden"))) void* stepscope_next_dlopen(char const* path);

namespace {

int initialize_extension(void* module);

constexpr char const* kTracerName = "libstepscope-tracer.so";
constexpr size_t kMaxPath = 4096;

/// As the kernel has it: bit s − 1 of signal s.
using KernelMask = uint64_t;
thread_local KernelMask mask_before __attribute__((tls_model("initial-exec"))) = 0;
thread_local bool are_held __attribute__((tls_model("initial-exec"))) = false;

constexpr KernelMask bit_of(int signal) { return KernelMask{1} << (signal - 1); }
/// A fault ends the program at once when its signal is blocked; the C library needs 32 and 33.
constexpr KernelMask kNeverHeld = bit_of(SIGSEGV) | bit_of(SIGBUS) | bit_of(SIGFPE) |
                                  bit_of(SIGILL) | bit_of(SIGABRT) | bit_of(SIGTRAP) |
                                  bit_of(SIGSYS) | bit_of(32) | bit_of(33);

/// One call of the kernel: a signal that comes before it takes effect finds NVTX in the middle of
/// its initialization, and no way to hold it back.
void hold_signals() {
  if (are_held) return;
  KernelMask const held = ~kNeverHeld;
  ::syscall(SYS_rt_sigprocmask, SIG_BLOCK, &held, &mask_before, sizeof held);
  stepscope::tracer::nvtx_initialization_begins();
  are_held = true;
}

void restore_signals() {
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask_before, nullptr, sizeof mask_before);
}

/// Where this library is, as the loader knows it; empty when that is too long, or before the
/// constructor ran. No local statics here: those of C++ need its library, which not every program
/// has.
std::array<char, kMaxPath> own_path{};
std::atomic<void*> next_dlopen{nullptr};
/// Else no library finds stepscope_release_signals(): a program or a launcher has set LD_PRELOAD to
/// something else.
std::atomic<bool> is_preloaded{false};
/// NVTX has called us, and calls the tracer back when it is done.
thread_local bool is_called_by_nvtx __attribute__((tls_model("initial-exec"))) = false;

/// Holds signals once as if NVTX had called. The first call of a function is slow: the loader binds
/// it, its page comes in. A signal of that time would be a deadlock while NVTX initializes itself.
void rehearse() {
  if (!is_preloaded) return;
  stepscope_next_dlopen(own_path.data());
  stepscope_release_signals();
}

__attribute__((constructor)) void look_around() {
  Dl_info self{};
  bool const is_known =
      ::dladdr(reinterpret_cast<void const*>(&stepscope_release_signals), &self) != 0 &&
      self.dli_fname != nullptr;
  if (is_known && std::strlen(self.dli_fname) < own_path.size())
    std::strcpy(own_path.data(), self.dli_fname);

  next_dlopen = ::dlsym(RTLD_NEXT, "dlopen");

  // In the program's own scope: RTLD_DEFAULT would look into this library, too.
  void* const program = ::dlopen(nullptr, RTLD_LAZY);
  is_preloaded = program != nullptr && ::dlsym(program, "stepscope_release_signals") ==
                                           reinterpret_cast<void*>(&stepscope_release_signals);

  stepscope::tracer::prepare_for_forks(initialize_extension);
  rehearse();
}

/// The function of that name in the tracer, which is beside this library; null when it is not
/// there.
void* find_in_tracer(char const* name) {
  std::array<char, kMaxPath> path = own_path;
  char* const slash = std::strrchr(path.data(), '/');
  char* const file = slash == nullptr ? path.data() : slash + 1;
  if (static_cast<size_t>(file - path.data()) + std::strlen(kTracerName) + 1 > path.size())
    return nullptr;
  std::strcpy(file, kTracerName);
  void* const tracer = ::dlopen(path.data(), RTLD_LAZY);
  return tracer != nullptr ? ::dlsym(tracer, name) : nullptr;
}

/// Signals stay held when the tracer takes part: it is called back next.
int initialize(char const* function, void* argument) {
  if (is_preloaded) hold_signals();
  is_called_by_nvtx = true;
  auto* const tracer = reinterpret_cast<int (*)(void*)>(find_in_tracer(function));
  int const takes_part = tracer != nullptr ? tracer(argument) : 0;
  if (takes_part == 0) stepscope_release_signals();
  return takes_part;
}

int initialize_extension(void* module) {
  return initialize("InitializeInjectionNvtxExtension", module);
}

}  // namespace

extern "C" {
/// What our dlopen() goes on to. NVTX opens this library by this path; who opens it and does not
/// call us, or opens another one first, is no NVTX that we know.
__attribute__((used)) void* stepscope_next_dlopen(char const* path) {
  bool const is_own = path != nullptr && *path == '/' && std::strcmp(path, own_path.data()) == 0;
  if (is_own && is_preloaded) hold_signals();
  if (!is_own && are_held && !is_called_by_nvtx) stepscope_release_signals();
  if (next_dlopen == nullptr) next_dlopen = ::dlsym(RTLD_NEXT, "dlopen");
  return next_dlopen;
}

__attribute__((visibility("default"))) void stepscope_release_signals() {
  is_called_by_nvtx = false;
  if (!are_held) return;
  are_held = false;
  stepscope::tracer::nvtx_initialization_ends();
  restore_signals();
}

// As NVTX calls them; what they are given is the tracer's to know.
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(void* get_export_table) {
  return initialize("InitializeInjectionNvtx2", get_export_table);
}
/// The entry of NVTX 2, which the tracer does not record.
__attribute__((visibility("default"))) int InitializeInjectionNvtx(void* /*get_export_table*/) {
  stepscope_release_signals();
  return 0;
}
__attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(void* module) {
  if (module != nullptr) stepscope::tracer::nvtx_module_begins(module);
  return initialize_extension(module);
}
}
