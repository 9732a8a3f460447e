// Initialization, the current device, and what tools learn of calls.
#include <cstdio>

#include "tests/cuda_doubles/driver/state.h"

namespace stepscope::cuda_doubles {
namespace {

thread_local int current_device_of_thread = 0;
thread_local uint32_t correlation_of_thread = 0;

}  // namespace

DriverEngine& driver_engine() {
  static auto* const one = new DriverEngine;
  return *one;
}

/// The driver loads the tool inside of the first cuInit(), and the tool may call CUDA from there
/// (CUPTI's documentation, "CUPTI Initialization", on injection).
cudaError_t DriverEngine::initialize() {
  if (device_count() == 0) return cudaErrorNoDevice;
  static thread_local bool is_inside = false;
  if (is_inside) return cudaSuccess;

  std::call_once(initialized_, [this] {
    is_inside = true;
    load_injection();
    is_inside = false;
    if (Observer* const tool = observer_) tool->driver_initialized();
  });
  return cudaSuccess;
}

void DriverEngine::load_injection() {
  char const* const path = std::getenv("CUDA_INJECTION64_PATH");
  if (path == nullptr || *path == '\0') return;
  void* const library = ::dlopen(path, RTLD_NOW);
  if (library == nullptr) {
    std::fprintf(stderr, "double of CUDA: %s\n", ::dlerror());
    return;
  }
  auto const begin = reinterpret_cast<int (*)()>(::dlsym(library, "InitializeInjection"));
  if (begin != nullptr) begin();
}

int DriverEngine::current_device() const { return current_device_of_thread; }

/// The runtime makes a device's primary context when a thread first uses it.
cudaError_t DriverEngine::set_current_device(int device) {
  if (device < 0 || device >= device_count()) return cudaErrorInvalidDevice;
  current_device_of_thread = device;
  std::atomic<bool>& has_context = has_context_[index_of(device)];
  if (has_context || has_context.exchange(true)) return cudaSuccess;
  if (Observer* const tool = observer_) tool->context_made(device, context_of(device));
  return cudaSuccess;
}

void DriverEngine::begin_call(ApiCall& call) {
  call.correlation = next(correlations_);
  correlation_of_thread = call.correlation;
  call.start_ns = now_ns();
  if (Observer* const tool = observer_) tool->call_begins(call);
}

void DriverEngine::end_call(ApiCall& call, uint32_t outer) {
  call.end_ns = now_ns();
  if (Observer* const tool = observer_) tool->call_ends(call);
  correlation_of_thread = outer;
}

uint32_t DriverEngine::current_correlation() const { return correlation_of_thread; }

}  // namespace stepscope::cuda_doubles
