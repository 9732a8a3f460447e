// The backend's own kernels, as functions that enqueue them on a stream. They report nothing:
// cudaGetLastError() tells whether a launch went wrong. All results are the same in every run: no
// atomics, sums in a fixed order. Arrays are float32 on the device unless they say otherwise;
// `Bf16` is bfloat16.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

#include "workloads/backend/elementwise.h"
#include "workloads/backend/layers.h"
#include "workloads/backend/rowwise.h"

namespace stepscope::workloads::cuda {

using Bf16 = uint16_t;  ///< the bits

/// Where column sums keep what their blocks have summed; for one stream at a time.
struct Scratch {
  float* data;
  size_t floats;
};

/// Elements [first, last).
void run_elements(cudaStream_t stream, elementwise::Op const& op, size_t first, size_t last);
void run_rows(cudaStream_t stream, rowwise::Op const& op, int64_t rows, Scratch scratch);
/// sums[c] = Σ x[row][c], for as many columns as the scratch memory has floats at most
void sum_columns(cudaStream_t stream, float const* x, int64_t rows, int64_t columns, float* sums,
                 Scratch scratch);

/// y[row][c] = x[row][c] + bias[c], not below 0 where `relu`. `x` may be `y`.
void add_bias(cudaStream_t stream, float const* x, float const* bias, float* y, int64_t rows,
              int64_t columns, bool relu);
void add_bias(cudaStream_t stream, Bf16 const* x, float const* bias, float* y, int64_t rows,
              int64_t columns, bool relu);
void to_bf16(cudaStream_t stream, float const* x, Bf16* y, size_t count);
void to_float(cudaStream_t stream, Bf16 const* x, float* y, size_t count);

/// positions[output element] = which element of the window was the (first) largest; the window has
/// at most 256.
void max_pool_forward(cudaStream_t stream, MaxPoolShape const& shape, float const* x, float* y,
                      uint8_t* positions);
void max_pool_backward(cudaStream_t stream, MaxPoolShape const& shape, float const* dy,
                       uint8_t const* positions, float* dx);

/// scale = bias + alpha · Σ x² of each element's window: what the backward pass takes.
void lrn_forward(cudaStream_t stream, LrnShape const& shape, float const* x, float* y,
                 float* scale);
void lrn_backward(cudaStream_t stream, LrnShape const& shape, float const* x, float const* scale,
                  float const* dy, float* dx);

constexpr uint32_t kMaxMembers = 64;
/// Element by element: the mean of `sources` arrays, in their order, to each of `targets` arrays,
/// which may be the same.
struct MeanArrays {
  float const* from[kMaxMembers];
  float* to[kMaxMembers];
  uint32_t sources, targets;
};
void mean_of_arrays(cudaStream_t stream, MeanArrays const& arrays, size_t count);

/// What lies between the two on the stream takes twice its time. `begin_ns`: 8 bytes of the device.
void begin_slow(cudaStream_t stream, uint64_t* begin_ns);
void end_slow(cudaStream_t stream, uint64_t const* begin_ns);

}  // namespace stepscope::workloads::cuda
