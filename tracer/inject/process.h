// The injected library's state of the process: the only process-wide state of the project. Callbacks reach it through here.
#pragma once

#include "tracer/core/options.h"
#include "tracer/core/session.h"
#include "tracer/nccl/communicators.h"
#include "tracer/nccl/recorder.h"
#include "tracer/nvtx/installed_callbacks.h"
#include "tracer/nvtx/registry.h"
#include "tracer/nvtx/thread_recorder.h"

namespace stepscope::tracer {

/// The calling thread's recorder; null before its first event. The model keeps the access at one load: the library asks for eight
/// bytes of static TLS, which the loader has in reserve.
extern thread_local ThreadRecorder* this_recorder __attribute__((tls_model("initial-exec")));

/// Makes the calling thread's recorder; null when nothing is recorded in this process or there is no memory.
ThreadRecorder* attach_this_thread() noexcept;

inline ThreadRecorder* recorder() {
  ThreadRecorder* const known = this_recorder;
  return known != nullptr ? known : attach_this_thread();
}

Registry& process_registry();
/// Where NVTX calls us.
InstalledCallbacks& process_callbacks();

/// Starts the capture that the environment asks for, if it asks and this was not done. Null when nothing is recorded in this
/// process.
Session* start_process_session();
/// Null before it was started.
Session* current_session();
/// CUDA is being initialized by this thread, or was before the capture began. More than once does no harm.
void cuda_starts();

// The same for threads that NCCL calls the plugin on.
extern thread_local nccl::Recorder* this_nccl_recorder __attribute__((tls_model("initial-exec")));
nccl::Recorder* attach_this_thread_to_nccl() noexcept;

inline nccl::Recorder* nccl_recorder() {
  nccl::Recorder* const known = this_nccl_recorder;
  return known != nullptr ? known : attach_this_thread_to_nccl();
}

nccl::Communicators& process_communicators();
/// NCCL made a communicator: starts recording where it has not begun. What NCCL is asked to report; kOff when nothing is recorded
/// in this process.
NcclDetail start_nccl();

}  // namespace stepscope::tracer
