// Operations on whole rows, written once: functors that a backend calls for every row with the
// lanes that share it, one thread (host) or a block (CUDA). A new operation is a struct here and
// its name in the list at the end; no backend changes. Operations of one kind of network are in a
// header of their own (transformer_rows.h).
//
// Lanes offer:
//
//   each(n, f)            calls f(i) for i < n, the same lane for the same i whatever n is
//   sum(n, f), max(n, f)  the sum and the largest of f(i), the same on every lane and in every run
//   first()               is true on one lane, the one that writes what a row has one of
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <variant>

#include "workloads/backend/elementwise.h"
#include "workloads/backend/transformer_rows.h"

namespace stepscope::workloads::rowwise {

/// A row of `classes` logits: d_logits = (softmax − one-hot) · scale; result[row][0] = cross
/// entropy, result[row][1] = 1 where the label's logit is the largest, else 0. A row with a
/// negative label gives zeros.
struct CrossEntropy {
  static constexpr int kBytes = 8, kFlops = 6;  // of one element of a row
  int64_t width;                                ///< classes
  float const* logits;
  int32_t const* labels;
  float* d_logits;
  float* result;
  float scale;

  template <class Lanes>
  STEPSCOPE_BOTH void operator()(Lanes const& lanes, int64_t row) const {
    float const* const x = logits + row * width;
    float* const dx = d_logits + row * width;
    int32_t const label = labels[row];
    float loss = 0, correct = 0;

    if (label < 0) {
      lanes.each(width, [=](int64_t c) { dx[c] = 0.0F; });
    } else {
      float const largest = lanes.max(width, [=](int64_t c) { return x[c]; });
      float const log_sum =
          std::log(lanes.sum(width, [=](int64_t c) { return std::exp(x[c] - largest); }));
      float const factor = scale;
      lanes.each(width, [=](int64_t c) {
        dx[c] = (std::exp(x[c] - largest - log_sum) - (c == label ? 1.0F : 0.0F)) * factor;
      });
      loss = log_sum + largest - x[label];
      correct = x[label] >= largest ? 1.0F : 0.0F;
    }

    if (lanes.first()) {
      result[2 * row] = loss;
      result[2 * row + 1] = correct;
    }
  }
};

/// One row: y[0] = scale · Σ x[i][0], y[1] = Σ x[i][1] over `width` pairs x[i]: what CrossEntropy
/// leaves, for the whole batch.
struct SumOfPairs {
  static constexpr int kBytes = 8, kFlops = 2;
  int64_t width;
  float const* x;
  float* y;
  float scale;

  template <class Lanes>
  STEPSCOPE_BOTH void operator()(Lanes const& lanes, int64_t /*row*/) const {
    float const* const from = x;
    float const first = lanes.sum(width, [=](int64_t i) { return from[2 * i]; });
    float const second = lanes.sum(width, [=](int64_t i) { return from[2 * i + 1]; });
    if (lanes.first()) {
      y[0] = first * scale;
      y[1] = second;
    }
  }
};

/// A row of y: y ← scale · y + bias, and 0 where that is negative if `relu` is set.
struct AddBias {
  static constexpr int kBytes = 8, kFlops = 3;
  int64_t width;
  float const* bias;
  float* y;
  float scale;
  bool relu;

  template <class Lanes>
  STEPSCOPE_BOTH void operator()(Lanes const& lanes, int64_t row) const {
    float* const of_row = y + row * width;
    float const* const added = bias;
    float const factor = scale;
    float const least = relu ? 0.0F : -INFINITY;
    lanes.each(width, [=](int64_t c) {
      float const value = factor * of_row[c] + added[c];
      of_row[c] = value < least ? least : value;
    });
  }
};

/// Row c is channel c of x [rows][channels]: sum[c] = Σ of its values. `width`: rows.
struct ChannelSum {
  static constexpr int kBytes = 4, kFlops = 1;
  int64_t width, channels;
  float const* x;
  float* sum;

  template <class Lanes>
  STEPSCOPE_BOTH void operator()(Lanes const& lanes, int64_t row) const {
    float const* const from = x + row;
    int64_t const stride = channels;
    float const total = lanes.sum(width, [=](int64_t i) { return from[i * stride]; });
    if (lanes.first()) sum[row] = total;
  }
};

/// THE list of row operations.
using Op =
    std::variant<CrossEntropy, SumOfPairs, AddBias, ChannelSum, EmbeddingForward, TokenGradient,
                 PositionGradient, LayerNormForward, LayerNormBackward, LayerNormParameterGradient,
                 CausalSoftmaxForward, SoftmaxBackward, SplitHeads, MergeHeads>;

}  // namespace stepscope::workloads::rowwise
