// Part of libstepscope-exit.so: what a fork must know of NVTX's initialization. A child that was
// forked in its midst finds NVTX half initialized, and would wait for ever for a thread that it
// does not have.
#pragma once

namespace stepscope::tracer {

/// The calling thread is about to initialize NVTX; waits, for a second at most, until no other
/// thread forks.
void nvtx_initialization_begins();
/// It is done.
void nvtx_initialization_ends();
/// The calling thread is in between.
bool this_thread_initializes_nvtx();
/// The calling thread initializes an extension of NVTX: what NVTX gave
/// InitializeInjectionNvtxExtension().
void nvtx_module_begins(void const* module);
/// Before anything of this is called: from the library's constructor. `module_initializer`: does
/// for a child what InitializeInjectionNvtxExtension() does.
void prepare_for_forks(int (*module_initializer)(void*));

}  // namespace stepscope::tracer
