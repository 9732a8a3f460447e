// Convolution layer of the host backend over oneDNN. Images stay channels-last; packing the weights
// is part of the operation.
#include <string>
#include <utility>

#include "workloads/backend/host/onednn.h"

namespace stepscope::workloads::host {
namespace {

using Forward = dnnl::convolution_forward;
using BackwardData = dnnl::convolution_backward_data;
using BackwardWeights = dnnl::convolution_backward_weights;

struct ConvolutionPlan {
  Forward::primitive_desc forward;
  BackwardData::primitive_desc data;
  BackwardWeights::primitive_desc weights;
  dnnl::memory::desc x, y, plain_weights, bias;
};

ConvolutionPlan plan_convolution(dnnl::engine const& engine, Conv2dShape const& s) {
  ConvolutionPlan p;
  p.x = images(s.batch, s.height, s.width, s.in_channels);
  p.y = images(s.batch, s.out_height(), s.out_width(), s.out_channels);
  p.bias = vector_of(s.out_channels);

  dnnl::memory::dims const dims = {s.out_channels, s.in_channels, s.kernel, s.kernel};
  p.plain_weights = {dims, dnnl::memory::data_type::f32, dnnl::memory::format_tag::ohwi};

  dnnl::memory::desc const any = any_layout(dims);
  dnnl::memory::dims const stride = {s.stride, s.stride};
  dnnl::memory::dims const pad = {s.padding, s.padding};

  auto const direct = dnnl::algorithm::convolution_auto;
  auto const plain_attributes = workspace_attributes(false);

  p.forward =
      describe<Forward>(engine, workspace_attributes(s.relu), dnnl::prop_kind::forward_training,
                        direct, p.x, any, p.bias, p.y, stride, pad, pad);
  p.data = describe_backward<BackwardData>(engine, plain_attributes, p.forward, direct, p.x, any,
                                           p.y, stride, pad, pad);
  p.weights = describe_backward<BackwardWeights>(engine, plain_attributes, p.forward, direct, p.x,
                                                 any, p.bias, p.y, stride, pad, pad);

  return p;
}

class HostConv2d final : public Conv2d {
 public:
  HostConv2d(HostDevice& device, std::string_view name, Conv2dShape const& shape,
             ConvolutionPlan plan, PackedWeights forward_weights, PackedWeights data_weights,
             PackedWeights gradient)
      : device_(device),
        forward_name_(fmt::format("{}{}", name, shape.forward_suffix())),
        data_name_(fmt::format("{}{}", name, shape.backward_data_suffix())),
        weights_name_(fmt::format("{}.backward.weights", name)),
        plan_(std::move(plan)),
        forward_(plan_.forward),
        data_(plan_.data),
        backward_weights_(plan_.weights),
        forward_weights_(std::move(forward_weights)),
        data_weights_(std::move(data_weights)),
        gradient_(std::move(gradient)) {
    auto const outputs = static_cast<double>(shape.batch * shape.out_height() * shape.out_width() *
                                             shape.out_channels);

    flops_ = 2.0 * outputs * static_cast<double>(shape.kernel * shape.kernel * shape.in_channels);
    bytes_ = plan_.x.get_size() + plan_.y.get_size() + plan_.plain_weights.get_size();
  }

  void forward(float const* x, float const* weights, float const* bias, float* y) override {
    device_.launch_kernel(forward_name_.c_str(), flops_, bytes_, [=, this] {
      run(forward_, plan_.forward.scratchpad_desc(),
          {{DNNL_ARG_SRC, tensor(device_, plan_.x, x)},
           {DNNL_ARG_WEIGHTS, forward_weights_.pack(weights)},
           {DNNL_ARG_BIAS, tensor(device_, plan_.bias, bias)},
           {DNNL_ARG_DST, tensor(device_, plan_.y, y)}});
    });
  }
  void backward_data(float const* dy, float const* weights, float* dx) override {
    device_.launch_kernel(data_name_.c_str(), flops_, bytes_, [=, this] {
      run(data_, plan_.data.scratchpad_desc(),
          {{DNNL_ARG_DIFF_DST, tensor(device_, plan_.y, dy)},
           {DNNL_ARG_WEIGHTS, data_weights_.pack(weights)},
           {DNNL_ARG_DIFF_SRC, tensor(device_, plan_.x, dx)}});
    });
  }
  void backward_weights(float const* x, float const* dy, float* d_weights, float* d_bias) override {
    device_.launch_kernel(weights_name_.c_str(), flops_, bytes_, [=, this] {
      run(backward_weights_, plan_.weights.scratchpad_desc(),
          {{DNNL_ARG_SRC, tensor(device_, plan_.x, x)},
           {DNNL_ARG_DIFF_DST, tensor(device_, plan_.y, dy)},
           {DNNL_ARG_DIFF_WEIGHTS, gradient_.target(d_weights)},
           {DNNL_ARG_DIFF_BIAS, tensor(device_, plan_.bias, d_bias)}});
      gradient_.unpack(d_weights);
    });
  }

 private:
  void run(dnnl::primitive const& primitive, dnnl::memory::desc const& scratch,
           Arguments arguments) {
    arguments.emplace(DNNL_ARG_SCRATCHPAD, tensor(device_, scratch, device_.workspace()));
    primitive.execute(device_.math(), arguments);
  }

  HostDevice& device_;
  std::string forward_name_, data_name_, weights_name_;
  ConvolutionPlan plan_;
  Forward forward_;
  BackwardData data_;
  BackwardWeights backward_weights_;
  PackedWeights forward_weights_, data_weights_, gradient_;
  double flops_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace

Expected<std::unique_ptr<Conv2d>> HostDevice::conv2d(std::string_view name,
                                                     Conv2dShape const& shape) {
  auto made = plan(*this, name, [&] { return plan_convolution(engine_, shape); });
  if (!made) return base::fail_with(made);

  std::string const owner = fmt::format("{}.workspace", name);
  size_t const scratch =
      std::max({made->forward.scratchpad_desc().get_size(), made->data.scratchpad_desc().get_size(),
                made->weights.scratchpad_desc().get_size()});
  if (auto reserved = reserve_workspace(scratch, owner); !reserved)
    return base::fail_with(reserved);

  auto result = plan(*this, name, [&]() -> Expected<std::unique_ptr<Conv2d>> {
    auto forward =
        PackedWeights::create(*this, made->plain_weights, made->forward.weights_desc(), owner);
    if (!forward) return base::fail_with(forward);
    auto data = PackedWeights::create(*this, made->plain_weights, made->data.weights_desc(), owner);
    if (!data) return base::fail_with(data);
    auto gradient =
        PackedWeights::create(*this, made->plain_weights, made->weights.diff_weights_desc(), owner);
    if (!gradient) return base::fail_with(gradient);
    return std::make_unique<HostConv2d>(*this, name, shape, std::move(*made), std::move(*forward),
                                        std::move(*data), std::move(*gradient));
  });

  if (!result) return base::fail_with(result);
  return std::move(*result);
}

}  // namespace stepscope::workloads::host
