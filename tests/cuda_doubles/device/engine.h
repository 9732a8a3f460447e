// A CUDA without a GPU: devices are host memory, streams are threads. The double of libcuda.so.1
// implements this interface; those of the other libraries find it as the real ones find the driver,
// by its soname. Behaviour follows NVIDIA's "CUDA Runtime API" (docs.nvidia.com/cuda/
// cuda-runtime-api), whose section is named where the double does something that it describes.
#pragma once

#include <dlfcn.h>

#include <chrono>

#include "tests/cuda_doubles/device/operation.h"

namespace stepscope::cuda_doubles {

using Stream = CUstream_st;
using Event = CUevent_st;
struct Graph;

inline int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

/// The null stream is the current device's default stream in every function.
class Engine {
 public:
  virtual ~Engine() = default;

  // Devices.
  /// cuInit(): loads the tool that CUDA_INJECTION64_PATH names, once. Any other call does it, too.
  virtual cudaError_t initialize() = 0;
  [[nodiscard]] virtual int device_count() const = 0;
  /// The process may see some of the machine's GPUs, in another order (visible_devices.h).
  [[nodiscard]] virtual int number_on_machine(int device) const = 0;
  [[nodiscard]] virtual int current_device() const = 0;
  virtual cudaError_t set_current_device(int device) = 0;
  /// The error that no later call survives (an illegal address, a lost device); cudaSuccess.
  [[nodiscard]] virtual cudaError_t sticky_error() const = 0;
  virtual void synchronize_device() = 0;

  // Memory.
  virtual cudaError_t allocate(void** data, size_t bytes) = 0;
  virtual cudaError_t free(void* data) = 0;
  virtual cudaError_t pin(void* data, size_t bytes) = 0;
  virtual cudaError_t unpin(void* data) = 0;
  [[nodiscard]] virtual bool is_pinned(void const* data, size_t bytes) const = 0;
  /// The device whose array holds all of these bytes; −1 = no array does.
  [[nodiscard]] virtual int device_of(void const* data, size_t bytes) const = 0;
  virtual void memory_info(size_t* free_bytes, size_t* total_bytes) const = 0;

  // Streams and events.
  virtual cudaError_t create_stream(Stream** stream) = 0;
  virtual cudaError_t destroy_stream(Stream* stream) = 0;
  virtual cudaError_t synchronize(Stream* stream) = 0;
  virtual cudaError_t enqueue(Stream* stream, Operation operation) = 0;
  virtual cudaError_t create_event(Event** event) = 0;
  virtual cudaError_t destroy_event(Event* event) = 0;
  virtual cudaError_t record(Event* event, Stream* stream) = 0;
  virtual cudaError_t query(Event* event) = 0;
  virtual cudaError_t synchronize(Event* event) = 0;
  virtual cudaError_t elapsed(float* milliseconds, Event* from, Event* to) = 0;
  virtual cudaError_t wait(Stream* stream, Event* event) = 0;
  /// The number of a stream in records and that of its context; 0 = no such stream.
  virtual uint32_t number_of(Stream* stream, uint32_t* context) = 0;

  // Graphs.
  virtual cudaError_t begin_capture(Stream* stream) = 0;
  virtual cudaError_t end_capture(Stream* stream, Graph** graph) = 0;
  [[nodiscard]] virtual bool is_thread_capturing() const = 0;
  virtual Graph* create_graph() = 0;
  virtual void add_node(Graph* graph, Operation operation) = 0;
  virtual Graph* instantiate(Graph const* graph) = 0;
  virtual cudaError_t launch(Graph* executable, Stream* stream) = 0;
  virtual void destroy(Graph* graph) = 0;

  // Tools.
  virtual void set_observer(Observer* observer) = 0;
  [[nodiscard]] virtual Observer* observer() const = 0;
  /// Sets the call's correlation and start, and tells the observer.
  virtual void begin_call(ApiCall& call) = 0;
  /// Sets the end. `outer`: the correlation of the call around it, which becomes current again.
  virtual void end_call(ApiCall& call, uint32_t outer) = 0;
  /// Correlation of the innermost call that this thread is in; 0 = none.
  [[nodiscard]] virtual uint32_t current_correlation() const = 0;
};

/// The engine of the driver in this process or of the one that the loader finds; null where there
/// is no driver.
inline Engine* engine() {
  static Engine* const one = []() -> Engine* {
    void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW);
    if (driver == nullptr) return nullptr;
    auto const get = reinterpret_cast<Engine* (*)()>(::dlsym(driver, "stepscope_double_engine"));
    return get == nullptr ? nullptr : get();
  }();
  return one;
}

/// A call of the CUDA APIs from its beginning to the end of the scope, as tools see it.
class CallScope {
 public:
  CallScope(int domain, uint32_t number, char const* name) : engine_(engine()) {
    if (engine_ == nullptr) return;
    engine_->initialize();
    outer_ = engine_->current_correlation();
    call_.domain = domain;
    call_.number = number;
    call_.name = name;
    engine_->begin_call(call_);
  }
  ~CallScope() {
    if (engine_ != nullptr) engine_->end_call(call_, outer_);
  }
  CallScope(CallScope const&) = delete;
  CallScope& operator=(CallScope const&) = delete;

  cudaError_t result(cudaError_t error) {
    call_.result = error;
    return error;
  }

 private:
  Engine* engine_;
  ApiCall call_;
  uint32_t outer_ = 0;
};

/// A launch by cuLaunchKernel(), as NVIDIA's libraries make it.
inline cudaError_t launch_by_driver(Stream* stream, Operation operation) {
  constexpr int kDriverDomain = 1;
  constexpr uint32_t kLaunchKernel = 307;  // CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel
  CallScope call(kDriverDomain, kLaunchKernel, "cuLaunchKernel");
  return call.result(engine()->enqueue(stream, std::move(operation)));
}

}  // namespace stepscope::cuda_doubles
