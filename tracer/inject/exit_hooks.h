// What the tracer hands to libstepscope-exit.so (exit_preload.cpp), where `stepscope record` has preloaded that.
#pragma once

namespace stepscope::tracer {

/// Both may be called in a signal handler, and in a child that still shares the memory of its parent (vfork): they take no lock,
/// allocate nothing and return within a bounded time.
struct ExitHooks {
  /// The process is about to end without running exit handlers, or to execute another program.
  void (*before)();
  /// It did not execute the other program after all.
  void (*exec_failed)();
};

}  // namespace stepscope::tracer

/// Of libstepscope-exit.so. Weak: null where that was not preloaded.
extern "C" __attribute__((weak, visibility("default"))) void stepscope_set_exit_hooks(stepscope::tracer::ExitHooks const* hooks);
