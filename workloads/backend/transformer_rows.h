// The row-wise operations of transformers (gpt.cpp): embeddings, layer normalisation, causal
// softmax, and the way between the rows of a projection and the matrices of its attention heads.
// What the lanes offer: rowwise.h, which lists the operations.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "workloads/backend/elementwise.h"

namespace stepscope::workloads::rowwise {

// kBytes and kFlops: of one element of a row.

/// A row is one position of one sequence: y[row] = table[tokens[row]] + positions[row % time].
struct EmbeddingForward {
  static constexpr int kBytes = 12, kFlops = 1;
  int64_t width;
  int64_t time;  ///< positions of a sequence
  int32_t const* tokens;
  float const *table, *positions;
  float* y;

  template <class Lanes>
  STEPSCOPE_BOTH void operator()(Lanes const& lanes, int64_t row) const {
    float const* const of_token = table + tokens[row] * width;
    float const* const of_position = positions + row % time * width;
    float* const to = y + row * width;
    lanes.each(width, [=](int64_t c) { to[c] = of_token[c] + of_position[c]; });
  }
};

/// A row is one entry of the vocabulary: d_table[row] = Σ dy[i] over all i with tokens[i] = row.
/// The sum is taken in the order of the positions, so it is the same in every run.
struct TokenGradient {
  static constexpr int kBytes = 8, kFlops = 1;
  int64_t width;
  int64_t count;  ///< tokens of the batch
  int32_t const* tokens;
  float const* dy;
  float* d_table;

  template <class Lanes>
  STEPSCOPE_BOTH void operator()(Lanes const& lanes, int64_t row) const {
    float* const to = d_table + row * width;
    lanes.each(width, [=](int64_t c) { to[c] = 0.0F; });
    for (int64_t i = 0; i < count; ++i) {
      if (tokens[i] != row) continue;
      float const* const from = dy + i * width;
      lanes.each(width, [=](int64_t c) { to[c] += from[c]; });
    }
  }
};

/// A row is one position: d_positions[row] = Σ over the sequences of dy[sequence][row].
struct PositionGradient {
  static constexpr int kBytes = 8, kFlops = 1;
  int64_t width;
  int64_t batch, time;
  float const* dy;
  float* d_positions;

  template <class Lanes>
  STEPSCOPE_BOTH void operator()(Lanes const& lanes, int64_t row) const {
    float const* const from = dy + row * width;
    float* const to = d_positions + row * width;
    int64_t const sequences = batch, stride = time * width;
    lanes.each(width, [=](int64_t c) {
      float sum = 0;
      for (int64_t n = 0; n < sequences; ++n) sum += from[n * stride + c];
      to[c] = sum;
    });
  }
};

/// Layer normalisation (Ba, Kiros, Hinton, arXiv 1607.06450): y = (x − mean) / √(variance +
/// epsilon) · scale + shift over a row. statistics[row] = mean, 1 / √(variance + epsilon): what the
/// backward operations take.
struct LayerNormForward {
  static constexpr int kBytes = 8, kFlops = 8;
  int64_t width;
  float const *x, *scale, *shift;
  float *y, *statistics;
  float epsilon;

  template <class Lanes>
  STEPSCOPE_BOTH void operator()(Lanes const& lanes, int64_t row) const {
    float const* const from = x + row * width;
    float* const to = y + row * width;
    float const *const by = scale, *const plus = shift;

    auto const elements = static_cast<float>(width);
    float const mean = lanes.sum(width, [=](int64_t c) { return from[c]; }) / elements;
    float const variance =
        lanes.sum(width, [=](int64_t c) { return (from[c] - mean) * (from[c] - mean); }) / elements;
    float const inverse = 1.0F / std::sqrt(variance + epsilon);

    lanes.each(width, [=](int64_t c) { to[c] = (from[c] - mean) * inverse * by[c] + plus[c]; });
    if (lanes.first()) {
      statistics[2 * row] = mean;
      statistics[2 * row + 1] = inverse;
    }
  }
};

/// dx ← dx + the gradient of the normalisation's input: a residual branch begins with it, and the
/// gradient that went past the branch is already in dx.
struct LayerNormBackward {
  static constexpr int kBytes = 16, kFlops = 14;
  int64_t width;
  float const *x, *scale, *statistics, *dy;
  float* dx;

  template <class Lanes>
  STEPSCOPE_BOTH void operator()(Lanes const& lanes, int64_t row) const {
    float const *const from = x + row * width, *const d = dy + row * width, *const by = scale;
    float* const to = dx + row * width;
    float const mean = statistics[2 * row], inverse = statistics[2 * row + 1];

    float const share = 1.0F / static_cast<float>(width);
    float const along_one = lanes.sum(width, [=](int64_t c) { return d[c] * by[c]; }) * share;
    float const along_x = lanes.sum(width, [=](int64_t c) {
      return d[c] * by[c] * (from[c] - mean);
    }) * inverse * share;

    lanes.each(width, [=](int64_t c) {
      to[c] += inverse * (d[c] * by[c] - along_one - (from[c] - mean) * inverse * along_x);
    });
  }
};

/// A row is one column c of the normalised rows: d_scale[c] = Σ dy · (x − mean) · inverse,
/// d_shift[c] = Σ dy over the rows.
struct LayerNormParameterGradient {
  static constexpr int kBytes = 8, kFlops = 5;
  int64_t width;  ///< rows that were normalised
  int64_t columns;
  float const *x, *statistics, *dy;
  float *d_scale, *d_shift;

