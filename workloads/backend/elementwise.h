// Element-wise operations, written once: functors that a backend calls for every element, in a loop
// (host) or as a kernel (CUDA). A new operation is a struct here and its name in the list at the
// end; no backend changes.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <variant>

#if defined(__CUDACC__)
#define STEPSCOPE_BOTH __host__ __device__
#else
#define STEPSCOPE_BOTH
#endif

namespace stepscope::workloads::elementwise {

// kBytes and kFlops: of one element, what it has to read and write and to compute at least.

struct Fill {
  static constexpr int kBytes = 4, kFlops = 0;
  float* y;
  float value;
  STEPSCOPE_BOTH void operator()(size_t i) const { y[i] = value; }
};

struct Copy {
  static constexpr int kBytes = 8, kFlops = 0;
  float const* x;
  float* y;
  STEPSCOPE_BOTH void operator()(size_t i) const { y[i] = x[i]; }
};

/// y ← y · factor
struct Scale {
  static constexpr int kBytes = 8, kFlops = 1;
  float* y;
  float factor;
  STEPSCOPE_BOTH void operator()(size_t i) const { y[i] *= factor; }
};

/// y ← (y + x) · scale
struct AddScaled {
  static constexpr int kBytes = 12, kFlops = 2;
  float const* x;
  float* y;
  float scale;
  STEPSCOPE_BOTH void operator()(size_t i) const { y[i] = (y[i] + x[i]) * scale; }
};

/// dy ← dy where y > 0, else 0.
struct ReluBackward {
  static constexpr int kBytes = 12, kFlops = 1;
  float const* y;
  float* dy;
  STEPSCOPE_BOTH void operator()(size_t i) const { dy[i] = y[i] > 0.0F ? dy[i] : 0.0F; }
};

/// y ← a + b; the arrays may be the same.
struct Add {
  static constexpr int kBytes = 12, kFlops = 1;
  float const *a, *b;
  float* y;
  STEPSCOPE_BOTH void operator()(size_t i) const { y[i] = a[i] + b[i]; }
};

/// Half of the argument that GELU's logistic function takes, and its derivative: u = √(2/π) · (x +
/// 0.044715 · x³).
struct GeluArgument {
  float u, du;
  STEPSCOPE_BOTH explicit GeluArgument(float x)
      : u(0.7978845608F * (x + 0.044715F * x * x * x)),
        du(0.7978845608F * (1.0F + 0.134145F * x * x)) {}
};

/// y ← ½ · x · (1 + tanh u), the tanh form of GELU (Hendrycks, Gimpel, arXiv 1606.08415), written
/// as x · σ(2u): the same function, and exp costs less than tanh.
struct GeluForward {
  static constexpr int kBytes = 8, kFlops = 12;
  float const* x;
  float* y;
  STEPSCOPE_BOTH void operator()(size_t i) const {
    y[i] = x[i] / (1.0F + std::exp(-2.0F * GeluArgument(x[i]).u));
  }
};

/// dy ← dy · GELU'(x)
struct GeluBackward {
  static constexpr int kBytes = 12, kFlops = 20;
  float const* x;
  float* dy;
  STEPSCOPE_BOTH void operator()(size_t i) const {
    GeluArgument const argument(x[i]);
    float const s = 1.0F / (1.0F + std::exp(-2.0F * argument.u));
    dy[i] *= s + x[i] * s * (1.0F - s) * 2.0F * argument.du;
  }
};

/// y ← y where positive, else slope · y.
struct LeakyRelu {
  static constexpr int kBytes = 8, kFlops = 1;
  float* y;
  float slope;
  STEPSCOPE_BOTH void operator()(size_t i) const { y[i] = y[i] > 0.0F ? y[i] : slope * y[i]; }
};

/// dy ← dy where LeakyRelu's output y is positive, else slope · dy. The slope must be positive.
struct LeakyReluBackward {
  static constexpr int kBytes = 12, kFlops = 1;
  float const* y;
  float* dy;
  float slope;
  STEPSCOPE_BOTH void operator()(size_t i) const { dy[i] = y[i] > 0.0F ? dy[i] : slope * dy[i]; }
};

/// y ← tanh(y)
struct Tanh {
  static constexpr int kBytes = 8, kFlops = 10;
  float* y;
  STEPSCOPE_BOTH void operator()(size_t i) const { y[i] = std::tanh(y[i]); }
};

/// dy ← dy · (1 − y²) with Tanh's output y.
struct TanhBackward {
  static constexpr int kBytes = 12, kFlops = 3;
  float const* y;
  float* dy;
  STEPSCOPE_BOTH void operator()(size_t i) const { dy[i] *= 1.0F - y[i] * y[i]; }
};

/// The binary cross entropy of sigmoid(logit). The target is 1 for the first `ones` logits and else
/// 0. The form overflows nowhere: max(x, 0) − x · target + log(1 + exp(−|x|)). Results: d_logits =
/// (sigmoid − target) · scale; result[2i] = the loss, result[2i + 1] = 1 where the logit is on the
/// target's side of 0, else 0.
struct BinaryCrossEntropy {
  static constexpr int kBytes = 16, kFlops = 20;
  float const* logits;
  float* d_logits;
  float* result;
  size_t ones;
  float scale;
  STEPSCOPE_BOTH void operator()(size_t i) const {
    float const x = logits[i];
    float const target = i < ones ? 1.0F : 0.0F;
    float const small = std::exp(-std::fabs(x));  // at most 1
    float const sigmoid = (x < 0.0F ? small : 1.0F) / (1.0F + small);
    d_logits[i] = (sigmoid - target) * scale;
    result[2 * i] = (x > 0.0F ? x : 0.0F) - x * target + std::log1p(small);
    result[2 * i + 1] = (x > 0.0F) == (i < ones) ? 1.0F : 0.0F;
  }
};

/// weights ← weights − rate · (gradients + decay · weights)
struct SgdUpdate {
  static constexpr int kBytes = 12, kFlops = 4;
  float* weights;
  float const* gradients;
  float rate, decay;
  STEPSCOPE_BOTH void operator()(size_t i) const {
    weights[i] -= rate * (gradients[i] + decay * weights[i]);
  }
};

/// Adam with decoupled weight decay (Loshchilov, Hutter, ICLR 2019). correction1 = 1 − beta1ᵗ,
/// correction2 = 1 − beta2ᵗ in step t, counted from 1.
struct AdamWUpdate {
  static constexpr int kBytes = 28, kFlops = 14;
  float* weights;
  float const* gradients;
  float *mean, *square;
  float rate, decay, beta1, beta2, epsilon, correction1, correction2;
  STEPSCOPE_BOTH void operator()(size_t i) const {
    float const g = gradients[i];
    mean[i] = beta1 * mean[i] + (1.0F - beta1) * g;
    square[i] = beta2 * square[i] + (1.0F - beta2) * g * g;
    float const step = (mean[i] / correction1) / (std::sqrt(square[i] / correction2) + epsilon);
    weights[i] -= rate * (step + decay * weights[i]);
  }
};

/// THE list of element-wise operations.
using Op = std::variant<Fill, Copy, Scale, Add, AddScaled, ReluBackward, LeakyRelu,
                        LeakyReluBackward, GeluForward, GeluBackward, Tanh, TanhBackward,
                        BinaryCrossEntropy, SgdUpdate, AdamWUpdate>;

}  // namespace stepscope::workloads::elementwise
