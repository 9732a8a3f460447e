// Element-wise and row-wise operations: one kernel template a shape of operation, for all functors
// of elementwise.h and rowwise.h.
#include <algorithm>
#include <type_traits>
#include <variant>

#include "trace/base/check.h"
#include "workloads/backend/cuda/kernels.h"

namespace stepscope::workloads::cuda {
namespace {

constexpr unsigned kThreads = 256;
constexpr size_t kMaxBlocks = 4096;  // enough for every GPU; longer arrays go round
constexpr unsigned kWarp = 32;
constexpr unsigned kAllLanes = 0xFFFF'FFFFU;
constexpr unsigned kMostThreads = 1024;  // of a block: its registers must suffice for them

template <class F>
__global__ void elements_kernel(F f, size_t first, size_t last) {
  size_t const stride = size_t{gridDim.x} * blockDim.x;
  for (size_t i = first + size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < last; i += stride)
    f(i);
}

// Rows.

/// The threads that share a row: threadIdx.x of blockDim.x. One warp, or a whole block (then
/// blockDim.y is 1: it synchronizes).
struct BlockLanes {
  float* partial;  ///< a float a warp, shared by the block

  template <class F>
  __device__ void each(int64_t n, F f) const {
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) f(i);
  }
  template <class F>
  [[nodiscard]] __device__ float sum(int64_t n, F f) const {
    float total = 0;
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) total += f(i);
    return combine(total, [](float a, float b) { return a + b; });
  }
  template <class F>
  [[nodiscard]] __device__ float max(int64_t n, F f) const {
    float largest = -INFINITY;
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) largest = fmaxf(largest, f(i));
    return combine(largest, [](float a, float b) { return fmaxf(a, b); });
  }
  [[nodiscard]] __device__ bool first() const { return threadIdx.x == 0; }

 private:
  /// The same bits on every lane: partners of a butterfly add the same two values, and all lanes
  /// add the warps in one order.
  template <class Op>
  [[nodiscard]] __device__ float combine(float value, Op op) const {
    for (unsigned distance = kWarp / 2; distance > 0; distance /= 2) {
      value = op(value, __shfl_xor_sync(kAllLanes, value, static_cast<int>(distance)));
    }

    if (blockDim.x == kWarp) return value;
    __syncthreads();  // what an earlier call left in `partial` has been read
    if (threadIdx.x % kWarp == 0) partial[threadIdx.x / kWarp] = value;
    __syncthreads();

    value = partial[0];
    for (unsigned warp = 1; warp < blockDim.x / kWarp; ++warp) value = op(value, partial[warp]);
    return value;
  }
};

template <class F>
__global__ void __launch_bounds__(kMostThreads) rows_kernel(F f, int64_t rows) {
  __shared__ float partial[kWarp];
  BlockLanes const lanes{partial};
  int64_t const stride = int64_t{gridDim.x} * blockDim.y;
  for (int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y; row < rows; row += stride)
    f(lanes, row);
}

/// Many short rows: a warp each, eight in a block. Else a block each.
template <class F>
void launch_rows(cudaStream_t stream, F const& f, int64_t rows) {
  constexpr int64_t kShort = 1024, kMany = 256;
  constexpr unsigned kRowsOfBlock = 8;
  bool const warps = f.width <= kWarp || (f.width <= kShort && rows >= kMany);
  unsigned const threads_of_row = rows < kMany ? kMostThreads : kThreads;
  dim3 const block = warps ? dim3(kWarp, kRowsOfBlock) : dim3(threads_of_row);
  auto const blocks = static_cast<size_t>((rows + block.y - 1) / block.y);
  rows_kernel<<<static_cast<unsigned>(std::min<size_t>(blocks, 1U << 30U)), block, 0, stream>>>(
      f, rows);
}

// Columns.

constexpr unsigned kColumnsOfBlock = 32, kRowLanes = 16;

/// What N sums over the rows of a column add for one row.
template <int N>
struct Terms {
  float value[N];
};

