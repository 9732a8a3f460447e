// Fully connected layers and batched matrix products of the CUDA backend, by cuBLASLt.
#include <string>
#include <utility>

#include "workloads/backend/cuda/gemm.h"

namespace stepscope::workloads::cuda {
namespace {

class CudaMatMul final : public MatMul {
 public:
  CudaMatMul(CudaDevice& device, std::string_view name, std::unique_ptr<Gemm> product)
      : device_(device), name_(name), product_(std::move(product)) {}
  void run(float const* a, float const* b, float* c) override {
    device_.launch(
        name_.c_str(), [this] { return product_->describe(); },
        [=, this](cudaStream_t stream) { return product_->run(stream, a, b, c); });
  }

 private:
  CudaDevice& device_;
  std::string name_;
  std::unique_ptr<Gemm> product_;
};

struct DenseGemms {
  std::unique_ptr<Gemm>
      fused;  ///< the forward product with bias and ReLU; null where cuBLASLt has none
  std::unique_ptr<Gemm> forward, data, weights;
};

/// cuBLASLt is told the alignment of matrices, not that of the bias: its kernels may read it in
/// vectors.
bool fits_vectors(float const* bias) { return reinterpret_cast<uintptr_t>(bias) % 16 == 0; }

class CudaDense final : public Dense {
 public:
  CudaDense(CudaDevice& device, std::string_view name, DenseShape const& shape, DenseGemms gemms)
      : device_(device),
        forward_name_(fmt::format("{}.forward", name)),
        data_name_(fmt::format("{}.backward.data", name)),
        weights_name_(fmt::format("{}.backward.weights", name)),
        shape_(shape),
        gemms_(std::move(gemms)) {}

  void forward(float const* x, float const* weights, float const* bias, float* y) override {
    launch(forward_name_, [=, this](cudaStream_t stream) {
      if (gemms_.fused != nullptr && fits_vectors(bias))
        return gemms_.fused->run(stream, x, weights, y, bias);
      auto done = gemms_.forward->run(stream, x, weights, y);
      if (done) add_bias(stream, y, bias, y, shape_.batch, shape_.outputs, shape_.relu);
      return done;
    });
  }
  void backward_data(float const* dy, float const* weights, float* dx) override {
    launch(data_name_,
           [=, this](cudaStream_t stream) { return gemms_.data->run(stream, dy, weights, dx); });
  }
  void backward_weights(float const* x, float const* dy, float* d_weights, float* d_bias) override {
    launch(weights_name_, [=, this](cudaStream_t stream) {
      sum_columns(stream, dy, shape_.batch, shape_.outputs, d_bias, device_.scratch());
      return gemms_.weights->run(stream, dy, x, d_weights);
    });
  }

 private:
  template <class Work>
  void launch(std::string const& name, Work const& work) {
    device_.launch(
        name.c_str(),
        [this] { return fmt::format("{} x {} → {}", shape_.batch, shape_.inputs, shape_.outputs); },
        work);
  }

  CudaDevice& device_;
  std::string forward_name_, data_name_, weights_name_;
  DenseShape shape_;
  DenseGemms gemms_;
};

}  // namespace

Expected<std::unique_ptr<MatMul>> CudaDevice::matmul(std::string_view name,
                                                     MatMulShape const& shape) {
  auto product = Gemm::create(*this, name, shape, Gemm::After::kNothing);
  if (!product) return base::fail_with(product);
  return std::make_unique<CudaMatMul>(*this, name, std::move(*product));
}

Expected<std::unique_ptr<Dense>> CudaDevice::dense(std::string_view name, DenseShape const& s) {
  DenseGemms gemms;
  MatMulShape const product = {1, s.batch, s.outputs, s.inputs, false, true};  // x · weightsᵀ
  auto fused =
      Gemm::create(*this, name, product, s.relu ? Gemm::After::kBiasRelu : Gemm::After::kBias);
  if (fused) gemms.fused = std::move(*fused);
  auto forward = Gemm::create(*this, name, product, Gemm::After::kNothing);
  auto data = Gemm::create(*this, name, {1, s.batch, s.inputs, s.outputs},
                           Gemm::After::kNothing);  // dy · weights
  // dyᵀ · x
  auto weights = Gemm::create(*this, name, {1, s.outputs, s.inputs, s.batch, true, false},
                              Gemm::After::kNothing);
  for (auto* const gemm : {&forward, &data, &weights}) {
    if (!*gemm) return base::fail_with(*gemm);
  }
  gemms.forward = std::move(*forward);
  gemms.data = std::move(*data);
  gemms.weights = std::move(*weights);
  return std::make_unique<CudaDense>(*this, name, s, std::move(gemms));
}

}  // namespace stepscope::workloads::cuda
