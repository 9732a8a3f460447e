// A function of the CUDA runtime: what each does before and after its own work.
#pragma once

#include <cupti_runtime_cbid.h>

#include "tests/cuda_doubles/device/engine.h"

namespace stepscope::cuda_doubles {

/// What cudaGetLastError() reports; of the calling thread.
cudaError_t keep_error(cudaError_t error);

/// Whether a function reports that the machine has no usable device.
enum class Needs : uint8_t { kDevice, kNothing };

/// Runs `work(engine)` as the call `name`, which the observer sees with its result.
template <class Work>
cudaError_t call_runtime(uint32_t number, char const* name, Work const& work,
                         Needs needs = Needs::kDevice) {
  constexpr int kRuntimeDomain = 2;
  CallScope scope(kRuntimeDomain, number, name);
  Engine* const driver = engine();
  if (driver == nullptr) return keep_error(scope.result(cudaErrorInsufficientDriver));

  if (needs == Needs::kDevice) {
    if (driver->device_count() == 0) return keep_error(scope.result(cudaErrorNoDevice));
    if (cudaError_t const sticky = driver->sticky_error(); sticky != cudaSuccess)
      return keep_error(scope.result(sticky));
  }

  return keep_error(scope.result(work(*driver)));
}

}  // namespace stepscope::cuda_doubles

/// The number and the name of a function; `version`: of the toolkit in which it became what it is.
#define STEPSCOPE_FUNCTION(function, version) \
  CUPTI_RUNTIME_TRACE_CBID_##function##_##version, #function
