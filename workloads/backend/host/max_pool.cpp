// Max-pool layer of the host backend over oneDNN; the positions of the maxima are kept in device
// memory for the backward pass.
#include <string>
#include <utility>

#include "workloads/backend/host/onednn.h"

namespace stepscope::workloads::host {
namespace {

using Forward = dnnl::pooling_forward;
using Backward = dnnl::pooling_backward;

struct PoolPlan {
  Forward::primitive_desc forward;
  Backward::primitive_desc backward;
  dnnl::memory::desc x, y;
};

PoolPlan plan_pool(dnnl::engine const& engine, MaxPoolShape const& s) {
  PoolPlan p;
  p.x = images(s.batch, s.height, s.width, s.channels);
  p.y = images(s.batch, s.out_height(), s.out_width(), s.channels);

  // "Same" padding puts the smaller half in front.
  auto const missing = [&](int64_t in, int64_t out) {
    return std::max<int64_t>(0, (out - 1) * s.stride + s.window - in);
  };

  int64_t const rows = missing(s.height, s.out_height());
  int64_t const columns = missing(s.width, s.out_width());
  MaxPoolWindows const windows{p.x,
                               p.y,
                               {s.stride, s.stride},
                               {s.window, s.window},
                               {rows / 2, columns / 2},
                               {rows - rows / 2, columns - columns / 2}};

  auto const attributes = workspace_attributes(false);
  p.forward = describe_max_pool(engine, attributes, windows);
  p.backward = describe_max_pool_backward(engine, attributes, p.forward, windows);
  return p;
}

class HostMaxPool final : public MaxPool {
 public:
  HostMaxPool(HostDevice& device, std::string_view name, PoolPlan plan, Buffer positions)
      : device_(device),
        forward_name_(fmt::format("{}.forward", name)),
        backward_name_(fmt::format("{}.backward", name)),
        plan_(std::move(plan)),
        forward_(plan_.forward),
        backward_(plan_.backward),
        positions_(std::move(positions)),
        bytes_(plan_.x.get_size() + plan_.y.get_size() + positions_.bytes()) {}

  void forward(float const* x, float* y) override {
    device_.launch_kernel(forward_name_.c_str(), 0.0, bytes_, [=, this] {
      forward_.execute(
          device_.math(),
          {{DNNL_ARG_SRC, tensor(device_, plan_.x, x)},
           {DNNL_ARG_DST, tensor(device_, plan_.y, y)},
           {DNNL_ARG_WORKSPACE, tensor(device_, plan_.forward.workspace_desc(), positions_.data())},
           {DNNL_ARG_SCRATCHPAD,
            tensor(device_, plan_.forward.scratchpad_desc(), device_.workspace())}});
    });
  }
  void backward(float const* dy, float* dx) override {
    device_.launch_kernel(backward_name_.c_str(), 0.0, bytes_, [=, this] {
      backward_.execute(
          device_.math(),
          {{DNNL_ARG_DIFF_DST, tensor(device_, plan_.y, dy)},
           {DNNL_ARG_DIFF_SRC, tensor(device_, plan_.x, dx)},
           {DNNL_ARG_WORKSPACE, tensor(device_, plan_.forward.workspace_desc(), positions_.data())},
           {DNNL_ARG_SCRATCHPAD,
            tensor(device_, plan_.backward.scratchpad_desc(), device_.workspace())}});
    });
  }

 private:
  HostDevice& device_;
  std::string forward_name_, backward_name_;
  PoolPlan plan_;
  Forward forward_;
  Backward backward_;
  Buffer positions_;
  uint64_t bytes_;
};

}  // namespace

Expected<std::unique_ptr<MaxPool>> HostDevice::max_pool(std::string_view name,
                                                        MaxPoolShape const& shape) {
  auto made = plan(*this, name, [&] { return plan_pool(engine_, shape); });
  if (!made) return base::fail_with(made);

  size_t const scratch = std::max(made->forward.scratchpad_desc().get_size(),
                                  made->backward.scratchpad_desc().get_size());
  if (auto reserved = reserve_workspace(scratch, fmt::format("{}.workspace", name)); !reserved)
    return base::fail_with(reserved);

  auto positions = allocate(made->forward.workspace_desc().get_size(), MemoryPurpose::kActivations,
                            fmt::format("{}.positions", name));
  if (!positions) return base::fail_with(positions);

  return plan(*this, name, [&]() -> std::unique_ptr<MaxPool> {
    return std::make_unique<HostMaxPool>(*this, name, *made, std::move(*positions));
  });
}

}  // namespace stepscope::workloads::host