  template <class Lanes>
  STEPSCOPE_BOTH void operator()(Lanes const& lanes, int64_t column) const {
    float const *const from = x + column, *const d = dy + column, *const of_row = statistics;
    int64_t const stride = columns;

    float const scale = lanes.sum(width, [=](int64_t i) {
      return d[i * stride] * (from[i * stride] - of_row[2 * i]) * of_row[2 * i + 1];
    });
    float const shift = lanes.sum(width, [=](int64_t i) { return d[i * stride]; });

    if (lanes.first()) {
      d_scale[column] = scale;
      d_shift[column] = shift;
    }
  }
};

/// Rows of attention scores, [matrix][query][key] with as many queries as keys: softmax over the
/// keys that are not after the query, 0 for the others. In place.
struct CausalSoftmaxForward {
  static constexpr int kBytes = 8, kFlops = 4;
  int64_t width;  ///< keys
  float* scores;

  template <class Lanes>
  STEPSCOPE_BOTH void operator()(Lanes const& lanes, int64_t row) const {
    float* const x = scores + row * width;
    int64_t const visible = row % width + 1;
    float const largest = lanes.max(visible, [=](int64_t c) { return x[c]; });
    lanes.each(width, [=](int64_t c) { x[c] = c < visible ? std::exp(x[c] - largest) : 0.0F; });
    float const factor = 1.0F / lanes.sum(visible, [=](int64_t c) { return x[c]; });
    lanes.each(visible, [=](int64_t c) { x[c] *= factor; });
  }
};

/// dy ← y · (dy − Σ dy · y) over a row: from the gradient of the weights y to that of the scores.
/// Where y is 0 the result is.
struct SoftmaxBackward {
  static constexpr int kBytes = 16, kFlops = 4;
  int64_t width;
  float const* y;
  float* dy;

  template <class Lanes>
  STEPSCOPE_BOTH void operator()(Lanes const& lanes, int64_t row) const {
    float const* const weights = y + row * width;
    float* const d = dy + row * width;
    float const mean = lanes.sum(width, [=](int64_t c) { return d[c] * weights[c]; });
    lanes.each(width, [=](int64_t c) { d[c] = weights[c] * (d[c] - mean); });
  }
};

/// Where the heads of attention are. In the rows of a projection they lie side by side,
/// [batch][time][parts][heads][dim] (parts: 3 for query, key and value in one, else 1). As the
/// products take them they lie matrix by matrix, [parts][batch][heads][time][dim].
struct HeadsShape {
  int64_t batch, time, parts, heads, dim;

  [[nodiscard]] STEPSCOPE_BOTH int64_t matrices() const { return parts * batch * heads; }
  [[nodiscard]] STEPSCOPE_BOTH int64_t row_stride() const { return parts * heads * dim; }
  /// Where matrix `number` begins in the rows.
  [[nodiscard]] STEPSCOPE_BOTH int64_t begin(int64_t number) const {
    int64_t const part = number / (batch * heads), sequence = number / heads % batch,
                  head = number % heads;
    return sequence * time * row_stride() + (part * heads + head) * dim;
  }
};

/// From side by side to matrix by matrix; a row is one matrix.
struct SplitHeads {
  static constexpr int kBytes = 8, kFlops = 0;
  HeadsShape shape;
  float const* rows;
  float* matrices;
  int64_t width = shape.time * shape.dim;

  template <class Lanes>
  STEPSCOPE_BOTH void operator()(Lanes const& lanes, int64_t matrix) const {
    float const* const from = rows + shape.begin(matrix);
    float* const to = matrices + matrix * width;
    int64_t const stride = shape.row_stride();
    auto const dim = static_cast<uint32_t>(shape.dim);
    lanes.each(width, [=](int64_t i) {
      uint32_t const t = static_cast<uint32_t>(i) / dim, c = static_cast<uint32_t>(i) % dim;
      to[i] = from[t * stride + c];
    });
  }
};

/// Back from matrix by matrix to side by side; a row is one matrix.
struct MergeHeads {
  static constexpr int kBytes = 8, kFlops = 0;
  HeadsShape shape;
  float const* matrices;
  float* rows;
  int64_t width = shape.time * shape.dim;

  template <class Lanes>
  STEPSCOPE_BOTH void operator()(Lanes const& lanes, int64_t matrix) const {
    float const* const from = matrices + matrix * width;
    float* const to = rows + shape.begin(matrix);
    int64_t const stride = shape.row_stride();
    auto const dim = static_cast<uint32_t>(shape.dim);
    lanes.each(width, [=](int64_t i) {
      uint32_t const t = static_cast<uint32_t>(i) / dim, c = static_cast<uint32_t>(i) % dim;
      to[t * stride + c] = from[i];
    });
  }
};

}  // namespace stepscope::workloads::rowwise
