// Kernels of layers and collectives: bias and ReLU, conversions, max-pool, local response
// normalisation, means of arrays. Images are [batch][height][width][channels]: neighbouring threads
// take neighbouring channels.
#include <algorithm>

#include <cuda_bf16.h>

#include "workloads/backend/cuda/kernels.h"

namespace stepscope::workloads::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr int64_t kMaxBlocks = 8192;  // longer arrays go round

unsigned blocks_for(int64_t count) {
  return static_cast<unsigned>(
      std::clamp<int64_t>((count + kThreads - 1) / kThreads, 1, kMaxBlocks));
}
__device__ int64_t first_index() { return int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ int64_t grid_threads() { return int64_t{gridDim.x} * blockDim.x; }

__device__ float as_float(float x) { return x; }
__device__ float as_float(Bf16 x) { return __bfloat162float(__ushort_as_bfloat16(x)); }

// Bias, conversions.

template <class From>
struct alignas(4 * sizeof(From)) Four {
  From value[4];
};

/// Width elements a thread: 4 where everything is a multiple of 4, else 1.
template <int Width, class From>
__global__ void bias_kernel(From const* x, float const* bias, float* y, int64_t groups,
                            int64_t groups_of_row, bool relu) {
  for (int64_t i = first_index(); i < groups; i += grid_threads()) {
    int64_t const c = i % groups_of_row * Width;
    float out[Width];

    if constexpr (Width == 4) {
      Four<From> const in = reinterpret_cast<Four<From> const*>(x)[i];
      Four<float> const b = *reinterpret_cast<Four<float> const*>(bias + c);
      for (int k = 0; k < 4; ++k) out[k] = as_float(in.value[k]) + b.value[k];
    } else {
      out[0] = as_float(x[i]) + bias[c];
    }
    for (float& value : out) value = relu && value < 0.0F ? 0.0F : value;  // not a number stays so

    if constexpr (Width == 4) {
      reinterpret_cast<Four<float>*>(y)[i] = {{out[0], out[1], out[2], out[3]}};
    } else {
      y[i] = out[0];
    }
  }
}

bool aligned(void const* data) {
  return reinterpret_cast<uintptr_t>(data) % (4 * sizeof(float)) == 0;
}

template <class From>
void launch_bias(cudaStream_t stream, From const* x, float const* bias, float* y, int64_t rows,
                 int64_t columns, bool relu) {
  int64_t const count = rows * columns;
  if (columns % 4 == 0 && aligned(x) && aligned(bias) && aligned(y)) {
    bias_kernel<4>
        <<<blocks_for(count / 4), kThreads, 0, stream>>>(x, bias, y, count / 4, columns / 4, relu);
  } else {
    bias_kernel<1><<<blocks_for(count), kThreads, 0, stream>>>(x, bias, y, count, columns, relu);
  }
}

__global__ void to_bf16_kernel(float const* x, Bf16* y, int64_t count) {
  for (int64_t i = first_index(); i < count; i += grid_threads())
    y[i] = __bfloat16_as_ushort(__float2bfloat16_rn(x[i]));
}
__global__ void to_float_kernel(Bf16 const* x, float* y, int64_t count) {
  for (int64_t i = first_index(); i < count; i += grid_threads()) y[i] = as_float(x[i]);
}

// Max-pool: "same" padding, the smaller half in front.

struct PoolGeometry {
  int height, width, channels, out_height, out_width, window, stride, front_rows, front_columns;
  int64_t inputs, outputs;

  explicit PoolGeometry(MaxPoolShape const& s)
      : height(static_cast<int>(s.height)),
        width(static_cast<int>(s.width)),
        channels(static_cast<int>(s.channels)),
        out_height(static_cast<int>(s.out_height())),
        out_width(static_cast<int>(s.out_width())),
        window(static_cast<int>(s.window)),
        stride(static_cast<int>(s.stride)),
        front_rows(std::max(0, (out_height - 1) * stride + window - height) / 2),
        front_columns(std::max(0, (out_width - 1) * stride + window - width) / 2),
        inputs(s.batch * s.height * s.width * s.channels),
        outputs(s.batch * s.out_height() * s.out_width() * s.channels) {}
};

/// Where element i of [batch][height][width][channels] is.
struct Place {
  int channel, column, row;
  int64_t image;
  __device__ Place(int64_t i, int height, int width, int channels)
      : channel(static_cast<int>(i % channels)),
        column(static_cast<int>(i / channels % width)),
        row(static_cast<int>(i / channels / width % height)),
        image(i / channels / width / height) {}
};

__global__ void max_pool_forward_kernel(PoolGeometry g, float const* x, float* y,
                                        uint8_t* positions) {
  for (int64_t i = first_index(); i < g.outputs; i += grid_threads()) {
    Place const at(i, g.out_height, g.out_width, g.channels);
    int const row = at.row * g.stride - g.front_rows,
              column = at.column * g.stride - g.front_columns;
    float largest = -INFINITY;
    int position = -1;

    for (int r = max(0, -row); r < min(g.window, g.height - row); ++r) {
      for (int c = max(0, -column); c < min(g.window, g.width - column); ++c) {
        float const value =
            x[((at.image * g.height + row + r) * g.width + column + c) * g.channels + at.channel];
        if (value > largest || position < 0) {
          largest = value;
          position = r * g.window + c;
        }
      }
    }

    y[i] = largest;
    positions[i] = static_cast<uint8_t>(position);
  }
}

/// Gathers: an input adds the gradients of the windows that chose it.
__global__ void max_pool_backward_kernel(PoolGeometry g, float const* dy, uint8_t const* positions,
                                         float* dx) {
  for (int64_t i = first_index(); i < g.inputs; i += grid_threads()) {
    Place const at(i, g.height, g.width, g.channels);
    int const row = at.row + g.front_rows, column = at.column + g.front_columns;

    int const first_row = max(0, (row - g.window + g.stride) / g.stride),
              last_row = min(g.out_height - 1, row / g.stride);
    int const first_column = max(0, (column - g.window + g.stride) / g.stride);
    int const last_column = min(g.out_width - 1, column / g.stride);

    float sum = 0;
    for (int r = first_row; r <= last_row; ++r) {
      for (int c = first_column; c <= last_column; ++c) {
        int64_t const output =
            ((at.image * g.out_height + r) * g.out_width + c) * g.channels + at.channel;
        int const position = (row - r * g.stride) * g.window + (column - c * g.stride);
        if (positions[output] == position) sum += dy[output];
      }
    }

    dx[i] = sum;
  }
}

// Local response normalisation.

/// s^−beta; the usual beta is two square roots.
__device__ float power(float s, float beta) {
  return beta == 0.75F ? 1.0F / sqrtf(s * sqrtf(s)) : powf(s, -beta);
}

/// Threads (x, y): channels of pixel y of the block. Calls use(i, Σ over the window of value(j))
/// for each channel.
template <class Value, class Use>
__device__ void over_windows(LrnShape const& s, int64_t pixel, float* terms, Value value, Use use) {
  auto const channels = static_cast<int>(s.channels), radius = static_cast<int>(s.radius);
  int64_t const base = pixel * s.channels;

  bool const exists = pixel < s.batch * s.height * s.width;
  if (exists) {
    for (int c = static_cast<int>(threadIdx.x); c < channels; c += static_cast<int>(blockDim.x))
      terms[c] = value(base + c);
  }

  __syncthreads();
  if (!exists) return;

  for (int c = static_cast<int>(threadIdx.x); c < channels; c += static_cast<int>(blockDim.x)) {
    float sum = 0;
    for (int j = max(0, c - radius); j <= min(channels - 1, c + radius); ++j) sum += terms[j];
    use(base + c, sum);
  }
}

__global__ void lrn_forward_kernel(LrnShape s, float const* x, float* y, float* scale) {
  extern __shared__ float terms[];
  over_windows(
      s, int64_t{blockIdx.x} * blockDim.y + threadIdx.y, terms + threadIdx.y * s.channels,
      [=](int64_t i) { return x[i] * x[i]; },
      [=](int64_t i, float sum) {
        scale[i] = s.bias + s.alpha * sum;
        y[i] = x[i] * power(scale[i], s.beta);
      });
}

/// dx_i = dy_i · s_i^−β − 2 · alpha · β · x_i · Σ_{j in window of i} dy_j · x_j · s_j^(−β−1)
__global__ void lrn_backward_kernel(LrnShape s, float const* x, float const* scale, float const* dy,
                                    float* dx) {
  extern __shared__ float terms[];
  over_windows(
      s, int64_t{blockIdx.x} * blockDim.y + threadIdx.y, terms + threadIdx.y * s.channels,
      [=](int64_t i) { return dy[i] * x[i] * power(scale[i], s.beta) / scale[i]; },
      [=](int64_t i, float sum) {
        dx[i] = dy[i] * power(scale[i], s.beta) - 2.0F * s.alpha * s.beta * x[i] * sum;
      });
}

struct LrnLaunch {
  dim3 grid, block;
  size_t shared_bytes;

  explicit LrnLaunch(LrnShape const& s) {
    auto const channels = static_cast<unsigned>(s.channels);
    unsigned const lanes = std::min(kThreads, (channels + 31) / 32 * 32);
    block = dim3(lanes, kThreads / lanes);
    int64_t const pixels = s.batch * s.height * s.width;
    grid = dim3(static_cast<unsigned>((pixels + block.y - 1) / block.y));
    shared_bytes = size_t{block.y} * channels * sizeof(float);
  }
};

// Collectives, faults.

__global__ void mean_kernel(MeanArrays arrays, size_t count, float scale) {
  for (auto i = static_cast<size_t>(first_index()); i < count;
       i += static_cast<size_t>(grid_threads())) {
    float sum = arrays.from[0][i];
    for (uint32_t m = 1; m < arrays.sources; ++m) sum += arrays.from[m][i];
    sum *= scale;
    for (uint32_t m = 0; m < arrays.targets; ++m) arrays.to[m][i] = sum;
  }
}

__device__ uint64_t device_time_ns() {
  uint64_t now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}
__global__ void begin_slow_kernel(uint64_t* begin_ns) { *begin_ns = device_time_ns(); }
__global__ void end_slow_kernel(uint64_t const* begin_ns) {
  uint64_t const end = device_time_ns();
  uint64_t const until = end + (end - *begin_ns);
  while (device_time_ns() < until) {
  }
}

}  // namespace

