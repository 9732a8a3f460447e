// The first include of every translated kernel source (translate.py): what CUDA's compiler gives to
// device code by itself.
#pragma once

#include <cmath>

#include <cuda_runtime_api.h>

#include "tests/cuda_emulation/emulator.h"

// The emulator sets these for the thread that runs.
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

inline void __syncthreads() { stepscope::cuda_emulation::wait_at_barrier(); }
inline float __shfl_xor_sync(unsigned mask, float value, int lane_mask) {
  return stepscope::cuda_emulation::shuffle_xor(mask, value, lane_mask);
}
inline int max(int a, int b) { return a > b ? a : b; }
inline int min(int a, int b) { return a < b ? a : b; }