/// Block (x, y): 32 columns, the y-th share of the rows. partial[y][sum][column]
template <int N, class F>
__global__ void __launch_bounds__(kColumnsOfBlock* kRowLanes)
    column_partials(F f, int64_t rows, int64_t columns, int64_t share, float* partial) {
  __shared__ float sums[N][kRowLanes][kColumnsOfBlock];
  int64_t const column = int64_t{blockIdx.x} * kColumnsOfBlock + threadIdx.x;
  int64_t const begin = blockIdx.y * share, end = begin + share < rows ? begin + share : rows;
  Terms<N> total = {};

  if (column < columns) {
#pragma unroll 4
    for (int64_t row = begin + threadIdx.y; row < end; row += kRowLanes) {
      Terms<N> const terms = f(row, column);
      for (int n = 0; n < N; ++n) total.value[n] += terms.value[n];
    }
  }

  for (int n = 0; n < N; ++n) sums[n][threadIdx.y][threadIdx.x] = total.value[n];
  __syncthreads();
  if (threadIdx.y != 0 || column >= columns) return;

  for (int n = 0; n < N; ++n) {
    float sum = 0;
    for (unsigned lane = 0; lane < kRowLanes; ++lane) sum += sums[n][lane][threadIdx.x];
    partial[(int64_t{blockIdx.y} * N + n) * columns + column] = sum;
  }
}

template <int N>
struct Outputs {
  float* sums[N];
};
template <int N>
__global__ void column_totals(float const* partial, int64_t shares, int64_t columns,
                              Outputs<N> to) {
  int64_t const column = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (column >= columns) return;

  for (int n = 0; n < N; ++n) {
    float sum = 0;
    for (int64_t share = 0; share < shares; ++share)
      sum += partial[(share * N + n) * columns + column];
    to.sums[n][column] = sum;
  }
}

template <int N, class F>
void launch_columns(cudaStream_t stream, F const& f, int64_t rows, int64_t columns,
                    Outputs<N> const& to, Scratch scratch) {
  constexpr int64_t kWantedBlocks = 512, kFewestRows = 64;
  int64_t const wide = (columns + kColumnsOfBlock - 1) / kColumnsOfBlock;

  int64_t const fitting = static_cast<int64_t>(scratch.floats) / (N * columns);
  STEPSCOPE_CHECK(fitting > 0);  // a million columns fit
  int64_t shares = std::min({kWantedBlocks / wide, rows / kFewestRows, fitting});
  shares = std::max<int64_t>(1, shares);

  int64_t const share = std::max<int64_t>(1, (rows + shares - 1) / shares);
  dim3 const grid(static_cast<unsigned>(wide), static_cast<unsigned>(shares));
  column_partials<N><<<grid, dim3(kColumnsOfBlock, kRowLanes), 0, stream>>>(f, rows, columns, share,
                                                                            scratch.data);

  auto const blocks = static_cast<unsigned>((columns + kThreads - 1) / kThreads);
  column_totals<N><<<blocks, kThreads, 0, stream>>>(scratch.data, shares, columns, to);
}

struct ElementOf {
  float const* x;
  int64_t columns;
  __device__ Terms<1> operator()(int64_t row, int64_t column) const {
    return {{x[row * columns + column]}};
  }
};

struct NormTerms {
  rowwise::LayerNormParameterGradient g;
  __device__ Terms<2> operator()(int64_t row, int64_t column) const {
    float const d = g.dy[row * g.columns + column];
    float const mean = g.statistics[2 * row], inverse = g.statistics[2 * row + 1];
    return {{d * (g.x[row * g.columns + column] - mean) * inverse, d}};
  }
};

}  // namespace

void run_elements(cudaStream_t stream, elementwise::Op const& op, size_t first, size_t last) {
  if (first >= last) return;
  auto const blocks =
      static_cast<unsigned>(std::min<size_t>((last - first + kThreads - 1) / kThreads, kMaxBlocks));
  std::visit(
      [=](auto const& f) { elements_kernel<<<blocks, kThreads, 0, stream>>>(f, first, last); }, op);
}

void run_rows(cudaStream_t stream, rowwise::Op const& op, int64_t rows, Scratch scratch) {
  if (rows <= 0) return;

  std::visit(
      [=](auto const& f) {
        using F = std::decay_t<decltype(f)>;
        // The rows of these are columns of the arrays: read as they lie, a warp loads whole lines.
        if constexpr (std::is_same_v<F, rowwise::LayerNormParameterGradient>) {
          launch_columns<2>(stream, NormTerms{f}, f.width, rows, {{f.d_scale, f.d_shift}}, scratch);
        } else if constexpr (std::is_same_v<F, rowwise::ChannelSum>) {
          launch_columns<1>(stream, ElementOf{f.x, f.channels}, f.width, rows, {{f.sum}}, scratch);
        } else {
          launch_rows(stream, f, rows);
        }
      },
      op);
}

void sum_columns(cudaStream_t stream, float const* x, int64_t rows, int64_t columns, float* sums,
                 Scratch scratch) {
  launch_columns<1>(stream, ElementOf{x, columns}, rows, columns, {{sums}}, scratch);
}

}  // namespace stepscope::workloads::cuda