void add_bias(cudaStream_t stream, float const* x, float const* bias, float* y, int64_t rows,
              int64_t columns, bool relu) {
  launch_bias(stream, x, bias, y, rows, columns, relu);
}
void add_bias(cudaStream_t stream, Bf16 const* x, float const* bias, float* y, int64_t rows,
              int64_t columns, bool relu) {
  launch_bias(stream, x, bias, y, rows, columns, relu);
}
void to_bf16(cudaStream_t stream, float const* x, Bf16* y, size_t count) {
  auto const n = static_cast<int64_t>(count);
  to_bf16_kernel<<<blocks_for(n), kThreads, 0, stream>>>(x, y, n);
}
void to_float(cudaStream_t stream, Bf16 const* x, float* y, size_t count) {
  auto const n = static_cast<int64_t>(count);
  to_float_kernel<<<blocks_for(n), kThreads, 0, stream>>>(x, y, n);
}

void max_pool_forward(cudaStream_t stream, MaxPoolShape const& shape, float const* x, float* y,
                      uint8_t* positions) {
  PoolGeometry const geometry(shape);
  max_pool_forward_kernel<<<blocks_for(geometry.outputs), kThreads, 0, stream>>>(geometry, x, y,
                                                                                 positions);
}
void max_pool_backward(cudaStream_t stream, MaxPoolShape const& shape, float const* dy,
                       uint8_t const* positions, float* dx) {
  PoolGeometry const geometry(shape);
  max_pool_backward_kernel<<<blocks_for(geometry.inputs), kThreads, 0, stream>>>(geometry, dy,
                                                                                 positions, dx);
}

