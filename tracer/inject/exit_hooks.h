// What the tracer and libstepscope-exit.so, where `stepscope record` has preloaded that, have of
// each other.
#pragma once

#include <cstdint>

namespace stepscope::tracer {

/// The first four may be called in a signal handler, and in a child that still shares the memory
/// of its parent (vfork). They take no lock, allocate nothing and return within a bounded time.
struct ExitHooks {
  /// The process is about to end without running exit handlers.
  void (*before_end)();
  /// It is about to send itself a signal that ends it.
  void (*before_signal)();
  /// It is about to execute another program.
  void (*before_exec)();
  /// It did not execute the other program after all.
  void (*exec_failed)();
  /// The calling thread is about to ask for what Linux gives only to processes of one thread. Ends
  /// the tracer's threads and waits for that; the next event begins a new trace. Not in signal
  /// handlers.
  void (*be_alone)();
  /// The calling thread exits, after its own C++ destructors; `value` is what it gave
  /// stepscope_set_thread_value().
  void (*thread_exits)(void* value);
};

}  // namespace stepscope::tracer

// Functions of libstepscope-exit.so. Weak: null where that was not preloaded.
extern "C" {
__attribute__((weak, visibility("default"))) void stepscope_set_exit_hooks(
    stepscope::tracer::ExitHooks const* hooks);
/// Ends what nvtx_preload.cpp began in the calling thread: signals reach it again. Does nothing
/// otherwise.
__attribute__((weak, visibility("default"))) void stepscope_release_signals();
/// Called around a fork, in the thread that forks. Waits, for about a second at most, until no
/// other thread is in the midst of NVTX's initialization, and lets none begin one.
__attribute__((weak, visibility("default"))) void stepscope_fork_begins();
__attribute__((weak, visibility("default"))) void stepscope_fork_ends();
/// Keeps a value for the calling thread; null: none. It was prepared when the program began, so
/// that it takes nothing from the heap: the C library has room for a thread's values of the first
/// 32 kinds.
__attribute__((weak, visibility("default"))) void stepscope_set_thread_value(void* value);
/// Where a copy of NVTX that is being initialized has its state, and the pointer to the function
/// that initializes it. One thread at a time.
__attribute__((weak, visibility("default"))) void stepscope_found_nvtx(uint32_t* state,
                                                                       void* initialize);
}
