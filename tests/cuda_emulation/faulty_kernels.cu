// See faulty_kernels.h. Only translate.py reads this file: no compiler of CUDA builds it.
#include "tests/cuda_emulation/faulty_kernels.h"

namespace stepscope::cuda_emulation {
namespace {

constexpr unsigned kAllLanes = 0xFFFF'FFFFU;
constexpr unsigned kWarp = 32;

__global__ void number_threads_kernel(float* numbers) {
  unsigned const block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  unsigned const thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  unsigned const i = block * blockDim.x * blockDim.y * blockDim.z + thread;
  numbers[i] = static_cast<float>(i);
}

__global__ void reverse_kernel(float const* x, float* y, bool with_barrier) {
  extern __shared__ float all[];
  all[threadIdx.x] = x[threadIdx.x];
  if (with_barrier) __syncthreads();
  y[threadIdx.x] = all[blockDim.x - 1 - threadIdx.x];
}

__device__ float sum_of_warp(float value) {
  for (int distance = 16; distance > 0; distance /= 2)
    value += __shfl_xor_sync(kAllLanes, value, distance);
  return value;
}
__global__ void sum_twice_kernel(float const* x, float* differences, bool with_barrier) {
  __shared__ float sums[2];
  float const value = x[threadIdx.x];
  float const first = sum_of_warp(value), second = sum_of_warp(2 * value);

  sums[threadIdx.x / kWarp] = first;
  __syncthreads();
  float const all_first = sums[0] + sums[1];

  if (with_barrier) __syncthreads();
  sums[threadIdx.x / kWarp] = second;
  __syncthreads();
  differences[threadIdx.x] = sums[0] + sums[1] - 2 * all_first;
}

__global__ void leave_kernel(unsigned leaving) {
  if (threadIdx.x >= leaving) return;
  __syncthreads();
}

__global__ void swap_kernel(float const* x, float* y, unsigned mask) {
  y[threadIdx.x] = __shfl_xor_sync(mask, x[threadIdx.x], 1);
}

__global__ void read_unwritten_kernel(float* y) {
  __shared__ float values[kWarp];
  y[threadIdx.x] = values[threadIdx.x % kWarp];
}

__global__ void write_kernel(float* x, std::ptrdiff_t at) { x[at] = 1; }
__global__ void read_kernel(float const* x, std::ptrdiff_t at, float* y) { y[0] = x[at]; }
struct alignas(16) Four {
  float value[4];
};
__global__ void copy_four_kernel(float const* x, float* y) {
  *reinterpret_cast<Four*>(y) = *reinterpret_cast<Four const*>(x);
}
__global__ void write_shared_kernel(unsigned at) {
  __shared__ float values[kWarp];
  float volatile* const all = values;
  all[at] = 1;
}

__global__ void __launch_bounds__(256) bounded_kernel() {}
__global__ void free_kernel() {}
__global__ void much_shared_kernel() {
  __shared__ float first[8192];
  __shared__ float second[8192];
  first[threadIdx.x] = second[threadIdx.x] = 0;
}

}  // namespace

void number_threads(dim3 grid, dim3 block, float* numbers) {
  number_threads_kernel<<<grid, block>>>(numbers);
}
void reverse(float const* x, float* y, unsigned threads, bool with_barrier) {
  reverse_kernel<<<1, threads, threads * sizeof(float)>>>(x, y, with_barrier);
}
void sum_twice(float const* x, float* differences, bool with_barrier) {
  sum_twice_kernel<<<1, 2 * kWarp>>>(x, differences, with_barrier);
}
void leave_before_barrier(unsigned threads, unsigned leaving) {
  leave_kernel<<<1, threads>>>(leaving);
}
void swap_neighbours(float const* x, float* y, unsigned threads, unsigned mask) {
  swap_kernel<<<1, threads>>>(x, y, mask);
}
void read_unwritten_shared(float* y, unsigned threads) { read_unwritten_kernel<<<1, threads>>>(y); }
void write_at(float* x, std::ptrdiff_t at) { write_kernel<<<1, 1>>>(x, at); }
void read_at(float const* x, std::ptrdiff_t at, float* y) { read_kernel<<<1, 1>>>(x, at, y); }
void copy_four(float const* x, unsigned offset, float* y) {
  copy_four_kernel<<<1, 1>>>(x + offset, y);
}
void write_shared_at(unsigned at) { write_shared_kernel<<<1, 1>>>(at); }
void launch_bounded(dim3 grid, dim3 block) { bounded_kernel<<<grid, block>>>(); }
void launch_free(dim3 grid, dim3 block, size_t shared_bytes) {
  free_kernel<<<grid, block, shared_bytes>>>();
}
void use_much_shared() { much_shared_kernel<<<1, 1>>>(); }

}  // namespace stepscope::cuda_emulation
