// Naive twins of the layers, forward only, in double: what the layer means, as directly as it can
// be written. Gradients are taken from them by finite differences, so that no derivative is written
// twice.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "workloads/backend/backend.h"

namespace stepscope::workloads::reference {

using Values = std::vector<double>;

/// x [batch][height][width][in], weights [out][kernel][kernel][in].
inline Values conv2d(Conv2dShape const& s, Values const& x, Values const& weights,
                     Values const& bias) {
  Values y(static_cast<size_t>(s.batch * s.out_height() * s.out_width() * s.out_channels));
  size_t at = 0;

  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t oy = 0; oy < s.out_height(); ++oy)
      for (int64_t ox = 0; ox < s.out_width(); ++ox)
        for (int64_t o = 0; o < s.out_channels; ++o) {
          double sum = bias[static_cast<size_t>(o)];
          for (int64_t ky = 0; ky < s.kernel; ++ky)
            for (int64_t kx = 0; kx < s.kernel; ++kx) {
              int64_t const iy = oy * s.stride + ky - s.padding;
              int64_t const ix = ox * s.stride + kx - s.padding;
              if (iy < 0 || iy >= s.height || ix < 0 || ix >= s.width) continue;
              for (int64_t i = 0; i < s.in_channels; ++i) {
                sum += x[static_cast<size_t>(((n * s.height + iy) * s.width + ix) * s.in_channels +
                                             i)] *
                       weights[static_cast<size_t>(
                           ((o * s.kernel + ky) * s.kernel + kx) * s.in_channels + i)];
              }
            }

          y[at++] = s.relu ? std::max(0.0, sum) : sum;
        }
  return y;
}

/// The transpose of convolution `s`: x is as large as the convolution's output, y as its input.
/// Each element of x adds its multiple of the kernel to y.
inline Values transposed_conv2d(Conv2dShape const& s, Values const& x, Values const& weights,
                                Values const& bias) {
  Values y(static_cast<size_t>(s.batch * s.height * s.width * s.in_channels));
  for (size_t i = 0; i < y.size(); ++i) y[i] = bias[i % static_cast<size_t>(s.in_channels)];

  size_t at = 0;
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t oy = 0; oy < s.out_height(); ++oy)
      for (int64_t ox = 0; ox < s.out_width(); ++ox)
        for (int64_t o = 0; o < s.out_channels; ++o, ++at)
          for (int64_t ky = 0; ky < s.kernel; ++ky)
            for (int64_t kx = 0; kx < s.kernel; ++kx) {
              int64_t const iy = oy * s.stride + ky - s.padding;
              int64_t const ix = ox * s.stride + kx - s.padding;
              if (iy < 0 || iy >= s.height || ix < 0 || ix >= s.width) continue;
              for (int64_t i = 0; i < s.in_channels; ++i) {
                y[static_cast<size_t>(((n * s.height + iy) * s.width + ix) * s.in_channels + i)] +=
                    x[at] * weights[static_cast<size_t>(
                                ((o * s.kernel + ky) * s.kernel + kx) * s.in_channels + i)];
              }
            }
  return y;
}

inline Values max_pool(MaxPoolShape const& s, Values const& x) {
  Values y;
  int64_t const top =
      std::max<int64_t>(0, (s.out_height() - 1) * s.stride + s.window - s.height) / 2;
  int64_t const left =
      std::max<int64_t>(0, (s.out_width() - 1) * s.stride + s.window - s.width) / 2;

  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t oy = 0; oy < s.out_height(); ++oy)
      for (int64_t ox = 0; ox < s.out_width(); ++ox)
        for (int64_t c = 0; c < s.channels; ++c) {
          double best = -std::numeric_limits<double>::infinity();
          for (int64_t iy = oy * s.stride - top; iy < oy * s.stride - top + s.window; ++iy)
            for (int64_t ix = ox * s.stride - left; ix < ox * s.stride - left + s.window; ++ix) {
              if (iy < 0 || iy >= s.height || ix < 0 || ix >= s.width) continue;
              best = std::max(
                  best,
                  x[static_cast<size_t>(((n * s.height + iy) * s.width + ix) * s.channels + c)]);
            }

          y.push_back(best);
        }
  return y;
}

inline Values lrn(LrnShape const& s, Values const& x) {
  Values y(x.size());
  for (size_t row = 0; row < x.size(); row += static_cast<size_t>(s.channels))
    for (int64_t c = 0; c < s.channels; ++c) {
      double squares = 0;
      for (int64_t j = std::max<int64_t>(0, c - s.radius);
           j <= std::min(s.channels - 1, c + s.radius); ++j) {
        squares += x[row + static_cast<size_t>(j)] * x[row + static_cast<size_t>(j)];
      }

      double const scale = static_cast<double>(s.bias) + static_cast<double>(s.alpha) * squares;
      y[row + static_cast<size_t>(c)] =
          x[row + static_cast<size_t>(c)] * std::pow(scale, -static_cast<double>(s.beta));
    }
  return y;
}

inline Values dense(DenseShape const& s, Values const& x, Values const& weights,
                    Values const& bias) {
  Values y;
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t o = 0; o < s.outputs; ++o) {
      double sum = bias[static_cast<size_t>(o)];
      for (int64_t i = 0; i < s.inputs; ++i) {
        sum += x[static_cast<size_t>(n * s.inputs + i)] *
               weights[static_cast<size_t>(o * s.inputs + i)];
      }

      y.push_back(s.relu ? std::max(0.0, sum) : sum);
    }
  return y;
}

/// Mean cross entropy of rows of `classes` logits.
inline double cross_entropy(int64_t classes, Values const& logits,
                            std::vector<int32_t> const& labels) {
  double loss = 0;
  for (size_t n = 0; n < labels.size(); ++n) {
    if (labels[n] < 0) continue;

    double const* const row = logits.data() + n * static_cast<size_t>(classes);
    double sum = 0;
    for (int64_t c = 0; c < classes; ++c) sum += std::exp(row[c]);
    loss += std::log(sum) - row[labels[n]];
  }
  return loss / static_cast<double>(labels.size());
}

inline Values leaky_relu(Values x, double slope) {
  for (double& value : x) value = std::max(value, slope * value);
  return x;
}

inline Values tanh(Values x) {
  for (double& value : x) value = std::tanh(value);
  return x;
}

/// Sum over all logits; the first `ones` have the target 1.
inline double binary_cross_entropy(Values const& logits, size_t ones) {
  double loss = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    double const sigmoid = 1 / (1 + std::exp(-logits[i]));
    loss -= std::log(i < ones ? sigmoid : 1 - sigmoid);
  }
  return loss;
}

inline Values matmul(MatMulShape const& s, Values const& a, Values const& b, Values const& c) {
  Values result(c.size());
  for (int64_t i = 0; i < s.batch; ++i)
    for (int64_t row = 0; row < s.m; ++row)
      for (int64_t column = 0; column < s.n; ++column) {
        double sum = 0;
        for (int64_t j = 0; j < s.k; ++j) {
          int64_t const at_a = i * s.m * s.k + (s.transpose_a ? j * s.m + row : row * s.k + j);
          int64_t const at_b =
              i * s.k * s.n + (s.transpose_b ? column * s.k + j : j * s.n + column);
          sum += a[static_cast<size_t>(at_a)] * b[static_cast<size_t>(at_b)];
        }

        auto const at = static_cast<size_t>((i * s.m + row) * s.n + column);
        result[at] = static_cast<double>(s.alpha) * sum + static_cast<double>(s.beta) * c[at];
      }
  return result;
}

}  // namespace stepscope::workloads::reference
