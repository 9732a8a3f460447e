// A planned product of row-major matrices by cuBLASLt, which counts in columns: the row-major c = a
// · b is its cᵀ = bᵀ · aᵀ. https://docs.nvidia.com/cuda/cublas/#cublasltmatmul
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string_view>

#include "workloads/backend/cuda/cuda_device.h"

namespace stepscope::workloads::cuda {

class Gemm {
 public:
  enum class After : uint8_t {
    kNothing,
    kBias,
    kBiasRelu
  };  ///< on c[i][j] with bias[j], inside the same operation

  /// Errors: cuBLASLt has no algorithm for the shape, out of memory. `device` must outlive the
  /// object.
  static Expected<std::unique_ptr<Gemm>> create(CudaDevice& device, std::string_view name,
                                                MatMulShape const& shape, After after);
  ~Gemm();
  Gemm(Gemm const&) = delete;
  Gemm& operator=(Gemm const&) = delete;

  /// `bias`: where create() was told of one; at a multiple of 16 bytes.
  Expected<void> run(cudaStream_t stream, float const* a, float const* b, float* c,
                     float const* bias = nullptr);
  [[nodiscard]] std::string describe() const;

 private:
  /// What the arrays' addresses are multiples of decides which algorithms can be used.
  static constexpr std::array<uint32_t, 2> kAlignments = {16, 4};
  struct Algorithm {
    cublasLtMatmulAlgo_t algorithm;
    size_t workspace_bytes;
  };

  Gemm(CudaDevice& device, MatMulShape const& shape)
      : device_(device), lt_(device.libraries().cublas), shape_(shape) {}
  /// False: no algorithm for arrays of type `inputs`.
  bool plan(cublasComputeType_t compute, cudaDataType_t inputs, After after);
  bool make_layout(cublasLtMatrixLayout_t& layout, cudaDataType_t type, int64_t rows,
                   int64_t columns) const;
  [[nodiscard]] std::optional<Algorithm> find(uint32_t alignment, uint32_t input_alignment) const;
  void clear();

  CudaDevice& device_;
  CublasLt const& lt_;
  MatMulShape shape_;
  bool adds_bias_ = false;
  bool bf16_ = false;  ///< the inputs are converted into the workspace
  cublasLtMatmulDesc_t product_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, c_ = nullptr;
  std::array<std::optional<Algorithm>, kAlignments.size()> algorithms_;
};

}  // namespace stepscope::workloads::cuda
