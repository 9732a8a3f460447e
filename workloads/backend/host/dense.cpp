// Fully connected layer of the host backend over oneDNN's inner product, weights in plain [out][in]
// layout throughout.
#include <string>
#include <utility>

#include "workloads/backend/host/onednn.h"

namespace stepscope::workloads::host {
namespace {

using Forward = dnnl::inner_product_forward;
using BackwardData = dnnl::inner_product_backward_data;
using BackwardWeights = dnnl::inner_product_backward_weights;

struct DensePlan {
  Forward::primitive_desc forward;
  BackwardData::primitive_desc data;
  BackwardWeights::primitive_desc weights;
  dnnl::memory::desc x, y, matrix, bias;
};

DensePlan plan_dense(dnnl::engine const& engine, DenseShape const& s) {
  DensePlan p;
  p.x = matrix(s.batch, s.inputs);
  p.y = matrix(s.batch, s.outputs);
  p.matrix = matrix(s.outputs, s.inputs);
  p.bias = vector_of(s.outputs);

  auto const plain = workspace_attributes(false);
  p.forward = describe<Forward>(engine, workspace_attributes(s.relu),
                                dnnl::prop_kind::forward_training, p.x, p.matrix, p.bias, p.y);
  p.data = describe_backward<BackwardData>(engine, plain, p.forward, p.x, p.matrix, p.y);
  p.weights =
      describe_backward<BackwardWeights>(engine, plain, p.forward, p.x, p.matrix, p.bias, p.y);

  return p;
}

class HostDense final : public Dense {
 public:
  HostDense(HostDevice& device, std::string_view name, DenseShape const& shape, DensePlan plan)
      : device_(device),
        forward_name_(fmt::format("{}.forward", name)),
        data_name_(fmt::format("{}.backward.data", name)),
        weights_name_(fmt::format("{}.backward.weights", name)),
        plan_(std::move(plan)),
        forward_(plan_.forward),
        data_(plan_.data),
        backward_weights_(plan_.weights),
        flops_(2.0 * static_cast<double>(shape.batch * shape.inputs * shape.outputs)),
        bytes_(plan_.x.get_size() + plan_.y.get_size() + plan_.matrix.get_size()) {}

  void forward(float const* x, float const* weights, float const* bias, float* y) override {
    device_.launch_kernel(forward_name_.c_str(), flops_, bytes_, [=, this] {
      run(forward_, plan_.forward.scratchpad_desc(),
          {{DNNL_ARG_SRC, tensor(device_, plan_.x, x)},
           {DNNL_ARG_WEIGHTS, tensor(device_, plan_.matrix, weights)},
           {DNNL_ARG_BIAS, tensor(device_, plan_.bias, bias)},
           {DNNL_ARG_DST, tensor(device_, plan_.y, y)}});
    });
  }
  void backward_data(float const* dy, float const* weights, float* dx) override {
    device_.launch_kernel(data_name_.c_str(), flops_, bytes_, [=, this] {
      run(data_, plan_.data.scratchpad_desc(),
          {{DNNL_ARG_DIFF_DST, tensor(device_, plan_.y, dy)},
           {DNNL_ARG_WEIGHTS, tensor(device_, plan_.matrix, weights)},
           {DNNL_ARG_DIFF_SRC, tensor(device_, plan_.x, dx)}});
    });
  }
  void backward_weights(float const* x, float const* dy, float* d_weights, float* d_bias) override {
    device_.launch_kernel(weights_name_.c_str(), flops_, bytes_, [=, this] {
      run(backward_weights_, plan_.weights.scratchpad_desc(),
          {{DNNL_ARG_SRC, tensor(device_, plan_.x, x)},
           {DNNL_ARG_DIFF_DST, tensor(device_, plan_.y, dy)},
           {DNNL_ARG_DIFF_WEIGHTS, tensor(device_, plan_.matrix, d_weights)},
           {DNNL_ARG_DIFF_BIAS, tensor(device_, plan_.bias, d_bias)}});
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
  DensePlan plan_;
  Forward forward_;
  BackwardData data_;
  BackwardWeights backward_weights_;
  double flops_;
  uint64_t bytes_;
};

}  // namespace

Expected<std::unique_ptr<Dense>> HostDevice::dense(std::string_view name, DenseShape const& shape) {
  auto made = plan(*this, name, [&] { return plan_dense(engine_, shape); });
  if (!made) return base::fail_with(made);

  size_t const scratch =
      std::max({made->forward.scratchpad_desc().get_size(), made->data.scratchpad_desc().get_size(),
                made->weights.scratchpad_desc().get_size()});
  if (auto reserved = reserve_workspace(scratch, fmt::format("{}.workspace", name)); !reserved)
    return base::fail_with(reserved);

  return plan(*this, name, [&]() -> std::unique_ptr<Dense> {
    return std::make_unique<HostDense>(*this, name, shape, *made);
  });
}

}  // namespace stepscope::workloads::host
