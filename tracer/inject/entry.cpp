// The library inside the traced program: what NVTX and CUDA call when they load it, and the process's one capture session.
// Sessions are never destroyed: threads may still be in a callback when the program ends.
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

#include "tracer/inject/exit_hooks.h"
#include "tracer/inject/fatal_signals.h"
#include "tracer/inject/process.h"
#include "tracer/inject/sources.h"
#include "tracer/nvtx/callbacks.h"

namespace stepscope::tracer {

thread_local ThreadRecorder* this_recorder = nullptr;
thread_local nccl::Recorder* this_nccl_recorder = nullptr;

namespace {

/// kStopTimeout for a program that ends without exit handlers. Shorter: it may do so in a signal handler that interrupted a
/// holder of what the writer waits for.
constexpr std::chrono::seconds kAbruptStopTimeout{5};

/// The process's capture. Held by a pointer that is never deleted, so that nothing here is destroyed before its last user.
struct Process {
  std::mutex mutex;
  Registry registry;
  InstalledCallbacks callbacks;
  nccl::Communicators communicators;
  Session* session = nullptr;
  NvtxSource* nvtx = nullptr;
  nccl::NcclSource* nccl = nullptr;
  std::once_flag cuda_started;
  bool tried = false;   ///< a session was started or cannot be
  bool forked = false;  ///< this process is a fork of a traced one
  pthread_key_t exit_key{}, nccl_exit_key{};
  // For who may take no lock: the session once it was started, and the process that it records.
  std::atomic<Session*> recording{nullptr};
  std::atomic<pid_t> recorded_process{0};
  std::atomic<bool> has_spoken{false};
};

Process& process() {
  static auto* const instance = new Process;
  return *instance;
}

std::string current_thread_name() {
  std::array<char, 17> name{};  // PR_GET_NAME writes 16 bytes
  ::prctl(PR_GET_NAME, name.data());
  return name.data();
}

/// Runs in a thread that exits, after its own C++ destructors; an event after this makes a new recorder, closed the same way.
void thread_exits(void* recorder) {
  this_recorder = nullptr;
  static_cast<ThreadRecorder*>(recorder)->close(current_thread_name());
}

void nccl_thread_exits(void* recorder) {
  this_nccl_recorder = nullptr;
  static_cast<nccl::Recorder*>(recorder)->close();
}

void before_fork() {
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
}

void after_fork_in_parent() { unlock_after_fork(process()); }

/// The parent's session has no writer thread here and its file belongs to the parent: left alone. The first event of this process
/// starts one of its own.
void after_fork_in_child() {
  Process& self = process();
  unlock_after_fork(self);
  self.session = nullptr;
  self.recording = nullptr;
  self.has_spoken = false;
  self.nvtx = nullptr;
  self.nccl = nullptr;
  self.tried = false;
  self.forked = true;
  this_recorder = nullptr;
  this_nccl_recorder = nullptr;
  ::pthread_setspecific(self.exit_key, nullptr);
  ::pthread_setspecific(self.nccl_exit_key, nullptr);
}

/// One line on stderr, once, when the user asked for it. Allocates nothing.
void say(Session const& session, std::string_view message) {
  if (message.empty() || !session.options().report_loss || process().has_spoken.exchange(true)) return;
  std::array<iovec, 2> parts = {iovec{const_cast<char*>(message.data()), message.size()}, iovec{const_cast<char*>("\n"), 1}};
  [[maybe_unused]] ssize_t const written = ::writev(STDERR_FILENO, parts.data(), parts.size());
}

enum class End : uint8_t {
  kInOrder,   ///< exit handlers run
  kAbruptly,  ///< see ExitHooks
  kByCrash    ///< as that, and drivers may be in any state
};

bool stop(Session& session, End end) {
  switch (end) {
    case End::kInOrder:
      return session.stop(kStopTimeout);
    case End::kAbruptly:
      return session.stop_without_locks(kAbruptStopTimeout);
    case End::kByCrash:
      return session.stop_after_crash(kAbruptStopTimeout);
  }
  return false;
}

/// Ends the capture and says what was lost.
void end_recording(End end) {
  Process& self = process();
  Session* const session = self.recording;
  // Not the process that is recorded: a child that still shares its memory.
  if (session == nullptr || self.recorded_process != ::getpid()) return;
  bool const finished = stop(*session, end);
  say(*session, finished ? std::string_view(session->message()) : kUnfinishedMessage);
}

void process_ends_abruptly() { end_recording(End::kAbruptly); }
void process_crashes() { end_recording(End::kByCrash); }

void exec_has_failed() {
  Process& self = process();
  Session const* const session = self.recording;
  if (session != nullptr && self.recorded_process == ::getpid())
    say(*session, "stepscope: recording ended where the program tried to execute another one, which failed");
}

constexpr ExitHooks kExitHooks = {process_ends_abruptly, exec_has_failed};

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
  prepare_process_once(self);
  options->forked = self.forked;
  auto* const session = new Session(std::move(*options));
  self.nvtx = &add_sources(*session, self.registry);
  add_cuda_source(*session);
  self.nccl = &add_nccl_source(*session, self.communicators);
  session->when_over([&self] {
    self.callbacks.uninstall();
    leave_fatal_signals();
  });
  self.session = session;
  session->start();
  self.recorded_process = ::getpid();
  self.recording = session;
  watch_fatal_signals(process_crashes);
}

/// Among the program's exit handlers, registered while CUDA starts: so it runs while the driver still works.
void exit_handlers_run() {
  if (Session* const session = current_session(); session != nullptr) session->program_exits();
}

/// After the program's own exit handlers: what they annotate is recorded too.
__attribute__((destructor)) void process_exits() { end_recording(End::kInOrder); }

}  // namespace

