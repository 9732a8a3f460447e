// A convolution used backwards; see transposed_conv2d.h.
#include "workloads/networks/transposed_conv2d.h"

#include <utility>

namespace stepscope::workloads {

TransposedConv2d::TransposedConv2d(Device& device, std::string_view name, Conv2dShape const& shape,
                                   std::unique_ptr<Conv2d> convolution, Buffer no_bias,
                                   Buffer unused)
    : device_(device),
      bias_name_(fmt::format("{}.forward.bias", name)),
      bias_gradient_name_(fmt::format("{}.backward.bias", name)),
      shape_(shape),
      convolution_(std::move(convolution)),
      no_bias_(std::move(no_bias)),
      unused_(std::move(unused)) {
  device_.run("bias.zero", elementwise::Fill{no_bias_.floats(), 0.0F},
              static_cast<size_t>(shape_.out_channels));
}

base::Expected<std::unique_ptr<TransposedConv2d>> TransposedConv2d::create(Device& device,
                                                                           std::string_view name,
                                                                           Conv2dShape shape) {
  shape.relu = false;
  shape.transposed = true;
  auto convolution = device.conv2d(name, shape);
  if (!convolution) return base::fail_with(convolution);
  auto const bytes = static_cast<size_t>(shape.out_channels) * sizeof(float);
  std::string const owner = fmt::format("{}.no_bias", name);
  auto no_bias = device.allocate(bytes, MemoryPurpose::kOther, owner);
  if (!no_bias) return base::fail_with(no_bias);
  auto unused = device.allocate(bytes, MemoryPurpose::kOther, owner);
  if (!unused) return base::fail_with(unused);
  return std::unique_ptr<TransposedConv2d>(new TransposedConv2d(
      device, name, shape, std::move(*convolution), std::move(*no_bias), std::move(*unused)));
}

void TransposedConv2d::forward(float const* x, float const* weights, float const* bias, float* y) {
  convolution_->backward_data(x, weights, y);
  device_.run_rows(bias_name_.c_str(), rowwise::AddBias{shape_.in_channels, bias, y, 1.0F, false},
                   rows());
}

void TransposedConv2d::backward_data(float const* dy, float const* weights, float* dx) {
  convolution_->forward(dy, weights, no_bias_.floats(), dx);
}

void TransposedConv2d::backward_weights(float const* x, float const* dy, float* d_weights,
                                        float* d_bias) {
  // What is the output of this layer is the input of the convolution, and the other way round.
  convolution_->backward_weights(dy, x, d_weights, unused_.floats());
  device_.run_rows(bias_gradient_name_.c_str(),
                   rowwise::ChannelSum{rows(), shape_.in_channels, dy, d_bias}, shape_.in_channels);
}

}  // namespace stepscope::workloads
