// Every element-wise operation: lengths around the block's 256 threads, ranges that begin in the
// middle, and more elements than a grid has threads.
#include <cmath>
#include <numbers>

#include "tests/cuda_emulation/kernel_case.h"

namespace stepscope::cuda_emulation {
namespace {

namespace ew = workloads::elementwise;

/// An operation on arrays 0 to 3 of `n` elements and array 4 of 2 · n; array 3 is positive.
struct ElementOp {
  char const* name;
  ew::Op (*make)(Pointers const& p, size_t n);
  void (*exact)(std::vector<Values>& a, size_t i, size_t n);
};

// Parameters in float, as the operations take them.
constexpr float kFactor = 0.3F, kSlope = 0.2F, kRate = 0.1F, kDecay = 0.01F, kAdamEpsilon = 1e-8F;
constexpr float kBeta1 = 0.9F, kBeta2 = 0.99F, kCorrection1 = 0.1F, kCorrection2 = 0.2F;
constexpr double as_double(float x) { return static_cast<double>(x); }

void leaky(double& value, double by) { value = by > 0 ? value : as_double(kSlope) * value; }

double gelu_argument(double x) {
  return std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
}
double gelu(double x) { return 0.5 * x * (1 + std::tanh(gelu_argument(x))); }
double gelu_derivative(double x) {
  double const t = std::tanh(gelu_argument(x));
  double const du = std::sqrt(2 / std::numbers::pi) * (1 + 3 * 0.044715 * x * x);
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * du;
}

void binary_cross_entropy(std::vector<Values>& a, size_t i, size_t n) {
  double const x = a[0][i];
  bool const is_one = i < n / 3;
  double const sigmoid = 1 / (1 + std::exp(-x));
  a[1][i] = (sigmoid - (is_one ? 1 : 0)) * as_double(kFactor);
  a[4][2 * i] = -std::log(is_one ? sigmoid : 1 - sigmoid);
  a[4][2 * i + 1] = (x > 0) == is_one ? 1 : 0;
}

void adamw(std::vector<Values>& a, size_t i, size_t /*n*/) {
  double const g = a[1][i], beta1 = as_double(kBeta1), beta2 = as_double(kBeta2);
  a[2][i] = beta1 * a[2][i] + (1 - beta1) * g;
  a[3][i] = beta2 * a[3][i] + (1 - beta2) * g * g;
  double const mean = a[2][i] / as_double(kCorrection1);
  double const square = a[3][i] / as_double(kCorrection2);
  double const step = mean / (std::sqrt(square) + as_double(kAdamEpsilon));
  a[0][i] -= as_double(kRate) * (step + as_double(kDecay) * a[0][i]);
}

using P = Pointers const&;
using A = std::vector<Values>&;

// One row an operation of elementwise.h.
ElementOp const kOps[] = {
    {"fill",
     [](P p, size_t) -> ew::Op {
       return ew::Fill{p[0], kFactor};
     },
     [](A a, size_t i, size_t) { a[0][i] = as_double(kFactor); }},
    {"copy",
     [](P p, size_t) -> ew::Op {
       return ew::Copy{p[0], p[1]};
     },
     [](A a, size_t i, size_t) { a[1][i] = a[0][i]; }},
    {"scale",
     [](P p, size_t) -> ew::Op {
       return ew::Scale{p[0], kFactor};
     },
     [](A a, size_t i, size_t) { a[0][i] *= as_double(kFactor); }},

    {"add",
     [](P p, size_t) -> ew::Op {
       return ew::Add{p[0], p[1], p[2]};
     },
     [](A a, size_t i, size_t) { a[2][i] = a[0][i] + a[1][i]; }},
    {"add scaled",
     [](P p, size_t) -> ew::Op {
       return ew::AddScaled{p[0], p[1], kFactor};
     },
     [](A a, size_t i, size_t) { a[1][i] = (a[1][i] + a[0][i]) * as_double(kFactor); }},

    {"relu backward",
     [](P p, size_t) -> ew::Op {
       return ew::ReluBackward{p[0], p[1]};
     },
     [](A a, size_t i, size_t) { a[1][i] = a[0][i] > 0 ? a[1][i] : 0; }},
    {"leaky relu",
     [](P p, size_t) -> ew::Op {
       return ew::LeakyRelu{p[0], kSlope};
     },
     [](A a, size_t i, size_t) { leaky(a[0][i], a[0][i]); }},
    {"leaky relu backward",
     [](P p, size_t) -> ew::Op {
       return ew::LeakyReluBackward{p[0], p[1], kSlope};
     },
     [](A a, size_t i, size_t) { leaky(a[1][i], a[0][i]); }},

    {"gelu",
     [](P p, size_t) -> ew::Op {
       return ew::GeluForward{p[0], p[1]};
     },
     [](A a, size_t i, size_t) { a[1][i] = gelu(a[0][i]); }},
    {"gelu backward",
     [](P p, size_t) -> ew::Op {
       return ew::GeluBackward{p[0], p[1]};
     },
     [](A a, size_t i, size_t) { a[1][i] *= gelu_derivative(a[0][i]); }},

    {"tanh", [](P p, size_t) -> ew::Op { return ew::Tanh{p[0]}; },
     [](A a, size_t i, size_t) { a[0][i] = std::tanh(a[0][i]); }},
    {"tanh backward",
     [](P p, size_t) -> ew::Op {
       return ew::TanhBackward{p[0], p[1]};
     },
     [](A a, size_t i, size_t) { a[1][i] *= 1 - a[0][i] * a[0][i]; }},

    {"binary cross entropy",
     [](P p, size_t n) -> ew::Op {
       return ew::BinaryCrossEntropy{p[0], p[1], p[4], n / 3, kFactor};
     },
     binary_cross_entropy},

    {"sgd",
     [](P p, size_t) -> ew::Op {
       return ew::SgdUpdate{p[0], p[1], kRate, kDecay};
     },
     [](A a, size_t i, size_t) {
       a[0][i] -= as_double(kRate) * (a[1][i] + as_double(kDecay) * a[0][i]);
     }},
    {"adamw",
     [](P p, size_t) -> ew::Op {
       return ew::AdamWUpdate{p[0],   p[1],   p[2],         p[3],         kRate,       kDecay,
                              kBeta1, kBeta2, kAdamEpsilon, kCorrection1, kCorrection2};
     },
     adamw},
};

Arrays start(size_t n) {
  Arrays arrays;
  for (uint64_t seed = 0; seed < 4; ++seed) arrays.push_back(random_array(n, seed, 2));
  for (float& value : arrays[3]) value = std::fabs(value);
  arrays.push_back(unwritten(2 * n));
  return arrays;
}

/// `pieces`: launches that share the elements.
KernelCase element_case(ElementOp const& op, size_t n, size_t pieces) {
  KernelCase c;
  c.name = std::string(op.name) + " of " + std::to_string(n) + " in " + std::to_string(pieces);
  c.elements = n;
  c.arrays = [n] { return start(n); };

  c.kernels = [=](Pointers const& p) {
    for (size_t piece = 0; piece < pieces; ++piece)
      workloads::cuda::run_elements(nullptr, op.make(p, n), n * piece / pieces,
                                    n * (piece + 1) / pieces);
  };
  c.host = [=](workloads::Device& device, Pointers const& p) {
    device.run("op", op.make(p, n), n);
  };
  c.exact = [=](std::vector<Values>& a) {
    for (size_t i = 0; i < n; ++i) op.exact(a, i, n);
  };
  return c;
}

}  // namespace

std::vector<KernelCase> elementwise_cases() {
  // A grid has 4,096 blocks of 256 threads at most, so some threads take two elements.
  std::vector<KernelCase> cases = {element_case(kOps[2], 4096 * 256 + 300, 1)};

  for (ElementOp const& op : kOps) {
    for (size_t const n : {1U, 31U, 256U, 257U, 3'003U}) cases.push_back(element_case(op, n, 1));
    cases.push_back(element_case(op, 771, 3));
  }
  return cases;
}

}  // namespace stepscope::cuda_emulation
