// Start and stop recording from code: only the part of a program between the two calls is in the
// trace. Header-only, links nothing; where the tracer is not found both do nothing and return
// false.
//
//   stepscope::api::start_capture("my-run");   // in main, before the first use of CUDA, NVTX or
//   NCCL when not under `stepscope record` train(...); stepscope::api::stop_capture(); // the trace
//   is complete here; nothing of the tracer runs any more
//
// Under `stepscope record --from-code` the run's folder is that of the command. From Python:
// ctypes.CDLL(tracer).stepscope_start_capture.
#pragma once

#include <cstdlib>
#include <initializer_list>

#include <dlfcn.h>

namespace stepscope::api {

/// The tracer: that of `stepscope record` when the program runs under it, else the file that
/// STEPSCOPE_TRACER names, else where the loader finds it. Null when there is none.
inline void* tracer_library() {
  static void* const library = [] {
    constexpr char const* kName = "libstepscope-tracer.so";
    if (void* const loaded = ::dlopen(kName, RTLD_NOW | RTLD_NOLOAD)) return loaded;
    for (char const* const variable : {"STEPSCOPE_TRACER", "NVTX_INJECTION64_PATH"}) {
      char const* const path = std::getenv(variable);
      void* const found = path == nullptr ? nullptr : ::dlopen(path, RTLD_NOW);
      if (found != nullptr && ::dlsym(found, "stepscope_start_capture") != nullptr) return found;
    }
    return ::dlopen(kName, RTLD_NOW);
  }();
  return library;
}

/// Recording begins; `folder` is the run to write when the program does not run under `stepscope
/// record` (null: stepscope-run). Once a process: after stop_capture() nothing is recorded again.
/// True when the program is being recorded.
inline bool start_capture(char const* folder = nullptr) {
  auto const start = tracer_library() == nullptr
                         ? nullptr
                         : reinterpret_cast<int (*)(char const*)>(
                               ::dlsym(tracer_library(), "stepscope_start_capture"));
  return start != nullptr && start(folder) != 0;
}

/// Recording ends: waits for the device work that was launched inside (at most two seconds) and
/// until the trace is written. True when there is a complete trace.
inline bool stop_capture() {
  auto const stop =
      tracer_library() == nullptr
          ? nullptr
          : reinterpret_cast<int (*)()>(::dlsym(tracer_library(), "stepscope_stop_capture"));
  return stop != nullptr && stop() != 0;
}

/// Why the last of the two calls returned false; valid until the next.
inline char const* capture_error() {
  if (tracer_library() == nullptr)
    return "libstepscope-tracer.so was not found, run the program with stepscope record or set "
           "STEPSCOPE_TRACER";
  auto const error =
      reinterpret_cast<char const* (*)()>(::dlsym(tracer_library(), "stepscope_capture_error"));
  return error != nullptr ? error() : "the tracer is too old for this";
}

/// Records while it lives.
class Capture {
 public:
  explicit Capture(char const* folder = nullptr) { start_capture(folder); }
  ~Capture() { stop_capture(); }
  Capture(Capture const&) = delete;
  Capture& operator=(Capture const&) = delete;
};

}  // namespace stepscope::api
