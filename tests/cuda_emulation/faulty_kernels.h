// Kernels with one fault each, for the tests of the emulator itself, and one without a fault. All
// of them run one block unless they say otherwise.
#pragma once

#include <cstddef>

#include <cuda_runtime_api.h>

namespace stepscope::cuda_emulation {

/// numbers[i] = i for every thread of the grid, by its place in block and grid. No fault.
void number_threads(dim3 grid, dim3 block, float* numbers);
/// y[i] = x[threads − 1 − i] through shared memory. `with_barrier` false: reads what the other
/// threads may not have written yet.
void reverse(float const* x, float* y, unsigned threads, bool with_barrier);
/// differences[thread] = the sum of a block's 64 doubled values minus twice the sum of the values:
/// 0. Both sums pass through the same shared floats. `with_barrier` false: a warp that runs ahead
/// overwrites the first.
void sum_twice(float const* x, float* differences, bool with_barrier);
/// Threads from `leaving` on return before the barrier.
void leave_before_barrier(unsigned threads, unsigned leaving);
/// y[i] = x[i ^ 1], in shuffles that name the lanes of `mask`.
void swap_neighbours(float const* x, float* y, unsigned threads, unsigned mask);
/// y[i] = an element of shared memory that nothing was written to.
void read_unwritten_shared(float* y, unsigned threads);
/// Reads or writes one element: x[at] = 1, or y[0] = x[at].
void write_at(float* x, std::ptrdiff_t at);
void read_at(float const* x, std::ptrdiff_t at, float* y);
/// Copies four floats at once from x + offset to y: aligned where `offset` is a multiple of 4.
void copy_four(float const* x, unsigned offset, float* y);
/// Writes element `at` of a shared array of 32 floats.
void write_shared_at(unsigned at);
/// Does nothing, in a launch of this shape; its launch bounds are 256 threads, or none.
void launch_bounded(dim3 grid, dim3 block);
void launch_free(dim3 grid, dim3 block, size_t shared_bytes);
/// Two static shared arrays, 64 KiB together.
void use_much_shared();

}  // namespace stepscope::cuda_emulation
