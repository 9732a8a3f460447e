// The layers of the bundled networks: their shapes and what each computes. Made by a Device, which
// must outlive them; every call enqueues on the device's compute stream. Layouts: backend.h.
#pragma once

#include <cstdint>

namespace stepscope::workloads {

struct Conv2dShape {
  int64_t batch, height, width, in_channels, out_channels;
  int64_t kernel, padding;  ///< square kernel, `padding` zeros on every side
  bool relu;                ///< max(0, ·) on the output, inside the same operation
  int64_t stride = 1;       ///< in both directions
  /// For a layer that uses the convolution backwards (transposed_conv2d.h): its forward pass is
  /// backward_data here, and the other way round. Changes the operations' names and nothing else.
  bool transposed = false;

  [[nodiscard]] int64_t out_height() const { return (height + 2 * padding - kernel) / stride + 1; }
  [[nodiscard]] int64_t out_width() const { return (width + 2 * padding - kernel) / stride + 1; }
  /// Behind the layer's name: what a trace calls forward() and backward_data().
  [[nodiscard]] char const* forward_suffix() const {
    return transposed ? ".backward.data" : ".forward";
  }
  [[nodiscard]] char const* backward_data_suffix() const {
    return transposed ? ".forward" : ".backward.data";
  }
};
/// The gradients that backward_* take are those before the activation: apply Device::relu_backward
/// first where `relu` is set.
class Conv2d {
 public:
  virtual ~Conv2d() = default;
  virtual void forward(float const* x, float const* weights, float const* bias, float* y) = 0;
  virtual void backward_data(float const* dy, float const* weights, float* dx) = 0;
  virtual void backward_weights(float const* x, float const* dy, float* d_weights,
                                float* d_bias) = 0;
};

/// Square window; "same" padding: output = ceil(input / stride), padding (less at the front) never
/// wins.
struct MaxPoolShape {
  int64_t batch, height, width, channels;
  int64_t window, stride;

  [[nodiscard]] int64_t out_height() const { return (height + stride - 1) / stride; }
  [[nodiscard]] int64_t out_width() const { return (width + stride - 1) / stride; }
};
/// backward uses the positions that the last forward found.
class MaxPool {
 public:
  virtual ~MaxPool() = default;
  virtual void forward(float const* x, float* y) = 0;
  virtual void backward(float const* dy, float* dx) = 0;
};

/// Local response normalisation across channels: y_c = x_c · (bias + alpha · Σ_{|j−c| ≤ radius}
/// x_j²)^(−beta).
struct LrnShape {
  int64_t batch, height, width, channels;
  int64_t radius;
  float bias, alpha, beta;
};
/// backward is that of the last forward: it may use what that one kept.
class Lrn {
 public:
  virtual ~Lrn() = default;
  virtual void forward(float const* x, float* y) = 0;
  virtual void backward(float const* x, float const* dy, float* dx) = 0;
};

struct DenseShape {
  int64_t batch, inputs, outputs;
  bool relu;
};
/// y = x · weightsᵀ + bias, as Conv2d with regard to `relu`.
class Dense {
 public:
  virtual ~Dense() = default;
  virtual void forward(float const* x, float const* weights, float const* bias, float* y) = 0;
  virtual void backward_data(float const* dy, float const* weights, float* dx) = 0;
  virtual void backward_weights(float const* x, float const* dy, float* d_weights,
                                float* d_bias) = 0;
};

/// c[i] = alpha · op(a[i]) · op(b[i]) + beta · c[i] for i < batch. The matrices lie one behind the
/// other, row-major: op(a) is m × k, op(b) is k × n, c is m × n. Each op transposes where asked (a
/// is then stored as k × m, b as n × k).
struct MatMulShape {
  int64_t batch, m, n, k;
  bool transpose_a = false, transpose_b = false;
  float alpha = 1, beta = 0;
};
class MatMul {
 public:
  virtual ~MatMul() = default;
  virtual void run(float const* a, float const* b, float* c) = 0;
};

}  // namespace stepscope::workloads
