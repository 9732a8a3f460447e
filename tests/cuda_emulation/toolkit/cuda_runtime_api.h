// Stands for the CUDA toolkit's header of this name while kernels are compiled for the host: the
// words of the language and the few types that workloads/backend/cuda/*.cu take from it. So the
// emulation needs no toolkit. What a kernel needs beyond this is added here, after NVIDIA's
// documents.
#pragma once

#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)  // translate.py reads the bound from the source

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;

  constexpr dim3(unsigned x_size = 1, unsigned y_size = 1, unsigned z_size = 1)
      : x(x_size), y(y_size), z(z_size) {}
};

using cudaStream_t = struct CUstream_st*;
