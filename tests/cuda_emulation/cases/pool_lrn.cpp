// Max-pool and local response normalisation, both passes of each.
#include <algorithm>
#include <cmath>
#include <memory>

#include "tests/cuda_emulation/guarded_memory.h"
#include "tests/cuda_emulation/kernel_case.h"

namespace stepscope::cuda_emulation {
namespace {

using workloads::Device;
using workloads::LrnShape;
using workloads::MaxPoolShape;

/// "batch 2, 24 x 24 x 64"
template <class Shape>
std::string text(Shape const& s) {
  return "batch " + std::to_string(s.batch) + ", " + std::to_string(s.height) + " x " +
         std::to_string(s.width) + " x " + std::to_string(s.channels);
}
template <class Shape>
size_t inputs(Shape const& s) {
  return static_cast<size_t>(s.batch * s.height * s.width * s.channels);
}

/// The index in x of the first largest element in the window of output (row, column).
size_t first_largest(MaxPoolShape const& s, Values const& x, int64_t image, int64_t row,
                     int64_t column, int64_t channel) {
  auto const front = [&](int64_t out, int64_t in) {
    return std::max<int64_t>(0, (out - 1) * s.stride + s.window - in) / 2;
  };
  int64_t const top = row * s.stride - front(s.out_height(), s.height);
  int64_t const left = column * s.stride - front(s.out_width(), s.width);

  int64_t best = -1;
  for (int64_t y = std::max<int64_t>(0, top); y < std::min(s.height, top + s.window); ++y)
    for (int64_t c = std::max<int64_t>(0, left); c < std::min(s.width, left + s.window); ++c) {
      int64_t const at = ((image * s.height + y) * s.width + c) * s.channels + channel;
      if (best < 0 || x[static_cast<size_t>(at)] > x[static_cast<size_t>(best)]) best = at;
    }
  return static_cast<size_t>(best);
}

/// Arrays: x, y, dy, dx.
void exact_max_pool(MaxPoolShape const& s, std::vector<Values>& a) {
  a[3].assign(a[3].size(), 0);
  size_t output = 0;

  for (int64_t image = 0; image < s.batch; ++image)
    for (int64_t row = 0; row < s.out_height(); ++row)
      for (int64_t column = 0; column < s.out_width(); ++column)
        for (int64_t channel = 0; channel < s.channels; ++channel, ++output) {
          size_t const from = first_largest(s, a[0], image, row, column, channel);
          a[1][output] = a[0][from];
          a[3][from] += a[2][output];
        }
}

KernelCase max_pool_case(MaxPoolShape const& s) {
  auto const outputs = static_cast<size_t>(s.batch * s.out_height() * s.out_width() * s.channels);
  KernelCase c;
  c.name = "max-pool of " + text(s) + ", window " + std::to_string(s.window) + ", stride " +
           std::to_string(s.stride);
  c.elements = inputs(s);
  c.arrays = [=] {
    return Arrays{random_array(inputs(s), 1), unwritten(outputs), random_array(outputs, 2),
                  unwritten(inputs(s))};
  };

  c.kernels = [=](Pointers const& p) {
    GuardedMemory const positions(outputs, GuardedEnd::kBack, "the positions");
    auto* const at = static_cast<uint8_t*>(positions.data());
    workloads::cuda::max_pool_forward(nullptr, s, p[0], p[1], at);
    workloads::cuda::max_pool_backward(nullptr, s, p[2], at, p[3]);
  };
  c.host = [=](Device& device, Pointers const& p) {
    auto const layer = device.max_pool("pool", s).value();
    layer->forward(p[0], p[1]);
    layer->backward(p[2], p[3]);
    device.synchronize();
  };
  c.exact = [=](std::vector<Values>& a) { exact_max_pool(s, a); };
  return c;
}

/// Arrays: x, y, dy, dx. y = x · s^−β with s = bias + alpha · Σ x² over the window; the derivative
/// is at LrnShape's kernel.
void exact_lrn(LrnShape const& s, std::vector<Values>& a) {
  auto const alpha = static_cast<double>(s.alpha), beta = static_cast<double>(s.beta);
  Values scale(a[0].size());
  auto const add_window = [&](size_t i, auto const& value) {
    auto const channels = static_cast<size_t>(s.channels), radius = static_cast<size_t>(s.radius);
    size_t const c = i % channels, base = i - c;
    double sum = 0;
    for (size_t j = c > radius ? c - radius : 0; j <= std::min(channels - 1, c + radius); ++j)
      sum += value(base + j);
    return sum;
  };

  for (size_t i = 0; i < scale.size(); ++i) {
    double const squares = add_window(i, [&](size_t j) { return a[0][j] * a[0][j]; });
    scale[i] = static_cast<double>(s.bias) + alpha * squares;
    a[1][i] = a[0][i] * std::pow(scale[i], -beta);
  }

  for (size_t i = 0; i < scale.size(); ++i) {
    double const sum =
        add_window(i, [&](size_t j) { return a[2][j] * a[0][j] * std::pow(scale[j], -beta - 1); });
    a[3][i] = a[2][i] * std::pow(scale[i], -beta) - 2 * alpha * beta * a[0][i] * sum;
  }
}

KernelCase lrn_case(LrnShape const& s) {
  KernelCase c;
  c.name = "normalisation of " + text(s) + ", radius " + std::to_string(s.radius);
  c.elements = inputs(s);
  c.tolerance = 1e-5;
  c.arrays = [=] {
    return Arrays{random_array(inputs(s), 1, 2), unwritten(inputs(s)), random_array(inputs(s), 2),
                  unwritten(inputs(s))};
  };

  c.kernels = [=](Pointers const& p) {
    GuardedMemory const kept(inputs(s) * sizeof(float), GuardedEnd::kBack, "the scale");
    workloads::cuda::lrn_forward(nullptr, s, p[0], p[1], kept.floats());
    workloads::cuda::lrn_backward(nullptr, s, p[0], kept.floats(), p[2], p[3]);
  };
  c.host = [=](Device& device, Pointers const& p) {
    auto const layer = device.lrn("lrn", s).value();
    layer->forward(p[0], p[1]);
    layer->backward(p[0], p[2], p[3]);
    device.synchronize();
  };
  c.exact = [=](std::vector<Values>& a) { exact_lrn(s, a); };
  return c;
}

}  // namespace

std::vector<KernelCase> max_pool_cases() {
  std::vector<KernelCase> cases;
  for (MaxPoolShape const& shape :
       {MaxPoolShape{2, 24, 24, 64, 3, 2}, MaxPoolShape{4, 12, 12, 64, 3, 2},
        MaxPoolShape{1, 7, 5, 3, 3, 2}, MaxPoolShape{2, 28, 28, 32, 2, 2},
        MaxPoolShape{1, 9, 9, 2, 5, 3}, MaxPoolShape{1, 1, 1, 1, 2, 2},
        MaxPoolShape{1, 5, 9, 7, 2, 3}, MaxPoolShape{1, 16, 16, 1, 16, 16},
        MaxPoolShape{3, 6, 4, 5, 1, 1}, MaxPoolShape{1, 8, 8, 3, 4, 1},
        MaxPoolShape{1, 1, 13, 2, 3, 1}, MaxPoolShape{5, 3, 3, 33, 3, 3}})
    cases.push_back(max_pool_case(shape));

  cases.push_back(max_pool_case({1, 128, 129, 128, 1, 1}));  // longer than a grid
  return cases;
}

std::vector<KernelCase> lrn_cases() {
  std::vector<KernelCase> cases;

  for (LrnShape const& shape :
       {LrnShape{2, 12, 12, 64, 4, 1, 0.001F / 9, 0.75F}, LrnShape{2, 3, 5, 64, 4, 1, 0.3F, 0.75F},
        LrnShape{1, 3, 3, 6, 4, 2, 0.2F, 0.75F}, LrnShape{1, 3, 3, 300, 2, 1, 0.2F, 0.6F},
        LrnShape{1, 1, 1, 4096, 4, 1, 0.2F, 0.75F}, LrnShape{1, 7, 3, 33, 1, 1, 0.2F, 0.75F},
        LrnShape{1, 5, 5, 256, 7, 1, 0.1F, 0.75F}, LrnShape{1, 2, 2, 272, 7, 1, 0.1F, 0.75F},
        LrnShape{1, 7, 3, 33, 0, 1, 0.2F, 0.75F}, LrnShape{2, 3, 3, 17, 4, 1, 0.2F, 0.75F},
        LrnShape{1, 3, 3, 40, 4, 1, 0.2F, 0.5F}, LrnShape{1, 1, 1, 1, 1, 1, 0.2F, 0.75F},
        LrnShape{1, 1, 2, 12'288, 4, 1, 0.2F, 0.75F}, LrnShape{1, 3, 3, 31, 40, 1, 0.2F, 0.75F}})
    cases.push_back(lrn_case(shape));
  return cases;
}

}  // namespace stepscope::cuda_emulation
