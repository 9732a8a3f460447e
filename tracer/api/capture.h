// Start and stop recording from code: only the part of a program between the two calls is in the
// trace. Header-only, links nothing; where the tracer is not found all do nothing and return false.
//
//   // In main, before the first use of CUDA, NVTX or NCCL when not under `stepscope record`.
//   stepscope::api::start_capture("my-run");
//   train();
//   stepscope::api::stop_capture();  // the trace is complete; nothing of the tracer runs any more
//
// Or several parts, each a run of its own: my-run/window-1, my-run/window-2 and so on.
//
//   for (int epoch = 0; epoch < epochs; ++epoch) {
//     if (epoch % 10 == 0) stepscope::api::start_window("my-run");
//     train_epoch();
//     stepscope::api::stop_window();  // its trace is complete; the tracer waits for the next
//   }
//
// Under `stepscope record --from-code` (or `--from-code --repeat`, for several) the run's folder is
// that of the command. From Python: ctypes.CDLL(tracer).stepscope_start_capture.
#pragma once

#include <cstdlib>
#include <initializer_list>

#include <dlfcn.h>

namespace stepscope::api {
namespace detail {

/// 0 where there is no tracer, or none that knows the call.
template <class... Arguments>
int call_tracer(void* tracer, char const* name, Arguments... arguments) {
  auto const call =
      tracer == nullptr ? nullptr : reinterpret_cast<int (*)(Arguments...)>(::dlsym(tracer, name));
  return call != nullptr ? call(arguments...) : 0;
}

}  // namespace detail

/// The tracer: that of `stepscope record` when the program runs under it, else the file that
/// STEPSCOPE_TRACER names, else where the loader finds it. Null when there is none.
inline void* tracer_library() {
  static void* const library = [] {
    constexpr char const* kName = "libstepscope-tracer.so";
    if (void* const loaded = ::dlopen(kName, RTLD_NOW | RTLD_NOLOAD)) return loaded;

    for (char const* const variable :
         {"STEPSCOPE_TRACER", "NVTX_INJECTION64_PATH", "CUDA_INJECTION64_PATH"}) {
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
  return detail::call_tracer(tracer_library(), "stepscope_start_capture", folder) != 0;
}

/// Recording ends: waits for the device work that was launched inside (at most two seconds) and
/// until the trace is written. True when there is a complete trace.
inline bool stop_capture() {
  return detail::call_tracer(tracer_library(), "stepscope_stop_capture") != 0;
}

/// A window opens, which becomes a run of its own in `folder`: window-1, window-2 and so on. All
/// windows of a process go to one folder. Any number of times; one that is open already goes on.
/// True when the program is being recorded. Until the process ends the tracer waits for the next.
inline bool start_window(char const* folder = nullptr) {
  return detail::call_tracer(tracer_library(), "stepscope_start_window", folder) != 0;
}

/// The window closes: waits as stop_capture() does. True when all windows so far are complete.
/// Where the whole program is recorded, that goes on.
inline bool stop_window() {
  return detail::call_tracer(tracer_library(), "stepscope_stop_window") != 0;
}

/// Why the last of the calls returned false.
inline char const* capture_error() {
  if (tracer_library() == nullptr)
    return "libstepscope-tracer.so was not found, run the program with stepscope record or set "
           "STEPSCOPE_TRACER";
  auto const error =
      reinterpret_cast<char const* (*)()>(::dlsym(tracer_library(), "stepscope_capture_error"));
  return error != nullptr ? error() : "the tracer is too old for this";
}

/// A window while it lives.
class Window {
 public:
  explicit Window(char const* folder = nullptr) { start_window(folder); }
  ~Window() { stop_window(); }
  Window(Window const&) = delete;
  Window& operator=(Window const&) = delete;
};

/// Records while it lives.
class Capture {
 public:
  explicit Capture(char const* folder = nullptr) { start_capture(folder); }
  ~Capture() { stop_capture(); }
  Capture(Capture const&) = delete;
  Capture& operator=(Capture const&) = delete;
};

}  // namespace stepscope::api
