// Row operations of transformers that reduce a row: softmax and layer normalisation, both passes.
#include <cmath>

#include "tests/cuda_emulation/cases/row_case.h"

namespace stepscope::cuda_emulation {
namespace {

namespace rw = workloads::rowwise;

constexpr float kNormEpsilon = 1e-5F;

/// f(row) for the rows of an array: calls it with the index of their first element.
template <class F>
void for_rows(RowShape s, F f) {
  for (int64_t row = 0; row < s.rows; ++row) f(static_cast<size_t>(row * s.width));
}

KernelCase causal_softmax(RowShape s) {
  auto const width = static_cast<size_t>(s.width);

  auto const exact = [=](std::vector<Values>& a) {
    for_rows(s, [&](size_t first) {
      double* const x = &a[0][first];
      size_t const visible = first / width % width + 1;
      double sum = 0;
      for (size_t c = 0; c < visible; ++c) sum += std::exp(x[c]);
      for (size_t c = 0; c < width; ++c) x[c] = c < visible ? std::exp(x[c]) / sum : 0;
    });
  };

  return row_case(
      "causal softmax", s, [=] { return Arrays{random_array(s.elements(), 1, 4)}; },
      [=](Pointers const& p) {
        return rw::CausalSoftmaxForward{s.width, p[0]};
      },
      exact, 1e-5);
}

KernelCase softmax_backward(RowShape s) {
  auto const width = static_cast<size_t>(s.width);
  auto const arrays = [=] {
    return Arrays{random_array(s.elements(), 1), random_array(s.elements(), 2)};
  };

  auto const exact = [=](std::vector<Values>& a) {
    for_rows(s, [&](size_t first) {
      double mean = 0;
      for (size_t i = first; i < first + width; ++i) mean += a[0][i] * a[1][i];
      for (size_t i = first; i < first + width; ++i) a[1][i] = a[0][i] * (a[1][i] - mean);
    });
  };

  return row_case(
      "softmax backward", s, arrays,
      [=](Pointers const& p) {
        return rw::SoftmaxBackward{s.width, p[0], p[1]};
      },
      exact, 1e-5);
}

/// Arrays: x, scale, shift, y, pairs of mean and 1 / √(variance + epsilon).
void exact_layer_norm(RowShape s, std::vector<Values>& a) {
  auto const width = static_cast<size_t>(s.width);
  auto const elements = static_cast<double>(width);

  for_rows(s, [&](size_t first) {
    double mean = 0, variance = 0;
    for (size_t i = first; i < first + width; ++i) mean += a[0][i] / elements;
    for (size_t i = first; i < first + width; ++i)
      variance += (a[0][i] - mean) * (a[0][i] - mean) / elements;

    double const inverse = 1 / std::sqrt(variance + static_cast<double>(kNormEpsilon));
    for (size_t c = 0; c < width; ++c)
      a[3][first + c] = (a[0][first + c] - mean) * inverse * a[1][c] + a[2][c];
    size_t const row = first / width;
    a[4][2 * row] = mean;
    a[4][2 * row + 1] = inverse;
  });
}

KernelCase layer_norm(RowShape s) {
  auto const width = static_cast<size_t>(s.width);
  auto const arrays = [=] {
    return Arrays{random_array(s.elements(), 1), random_array(width, 2), random_array(width, 3),
                  unwritten(s.elements()), unwritten(static_cast<size_t>(2 * s.rows))};
  };
  auto const make = [=](Pointers const& p) {
    return rw::LayerNormForward{s.width, p[0], p[1], p[2], p[3], p[4], kNormEpsilon};
  };

  return row_case(
      "layer norm", s, arrays, make, [=](std::vector<Values>& a) { exact_layer_norm(s, a); },
      kSumTolerance);
}

/// Arrays: x, scale, statistics, dy, dx.
void exact_layer_norm_backward(RowShape s, std::vector<Values>& a) {
  auto const width = static_cast<size_t>(s.width);
  auto const elements = static_cast<double>(width);

  for_rows(s, [&](size_t first) {
    size_t const row = first / width;
    double const mean = a[2][2 * row], inverse = a[2][2 * row + 1];
    auto const normalised = [&](size_t c) { return (a[0][first + c] - mean) * inverse; };
    auto const gradient = [&](size_t c) { return a[3][first + c] * a[1][c]; };

    double along_one = 0, along_x = 0;
    for (size_t c = 0; c < width; ++c) {
      along_one += gradient(c) / elements;
      along_x += gradient(c) * normalised(c) / elements;
    }
    for (size_t c = 0; c < width; ++c)
      a[4][first + c] += inverse * (gradient(c) - along_one - normalised(c) * along_x);
  });
}

KernelCase layer_norm_backward(RowShape s) {
  auto const arrays = [=] {
    return Arrays{random_array(s.elements(), 1), random_array(static_cast<size_t>(s.width), 2),
                  random_array(static_cast<size_t>(2 * s.rows), 3), random_array(s.elements(), 4),
                  random_array(s.elements(), 5)};
  };
  auto const make = [=](Pointers const& p) {
    return rw::LayerNormBackward{s.width, p[0], p[1], p[2], p[3], p[4]};
  };

  return row_case(
      "layer norm backward", s, arrays, make,
      [=](std::vector<Values>& a) { exact_layer_norm_backward(s, a); }, kSumTolerance);
}

}  // namespace

std::vector<KernelCase> transformer_row_cases() {
  std::vector<KernelCase> cases;
  for (RowShape const shape : row_shapes()) {
    cases.push_back(causal_softmax(shape));
    cases.push_back(softmax_backward(shape));
    cases.push_back(layer_norm(shape));
    cases.push_back(layer_norm_backward(shape));
  }
  return cases;
}

}  // namespace stepscope::cuda_emulation
