// The library inside the traced program: what NVTX and CUDA call when they load it, and the
// process's one capture session. Sessions are never destroyed: threads may still be in a callback
// when the program ends.
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>

#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tracer/core/flight/asked_signal.h"
#include "tracer/core/process/process_info.h"
#include "tracer/core/threads/uninterrupted.h"
#include "tracer/inject/checkers.h"
#include "tracer/inject/exit_hooks.h"
#include "tracer/inject/fatal_signals.h"
#include "tracer/inject/process.h"
#include "tracer/inject/sources.h"
#include "tracer/nvtx/callbacks.h"

namespace stepscope::tracer {

STEPSCOPE_THREAD_LOCAL ThreadRecorder* this_recorder = nullptr;
STEPSCOPE_THREAD_LOCAL nccl::Recorder* this_nccl_recorder = nullptr;
STEPSCOPE_THREAD_LOCAL bool this_thread_initializes = false;

namespace {

/// The thread's recorder while it initializes another copy of NVTX: its next event comes by
/// attach_this_thread() then.
STEPSCOPE_THREAD_LOCAL ThreadRecorder* put_aside = nullptr;
/// The thread is inside of attach_this_thread(); a signal handler may have interrupted it there.
STEPSCOPE_THREAD_LOCAL bool this_thread_attaches = false;

/// kStopTimeout for a program that ends without exit handlers. Shorter: it may do so in a signal
/// handler that interrupted a holder of what the writer waits for.
constexpr std::chrono::seconds kAbruptStopTimeout{5};
/// As that, where all that was kept is still to be written.
constexpr std::chrono::seconds kRingStopTimeout{20};

/// The process's capture. Held by a pointer that is never deleted, so that nothing here is
/// destroyed before its last user.
struct Process {
  std::mutex mutex;
  Registry registry;
  InstalledCallbacks callbacks;
  nccl::Communicators communicators;
  Session* session = nullptr;
  std::atomic<NvtxSource*> nvtx{nullptr};
  nccl::NcclSource* nccl = nullptr;
  std::atomic<uint64_t> unattached{
      0};  ///< events that were lost before there was a source to count them
  std::once_flag cuda_started;
  bool is_known_to_libraries = false;  ///< CUDA or NCCL may call what belongs to the session for as
                                       ///< long as the process lives
  bool tried = false;                  ///< a session was started or cannot be
  bool forked = false;                 ///< this process is a fork of a traced one
  pthread_key_t exit_key{}, nccl_exit_key{};
  // For who may take no lock: the session once it was started, and the process that it records.
  std::atomic<Session*> recording{nullptr};
  std::atomic<pid_t> recorded_process{0};
  std::atomic<bool> has_spoken{false};
};

/// Made while the library is loaded: a signal handler may be the first to look.
Process& the_process = *new Process;
Process& process() { return the_process; }

ThreadName name_of_this_thread() {
  ThreadName name{};
  ::prctl(PR_GET_NAME, name.data());  // writes 16 bytes
  return name;
}

/// Runs in a thread that exits, after its own C++ destructors; an event after this makes a new
/// recorder, closed the same way.
void thread_exits(void* recorder) {
  this_recorder = nullptr;
  put_aside = nullptr;
  static_cast<ThreadRecorder*>(recorder)->close(name_of_this_thread());
}

void nccl_thread_exits(void* recorder) {
  this_nccl_recorder = nullptr;
  static_cast<nccl::Recorder*>(recorder)->close();
}

/// Its recorder is closed when the thread exits. In a signal handler: takes nothing from the heap
/// where the key is one of the first, as that of the preloaded library is.
void keep_until_exit(Process& self, ThreadRecorder* recorder) {
  if (stepscope_set_thread_value != nullptr)
    stepscope_set_thread_value(recorder);
  else
    ::pthread_setspecific(self.exit_key, recorder);
}

void before_fork() {
  if (stepscope_fork_begins != nullptr) stepscope_fork_begins();
  Process& self = process();
  self.mutex.lock();
  if (self.session != nullptr) self.session->lock_for_fork();
  self.registry.lock_for_fork();
  self.callbacks.lock_for_fork();
  self.communicators.lock_for_fork();
}

void unlock_after_fork(Process& self) {
  self.communicators.unlock_after_fork();
  self.callbacks.unlock_after_fork();
  self.registry.unlock_after_fork();
  if (self.session != nullptr) self.session->unlock_after_fork();
  self.mutex.unlock();
  if (stepscope_fork_ends != nullptr) stepscope_fork_ends();
}

/// The next event of this thread, which is the process's only one, starts a session of its own.
void forget_session(Process& self) {
  self.session = nullptr;
  self.recording = nullptr;
  self.nvtx = nullptr;
  self.nccl = nullptr;
  self.tried = false;

  this_recorder = nullptr;
  this_nccl_recorder = nullptr;
  put_aside = nullptr;
  keep_until_exit(self, nullptr);
  ::pthread_setspecific(self.nccl_exit_key, nullptr);
}

void after_fork_in_parent() { unlock_after_fork(process()); }

/// The parent's session has no writer thread here and its file belongs to the parent: left alone.
/// The first event of this process starts one of its own.
void after_fork_in_child() {
  Process& self = process();
  unlock_after_fork(self);
  renew_capture_calls();
  forget_session(self);
  leave_signal();
  self.has_spoken = false;
  self.forked = true;
}

/// One line on stderr, once, when the user asked for it. Allocates nothing.
void say(CaptureOptions const& options, std::string_view message) {
  if (message.empty() || !options.report_loss || process().has_spoken.exchange(true)) return;
  std::array<iovec, 2> parts = {iovec{const_cast<char*>(message.data()), message.size()},
                                iovec{const_cast<char*>("\n"), 1}};
  [[maybe_unused]] ssize_t const written = ::writev(STDERR_FILENO, parts.data(), parts.size());
}

enum class End : uint8_t {
  kOfCapture,  ///< the process goes on
  kInOrder,    ///< exit handlers run
  kAbruptly,   ///< see ExitHooks
  kByExec,     ///< as that, and the thread goes on in another program
  kByCrash     ///< as kAbruptly, and drivers may be in any state
};

bool stop(Session& session, End end) {
  auto const abrupt_timeout = session.options().ring ? kRingStopTimeout : kAbruptStopTimeout;
  if (end == End::kInOrder || end == End::kAbruptly) session.process_ends_next();
  switch (end) {
    case End::kOfCapture:
    case End::kInOrder:
      return session.stop(kStopTimeout);
    case End::kAbruptly:
    case End::kByExec:
      return session.stop_without_locks(abrupt_timeout);
    case End::kByCrash:
      return session.stop_after_crash(abrupt_timeout);
  }
  return false;
}

/// Ends the capture and says what was lost.
void end_recording(End end) {
  Process& self = process();
  Session* const session = self.recording;
  // Not the process that is recorded: a child that still shares its memory.
  if (session == nullptr || self.recorded_process != ::getpid()) return;
  // A thread that calls _exit() ends the process, also when it is to be cancelled.
  not_cancelled([&] {
    bool const finished = stop(*session, end);
    say(session->options(), finished ? std::string_view(session->message()) : kUnfinishedMessage);
  });
}

void process_ends_abruptly() { end_recording(End::kAbruptly); }
void process_executes() { end_recording(End::kByExec); }
/// Another program may have asked for the end: drivers are sound then.
void signal_ends_process(int signal) {
  bool const is_crash = is_crash_signal(signal);
  end_recording(is_crash ? End::kByCrash : End::kAbruptly);
}

/// The program sends itself a signal that ends it as a rule. What was kept would be lost; a trace
/// that is written all the time is not, and a program that waits for the signal goes on.
void process_signals_itself() {
  Session const* const session = process().recording;
  if (session != nullptr && keeps_events_back(session->options())) end_recording(End::kAbruptly);
}

void exec_has_failed() {
  Process& self = process();
  Session const* const session = self.recording;
  if (session == nullptr || self.recorded_process != ::getpid()) return;
  not_cancelled([&] {
    say(session->options(),
        "stepscope: recording ended where the program tried to execute another one, which failed");
  });
}

/// With its memory, where no thread is left that could use it.
void end_session_and_threads(Process& self, Session* session) {
  end_recording(End::kOfCapture);
  session->end_own_threads();
  bool const is_alone = wait_for_thread_count(1);
  bool const is_inside = this_recorder != nullptr && this_recorder->is_inside();
  std::lock_guard const lock(self.mutex);
  forget_session(self);
  if (!is_alone || is_inside || self.is_known_to_libraries) return;
  delete session;
  OwnThread::free_stacks();
}

/// Ends the two threads of a session, and those that sample GPUs. Where the program has threads of
/// its own nothing is done: Linux will refuse in any case.
void be_alone() {
  Process& self = process();
  Session* const session = self.recording;
  if (session == nullptr || self.recorded_process != ::getpid() || session->is_over()) return;
  if (session->counts_other_threads()) return;
  uninterrupted([&] { end_session_and_threads(self, session); });
}

constexpr ExitHooks kExitHooks = {
    process_ends_abruptly, process_signals_itself, process_executes, exec_has_failed, be_alone,
    thread_exits};

void prepare_process_once(Process& self) {
  static bool prepared = false;  // under self.mutex
  if (prepared) return;
  prepared = true;
  ::pthread_key_create(&self.exit_key, thread_exits);
  ::pthread_key_create(&self.nccl_exit_key, nccl_thread_exits);
  ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  ::at_quick_exit([] { end_recording(End::kInOrder); });
  if (stepscope_set_exit_hooks != nullptr) stepscope_set_exit_hooks(&kExitHooks);
}

/// Under self.mutex.
void start_session(Process& self) {
  if (self.tried) return;
  auto options = options_from_environment();
  if (!options) return;
  self.tried = true;

  if (std::string_view const why = why_checked_program_is_left_alone(); !why.empty())
    return say(*options, why);

  prepare_process_once(self);
  options->forked = self.forked;
  auto* const session = new Session(std::move(*options));
  NvtxSource& nvtx = add_sources(*session, self.registry);
  // NCCL tells which threads are its own before CUDA's rows of them come.
  self.nccl = &add_nccl_source(*session, self.communicators);
  add_cuda_source(*session);

  session->when_over([&self] {
    self.callbacks.uninstall();
    leave_fatal_signals();
  });

  self.session = session;
  session->start();
  nvtx.count_unattached(self.unattached.exchange(0));
  self.nvtx = &nvtx;
  self.recorded_process = ::getpid();
  self.recording = session;
  watch_fatal_signals(signal_ends_process, keeps_events_back(session->options()));
}

/// Under self.mutex. Without memory nothing is recorded; the next event tries again.
void start_session_if_possible(Process& self) {
  try {
    start_session(self);
  } catch (...) {
    self.tried = self.session != nullptr;
  }
}

/// Among the program's exit handlers, registered while CUDA starts: so it runs while the driver
/// still works.
void exit_handlers_run() {
  if (Session* const session = current_session(); session != nullptr) session->program_exits();
}

/// After the program's own exit handlers: what they annotate is recorded too.
__attribute__((destructor)) void process_exits() { end_recording(End::kInOrder); }

}  // namespace

Registry& process_registry() { return process().registry; }
InstalledCallbacks& process_callbacks() { return process().callbacks; }

Session* start_process_session() {
  return uninterrupted([]() -> Session* {
    Process& self = process();
    std::lock_guard const lock(self.mutex);
    start_session_if_possible(self);
    return self.session;
  });
}

Session* current_session() {
  return uninterrupted([] {
    Process& self = process();
    std::lock_guard const lock(self.mutex);
    return self.session;
  });
}

void cuda_starts() {
  Session* const session = start_process_session();
  if (session == nullptr) return;
  uninterrupted([] {
    std::lock_guard const lock(process().mutex);
    process().is_known_to_libraries = true;
  });
  session->driver_starts();
  // Behind that: exit handlers run from the last to the first, and so do destructors of libraries.
  // CUPTI's, which was loaded just now, must find its buffers fetched.
  std::call_once(process().cuda_started, [] { std::atexit(exit_handlers_run); });
}

nccl::Communicators& process_communicators() { return process().communicators; }

NcclDetail start_nccl() {
  return uninterrupted([] {
    Process& self = process();
    std::lock_guard const lock(self.mutex);
    start_session_if_possible(self);
    self.is_known_to_libraries = true;
    return self.session != nullptr ? self.session->options().nccl : NcclDetail::kOff;
  });
}

namespace {

/// Without a lock where the session is there already: a signal handler may have interrupted a
/// thread that holds it.
ThreadRecorder* recorder_for_this_thread() try {
  if (put_aside != nullptr) return std::exchange(put_aside, nullptr);
  Process& self = process();
  NvtxSource* nvtx = self.nvtx.load(std::memory_order_acquire);

  if (nvtx == nullptr) {
    start_process_session();
    nvtx = self.nvtx.load(std::memory_order_acquire);
  }
  if (nvtx == nullptr || nvtx->is_over()) return nullptr;

  ThreadRecorder* const made = nvtx->attach(::syscall(SYS_gettid), name_of_this_thread());
  if (made != nullptr) keep_until_exit(self, made);
  return made;
} catch (...) {
  return nullptr;  // no memory: nothing is recorded, the next event tries again
}

/// Every event asks then: it must cost no system call.
bool has_ended() {
  NvtxSource const* const nvtx = process().nvtx.load(std::memory_order_acquire);
  return put_aside == nullptr && nvtx != nullptr && nvtx->is_over();
}

/// Signals wait: a handler that annotates finds the recorder, and one that leaves by a jump leaves
/// nothing half made behind.
ThreadRecorder* attach_uninterrupted() {
  return uninterrupted([] {
    this_thread_attaches = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    this_recorder = recorder_for_this_thread();
    std::atomic_signal_fence(std::memory_order_seq_cst);
    this_thread_attaches = false;
    return this_recorder;
  });
}

/// In the handler of a fault, which no mask holds back.
void count_unattached_event() {
  Process& self = process();
  if (NvtxSource* const nvtx = self.nvtx.load(std::memory_order_acquire); nvtx != nullptr)
    nvtx->count_unattached(1);
  else
    self.unattached.fetch_add(1, std::memory_order_relaxed);
}

/// Starts the session if that was not tried. Where it cannot record NVTX goes on without us.
bool is_recording() {
  Session* const session = start_process_session();
  return session != nullptr && session->window().mode() != CaptureMode::kStopped;
}

/// Its recorder is not used before NVTX is done, so that the next event comes by
/// attach_this_thread().
void begin_initialization() {
  if (this_recorder != nullptr) put_aside = std::exchange(this_recorder, nullptr);
  this_thread_initializes = true;
}

}  // namespace

ThreadRecorder* attach_this_thread() {
  if (this_thread_attaches) {
    count_unattached_event();
    return nullptr;
  }
  ThreadRecorder* const made = has_ended() ? nullptr : attach_uninterrupted();
  release_signals();
  return made;
}

void end_initialization() noexcept {
  this_thread_initializes = false;
  if (stepscope_release_signals != nullptr) stepscope_release_signals();
}

nccl::Recorder* attach_this_thread_to_nccl() {
  return uninterrupted([]() -> nccl::Recorder* {
    try {
      Process& self = process();
      std::lock_guard const lock(self.mutex);
      if (self.nccl == nullptr) return nullptr;

      this_nccl_recorder = self.nccl->attach(::syscall(SYS_gettid));
      ::pthread_setspecific(self.nccl_exit_key, this_nccl_recorder);
      return this_nccl_recorder;
    } catch (...) {
      return nullptr;
    }
  });
}

}  // namespace stepscope::tracer

// Declared here and not through NVTX's headers: their pragmas would hide the second one.
extern "C" {
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t get_export_table);
__attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(
    nvtxExtModuleInfo_t* module);
__attribute__((visibility("default"))) int InitializeInjection();

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table) {
  try {
    if (get_export_table == nullptr || !stepscope::tracer::is_recording()) return 0;
    if (!stepscope::tracer::install_nvtx_callbacks(get_export_table)) return 0;
    stepscope::tracer::begin_initialization();
    return 1;
  } catch (...) {
    return 0;
  }
}

int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t* module) {
  try {
    if (module == nullptr || !stepscope::tracer::is_recording()) return 0;
    if (!stepscope::tracer::install_payload_callbacks(*module)) return 0;
    stepscope::tracer::begin_initialization();
    return 1;
  } catch (...) {
    return 0;
  }
}

/// The entry of CUDA_INJECTION64_PATH. 1 = all is well, as far as the driver is concerned: the
/// program goes on in any case.
int InitializeInjection() {
  try {
    stepscope::tracer::cuda_starts();
  } catch (...) {
    return 1;
  }
  return 1;
}
}
