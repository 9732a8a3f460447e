// The transpose of a convolution (often called deconvolution): what the convolution's backward pass
// does with gradients, done with activations. From the convolution's output size to its input size:
// with stride 2 images grow to twice their side. Made of a Conv2d, so that every backend has it:
// forward is its backward_data, backward_data its forward.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "workloads/backend/backend.h"

namespace stepscope::workloads {

class TransposedConv2d {
 public:
  /// `shape`: of the convolution. x is [batch][out_height][out_width][out_channels], y
  /// [batch][height][width][in_channels], weights [out_channels][kernel row][kernel
  /// column][in_channels], bias [in_channels]. Errors: those of Device::conv2d, out of memory.
  static base::Expected<std::unique_ptr<TransposedConv2d>> create(Device& device,
                                                                  std::string_view name,
                                                                  Conv2dShape shape);

  void forward(float const* x, float const* weights, float const* bias, float* y);
  void backward_data(float const* dy, float const* weights, float* dx);
  void backward_weights(float const* x, float const* dy, float* d_weights, float* d_bias);

 private:
  TransposedConv2d(Device& device, std::string_view name, Conv2dShape const& shape,
                   std::unique_ptr<Conv2d> convolution, Buffer no_bias, Buffer unused);
  [[nodiscard]] int64_t rows() const { return shape_.batch * shape_.height * shape_.width; }

  Device& device_;
  std::string bias_name_, bias_gradient_name_;
  Conv2dShape shape_;
  std::unique_ptr<Conv2d> convolution_;
  Buffer no_bias_;  ///< zeros: gradients have no bias
  Buffer unused_;   ///< what the convolution takes for the gradient of its bias
};

}  // namespace stepscope::workloads