void lrn_forward(cudaStream_t stream, LrnShape const& shape, float const* x, float* y,
                 float* scale) {
  LrnLaunch const launch(shape);
  lrn_forward_kernel<<<launch.grid, launch.block, launch.shared_bytes, stream>>>(shape, x, y,
                                                                                 scale);
}
void lrn_backward(cudaStream_t stream, LrnShape const& shape, float const* x, float const* scale,
                  float const* dy, float* dx) {
  LrnLaunch const launch(shape);
  lrn_backward_kernel<<<launch.grid, launch.block, launch.shared_bytes, stream>>>(shape, x, scale,
                                                                                  dy, dx);
}

void mean_of_arrays(cudaStream_t stream, MeanArrays const& arrays, size_t count) {
  if (count == 0) return;
  float const scale = 1.0F / static_cast<float>(arrays.sources);
  mean_kernel<<<blocks_for(static_cast<int64_t>(count)), kThreads, 0, stream>>>(arrays, count,
                                                                                scale);
}

void begin_slow(cudaStream_t stream, uint64_t* begin_ns) {
  begin_slow_kernel<<<1, 1, 0, stream>>>(begin_ns);
}
void end_slow(cudaStream_t stream, uint64_t const* begin_ns) {
  end_slow_kernel<<<1, 1, 0, stream>>>(begin_ns);
}

}  // namespace stepscope::workloads::cuda
