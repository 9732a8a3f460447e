// Batched matrix product of the host backend over oneDNN's matmul.
#include <string>
#include <utility>

#include "workloads/backend/host/onednn.h"

namespace stepscope::workloads::host {
namespace {

using Dims = dnnl::memory::dims;

/// `count` matrices of rows × columns as the product sees them, stored transposed where asked.
dnnl::memory::desc matrices(int64_t count, int64_t rows, int64_t columns, bool transposed) {
  Dims const strides =
      transposed ? Dims{rows * columns, 1, rows} : Dims{rows * columns, columns, 1};
  return {{count, rows, columns}, dnnl::memory::data_type::f32, strides};
}

struct MatMulPlan {
  dnnl::memory::desc a, b, c;
  dnnl::matmul::primitive_desc product;
};

MatMulPlan plan_matmul(dnnl::engine const& engine, MatMulShape const& s) {
  MatMulPlan p;
  p.a = matrices(s.batch, s.m, s.k, s.transpose_a);
  p.b = matrices(s.batch, s.k, s.n, s.transpose_b);
  p.c = matrices(s.batch, s.m, s.n, false);

  dnnl::primitive_attr attributes = workspace_attributes(false);
  dnnl::post_ops after;
  if (s.alpha != 1.0F) scale_result(attributes, after, s.alpha);
  if (s.beta != 0.0F) after.append_sum(s.beta);
  attributes.set_post_ops(after);

  p.product = describe<dnnl::matmul>(engine, attributes, p.a, p.b, p.c);
  return p;
}

class HostMatMul final : public MatMul {
 public:
  HostMatMul(HostDevice& device, std::string_view name, MatMulShape const& s, MatMulPlan plan)
      : device_(device),
        name_(name),
        plan_(std::move(plan)),
        product_(plan_.product),
        flops_(2.0 * static_cast<double>(s.batch * s.m * s.n) * static_cast<double>(s.k)),
        bytes_(plan_.a.get_size() + plan_.b.get_size() + plan_.c.get_size()) {}

  void run(float const* a, float const* b, float* c) override {
    device_.launch_kernel(name_.c_str(), flops_, bytes_, [=, this] {
      product_.execute(device_.math(),
                       {{DNNL_ARG_SRC, tensor(device_, plan_.a, a)},
                        {DNNL_ARG_WEIGHTS, tensor(device_, plan_.b, b)},
                        {DNNL_ARG_DST, tensor(device_, plan_.c, c)},
                        {DNNL_ARG_SCRATCHPAD,
                         tensor(device_, plan_.product.scratchpad_desc(), device_.workspace())}});
    });
  }

 private:
  HostDevice& device_;
  std::string name_;
  MatMulPlan plan_;
  dnnl::matmul product_;
  double flops_;
  uint64_t bytes_;
};

}  // namespace

Expected<std::unique_ptr<MatMul>> HostDevice::matmul(std::string_view name,
                                                     MatMulShape const& shape) {
  auto made = plan(*this, name, [&] { return plan_matmul(engine_, shape); });
  if (!made) return base::fail_with(made);
  size_t const scratch = made->product.scratchpad_desc().get_size();
  if (auto reserved = reserve_workspace(scratch, fmt::format("{}.workspace", name)); !reserved)
    return base::fail_with(reserved);
  return plan(*this, name, [&]() -> std::unique_ptr<MatMul> {
    return std::make_unique<HostMatMul>(*this, name, shape, *made);
  });
}

}  // namespace stepscope::workloads::host
