// Row operations of every network: the cross entropy, its sum over the batch, bias with ReLU.
#include <algorithm>
#include <cmath>

#include "tests/cuda_emulation/cases/row_case.h"

namespace stepscope::cuda_emulation {
namespace {

namespace rw = workloads::rowwise;

constexpr float kScale = 0.1F;

std::vector<int32_t> some_labels(RowShape s) {
  std::vector<int32_t> labels;
  for (int64_t row = 0; row < s.rows; ++row)
    labels.push_back(row % 5 == 3 ? -1 : static_cast<int32_t>(row * 7 % s.width));
  return labels;
}

/// Arrays: logits, labels, their gradient, pairs of loss and correct.
void exact_cross_entropy(RowShape s, std::vector<Values>& a) {
  auto const width = static_cast<size_t>(s.width);
  std::vector<int32_t> const labels = some_labels(s);
  for (size_t row = 0; row < labels.size(); ++row) {
    double const* const x = &a[0][row * width];
    double* const dx = &a[2][row * width];
    a[3][2 * row] = a[3][2 * row + 1] = 0;
    std::fill_n(dx, width, 0.0);
    if (labels[row] < 0) continue;

    auto const label = static_cast<size_t>(labels[row]);
    double sum = 0;
    for (size_t c = 0; c < width; ++c) sum += std::exp(x[c]);
    for (size_t c = 0; c < width; ++c)
      dx[c] = (std::exp(x[c]) / sum - (c == label ? 1 : 0)) * static_cast<double>(kScale);
    a[3][2 * row] = std::log(sum) - x[label];
    a[3][2 * row + 1] = x[label] >= *std::max_element(x, x + width) ? 1 : 0;
  }
}

KernelCase cross_entropy(RowShape s) {
  auto const arrays = [=] {
    return Arrays{random_array(s.elements(), 1, 4), integer_array(some_labels(s)),
                  unwritten(s.elements()), unwritten(static_cast<size_t>(2 * s.rows))};
  };
  auto const make = [=](Pointers const& p) {
    return rw::CrossEntropy{s.width, p[0], integers(p[1]), p[2], p[3], kScale};
  };
  auto const exact = [=](std::vector<Values>& a) { exact_cross_entropy(s, a); };
  return row_case("cross entropy", s, arrays, make, exact, 1e-5);
}

/// One row of as many pairs as the shape has elements.
KernelCase sum_of_pairs(RowShape s) {
  auto const pairs = static_cast<int64_t>(s.elements());
  auto const arrays = [=] { return Arrays{random_array(2 * s.elements(), 1), unwritten(2)}; };
  auto const make = [=](Pointers const& p) { return rw::SumOfPairs{pairs, p[0], p[1], kScale}; };
  auto const exact = [](std::vector<Values>& a) {
    a[1] = {0, 0};
    for (size_t i = 0; i < a[0].size(); ++i) a[1][i % 2] += a[0][i];
    a[1][0] *= static_cast<double>(kScale);
  };

  return row_case("sum of pairs", {1, pairs}, arrays, make, exact, kSumTolerance);
}

KernelCase add_bias(RowShape s, bool relu) {
  auto const arrays = [=] {
    return Arrays{random_array(s.elements(), 1), random_array(static_cast<size_t>(s.width), 2)};
  };

  auto const make = [=](Pointers const& p) {
    return rw::AddBias{s.width, p[1], p[0], kScale, relu};
  };
  auto const exact = [=](std::vector<Values>& a) {
    for (size_t i = 0; i < a[0].size(); ++i) {
      a[0][i] = static_cast<double>(kScale) * a[0][i] + a[1][i % static_cast<size_t>(s.width)];
      if (relu) a[0][i] = std::max(0.0, a[0][i]);
    }
  };
  return row_case(relu ? "bias and ReLU" : "bias", s, arrays, make, exact, 2e-6);
}

}  // namespace

std::vector<KernelCase> loss_cases() {
  std::vector<KernelCase> cases;
  for (RowShape const shape : row_shapes()) {
    cases.push_back(cross_entropy(shape));
    cases.push_back(sum_of_pairs(shape));
    cases.push_back(add_bias(shape, shape.rows % 2 == 0));
  }
  return cases;
}

}  // namespace stepscope::cuda_emulation