Registry& process_registry() { return process().registry; }
InstalledCallbacks& process_callbacks() { return process().callbacks; }

Session* start_process_session() {
  Process& self = process();
  std::lock_guard const lock(self.mutex);
  start_session(self);
  return self.session;
}

Session* current_session() {
  Process& self = process();
  std::lock_guard const lock(self.mutex);
  return self.session;
}

void cuda_starts() {
  Session* const session = start_process_session();
  if (session == nullptr) return;
  session->driver_starts();
  // Behind that: exit handlers run from the last to the first, and so do destructors of libraries. CUPTI's, which was loaded just
  // now, must find its buffers fetched.
  std::call_once(process().cuda_started, [] { std::atexit(exit_handlers_run); });
}

nccl::Communicators& process_communicators() { return process().communicators; }

NcclDetail start_nccl() {
  Process& self = process();
  std::lock_guard const lock(self.mutex);
  start_session(self);
  return self.session != nullptr ? self.session->options().nccl : NcclDetail::kOff;
}

ThreadRecorder* attach_this_thread() noexcept try {
  Process& self = process();
  std::lock_guard const lock(self.mutex);
  start_session(self);
  if (self.nvtx == nullptr) return nullptr;
  this_recorder = self.nvtx->attach(::syscall(SYS_gettid));
  ::pthread_setspecific(self.exit_key, this_recorder);
  return this_recorder;
} catch (...) {
  return nullptr;  // no memory: nothing is recorded, the next event tries again
}

nccl::Recorder* attach_this_thread_to_nccl() noexcept try {
  Process& self = process();
  std::lock_guard const lock(self.mutex);
  if (self.nccl == nullptr) return nullptr;
  this_nccl_recorder = self.nccl->attach(::syscall(SYS_gettid));
  ::pthread_setspecific(self.nccl_exit_key, this_nccl_recorder);
  return this_nccl_recorder;
} catch (...) {
  return nullptr;
}

}  // namespace stepscope::tracer

// Declared here and not through NVTX's headers: their pragmas would hide the second one.
extern "C" {
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table);
__attribute__((visibility("default"))) int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t* module);
__attribute__((visibility("default"))) int InitializeInjection();

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table) {
  try {
    if (get_export_table == nullptr || stepscope::tracer::start_process_session() == nullptr) return 0;
    return stepscope::tracer::install_nvtx_callbacks(get_export_table) ? 1 : 0;
  } catch (...) {
    return 0;
  }
}

int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t* module) {
  try {
    if (module == nullptr || stepscope::tracer::start_process_session() == nullptr) return 0;
    return stepscope::tracer::install_payload_callbacks(*module) ? 1 : 0;
  } catch (...) {
    return 0;
  }
}

/// Of CUDA_INJECTION64_PATH. 1 = all is well, as far as the driver is concerned: the program goes on in any case.
int InitializeInjection() {
  try {
    stepscope::tracer::cuda_starts();
  } catch (...) {
    return 1;
  }
  return 1;
}
}
