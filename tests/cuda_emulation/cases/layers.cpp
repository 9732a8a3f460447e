// Kernels of layers: bias and ReLU in their vector and scalar forms, conversions to and from
// bfloat16, means of arrays.
#include <algorithm>
#include <cmath>

#include "tests/cuda_emulation/cases/row_case.h"
#include "tests/cuda_emulation/guarded_memory.h"

namespace stepscope::cuda_emulation {
namespace {

using workloads::cuda::Bf16;

/// To the nearest number with 8 bits of mantissa, ties to even; for numbers of ordinary size.
double rounded_to_bf16(double x) {
  constexpr int kMantissaBits = 8;
  int exponent = 0;
  double const mantissa = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(mantissa, kMantissaBits)), exponent - kMantissaBits);
}

Bf16* as_bf16(float* array) { return static_cast<Bf16*>(static_cast<void*>(array)); }

/// Where the arrays of a case lie: which of them begin `offset` floats behind their alignment.
struct BiasForm {
  bool relu, in_place, from_bf16;
  size_t offset;

  [[nodiscard]] std::string text() const {
    return std::string(relu ? "relu " : "") + (in_place ? "in place " : "") +
           (from_bf16 ? "from bf16 " : "") + "offset " + std::to_string(offset) + " of ";
  }
};

/// Arrays: x, bias, y, each with `offset` floats in front; in bf16 also the halves.
KernelCase bias_case(RowShape s, BiasForm form) {
  auto const width = static_cast<size_t>(s.width);
  size_t const offset = form.offset, n = s.elements();
  KernelCase c;
  c.name = "add_bias() " + form.text() + s.text();
  c.elements = n;
  c.tolerance = 0;
  c.arrays = [=] {
    return Arrays{random_array(offset + n, 1), random_array(offset + width, 2),
                  unwritten(offset + n)};
  };

  c.kernels = [=](Pointers const& p) {
    float *const x = p[0] + offset, *const bias = p[1] + offset, *const y = p[2] + offset;
    if (form.from_bf16) {
      GuardedMemory const halves((offset + n) * sizeof(Bf16), GuardedEnd::kBack, "the halves");
      Bf16* const h = as_bf16(halves.floats()) + offset;
      workloads::cuda::to_bf16(nullptr, x, h, n);
      workloads::cuda::add_bias(nullptr, h, bias, y, s.rows, s.width, form.relu);
    } else {
      workloads::cuda::add_bias(nullptr, x, bias, form.in_place ? x : y, s.rows, s.width,
                                form.relu);
    }
  };

  c.exact = [=](std::vector<Values>& a) {
    for (size_t i = 0; i < n; ++i) {
      // One addition in float, as the kernel's.
      double const x = a[0][offset + i];
      float const sum = static_cast<float>(form.from_bf16 ? rounded_to_bf16(x) : x) +
                        static_cast<float>(a[1][offset + i % width]);
      auto const exact = static_cast<double>(sum);
      a[form.in_place ? 0 : 2][offset + i] = form.relu ? std::max(0.0, exact) : exact;
    }
  };
  return c;
}

/// To bfloat16 and back.
KernelCase conversion_case(size_t n) {
  KernelCase c;
  c.name = "to_bf16(), to_float() of " + std::to_string(n);
  c.elements = n;
  c.tolerance = 0;
  c.arrays = [=] { return Arrays{random_array(n, 1), unwritten(n)}; };

  c.kernels = [=](Pointers const& p) {
    GuardedMemory const halves(n * sizeof(Bf16), GuardedEnd::kBack, "the halves");
    workloads::cuda::to_bf16(nullptr, p[0], as_bf16(halves.floats()), n);
    workloads::cuda::to_float(nullptr, as_bf16(halves.floats()), p[1], n);
  };
  c.exact = [](std::vector<Values>& a) {
    std::transform(a[0].begin(), a[0].end(), a[1].begin(), rounded_to_bf16);
  };
  return c;
}

/// Every member gets the mean of all.
KernelCase mean_case(uint32_t members, size_t n) {
  KernelCase c;
  c.name = "mean_of_arrays() of " + std::to_string(members) + " x " + std::to_string(n);
  c.elements = members * n;
  c.arrays = [=] {
    Arrays arrays;
    for (uint32_t m = 0; m < members; ++m) arrays.push_back(random_array(n, m));
    return arrays;
  };

  c.kernels = [=](Pointers const& p) {
    workloads::cuda::MeanArrays arrays = {};
    for (float* const one : p) {
      arrays.from[arrays.sources++] = one;
      arrays.to[arrays.targets++] = one;
    }
    workloads::cuda::mean_of_arrays(nullptr, arrays, n);
  };

  c.exact = [=](std::vector<Values>& a) {
    Values mean(n);
    for (Values const& one : a)
      for (size_t i = 0; i < n; ++i) mean[i] += one[i] / members;
    a.assign(members, mean);
  };
  return c;
}

// More than the 8,192 blocks of 256 threads of a grid, so some threads take two elements.
constexpr size_t kLongerThanGrid = 8192 * 256 + 77;

}  // namespace

std::vector<KernelCase> bias_cases() {
  std::vector<KernelCase> cases;
  for (int64_t const rows : {1, 2, 7, 9, 64})
    for (int64_t const width : {1, 3, 4, 8, 31, 32, 33, 100, 255, 1024})
      for (BiasForm const form : {BiasForm{true, false, false, 0}, BiasForm{false, true, false, 0},
                                  BiasForm{true, false, false, 1}, BiasForm{true, false, true, 0},
                                  BiasForm{false, false, true, 2}})
        cases.push_back(bias_case({rows, width}, form));

  cases.push_back(bias_case({kLongerThanGrid / 33, 33}, {true, true, false, 0}));
  return cases;
}

std::vector<KernelCase> conversion_cases() {
  std::vector<KernelCase> cases;
  for (size_t const n : {1U, 2U, 255U, 256U, 257U, 5'001U}) cases.push_back(conversion_case(n));
  cases.push_back(conversion_case(kLongerThanGrid));
  return cases;
}

std::vector<KernelCase> mean_cases() {
  std::vector<KernelCase> cases;
  for (uint32_t const members : {1U, 2U, 3U, 8U, 64U})
    for (size_t const n : {1U, 256U, 1001U}) cases.push_back(mean_case(members, n));
  cases.push_back(mean_case(1, kLongerThanGrid));
  return cases;
}

}  // namespace stepscope::cuda_emulation
