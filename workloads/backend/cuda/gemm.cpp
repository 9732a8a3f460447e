// Planning and running products by cuBLASLt; see gemm.h.
#include "workloads/backend/cuda/gemm.h"

#include <algorithm>

namespace stepscope::workloads::cuda {
namespace {

constexpr size_t kWorkspaceBytes = size_t{32}
                                   << 20U;  // what cuBLAS' documentation recommends for Hopper

size_t floats_of_a(MatMulShape const& s) { return static_cast<size_t>(s.batch * s.m * s.k); }
size_t floats_of_b(MatMulShape const& s) { return static_cast<size_t>(s.batch * s.k * s.n); }

cublasLtEpilogue_t epilogue_of(Gemm::After after) {
  switch (after) {
    case Gemm::After::kBias:
      return CUBLASLT_EPILOGUE_BIAS;
    case Gemm::After::kBiasRelu:
      return CUBLASLT_EPILOGUE_RELU_BIAS;
    case Gemm::After::kNothing:
      break;
  }
  return CUBLASLT_EPILOGUE_DEFAULT;
}

bool is_aligned(void const* data, uint32_t alignment) {
  return reinterpret_cast<uintptr_t>(data) % alignment == 0;
}

}  // namespace

Expected<std::unique_ptr<Gemm>> Gemm::create(CudaDevice& device, std::string_view name,
                                             MatMulShape const& shape, After after) {
  device.activate();
  std::unique_ptr<Gemm> gemm(new Gemm(device, shape));
  bool const tf32 = device.precision() == Precision::kTf32;

  // A shape that has no bfloat16 algorithm is computed in the next better precision.
  bool planned =
      device.precision() == Precision::kBf16 && gemm->plan(CUBLAS_COMPUTE_32F, CUDA_R_16BF, after);
  if (!planned)
    planned =
        gemm->plan(tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F, after);

  if (!planned) {
    return base::fail_unsupported("{}: {}: cuBLASLt has no algorithm for {}, use another --batch",
                                  device.name(), name, gemm->describe());
  }

  size_t const copies = gemm->bf16_ ? Arena::aligned(floats_of_a(shape) * sizeof(Bf16)) +
                                          floats_of_b(shape) * sizeof(Bf16)
                                    : 0;
  auto const reserved =
      device.reserve_workspace(kWorkspaceBytes + copies, fmt::format("{}.workspace", name));
  if (!reserved) return base::fail_with(reserved);

  return gemm;
}

Gemm::~Gemm() { clear(); }

void Gemm::clear() {
  for (cublasLtMatrixLayout_t* const layout : {&a_, &b_, &c_}) {
    if (*layout != nullptr) lt_.destroy_layout(*layout);
    *layout = nullptr;
  }
  if (product_ != nullptr) lt_.destroy_product(product_);
  product_ = nullptr;
}

std::string Gemm::describe() const {
  return fmt::format("{} x [{} x {}] · [{} x {}]{}{}", shape_.batch, shape_.m, shape_.k, shape_.k,
                     shape_.n, shape_.transpose_a ? ", first transposed" : "",
                     shape_.transpose_b ? ", second transposed" : "");
}

/// `rows` × `columns` as stored, row-major: columns × rows in cuBLASLt's order.
bool Gemm::make_layout(cublasLtMatrixLayout_t& layout, cudaDataType_t type, int64_t rows,
                       int64_t columns) const {
  auto const height = static_cast<uint64_t>(columns), width = static_cast<uint64_t>(rows);
  if (lt_.create_layout(&layout, type, height, width, columns) != CUBLAS_STATUS_SUCCESS)
    return false;

  auto const count = static_cast<int32_t>(shape_.batch);
  int64_t const stride = rows * columns;
  return lt_.set_layout(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count) ==
             CUBLAS_STATUS_SUCCESS &&
         lt_.set_layout(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                        sizeof stride) == CUBLAS_STATUS_SUCCESS;
}

bool Gemm::plan(cublasComputeType_t compute, cudaDataType_t inputs, After after) {
  clear();
  MatMulShape const& s = shape_;
  if (lt_.create_product(&product_, compute, CUDA_R_32F) != CUBLAS_STATUS_SUCCESS) return false;

  // cuBLASLt's first operand is our b.
  auto const first = static_cast<int32_t>(s.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  auto const second = static_cast<int32_t>(s.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  auto const epilogue = static_cast<uint32_t>(epilogue_of(after));

  bool const described =
      lt_.set_product(product_, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first) ==
          CUBLAS_STATUS_SUCCESS &&
      lt_.set_product(product_, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second) ==
          CUBLAS_STATUS_SUCCESS &&
      lt_.set_product(product_, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue) ==
          CUBLAS_STATUS_SUCCESS &&
      make_layout(a_, inputs, s.transpose_a ? s.k : s.m, s.transpose_a ? s.m : s.k) &&
      make_layout(b_, inputs, s.transpose_b ? s.n : s.k, s.transpose_b ? s.k : s.n) &&
      make_layout(c_, CUDA_R_32F, s.m, s.n);
  if (!described) return false;

  bf16_ = inputs == CUDA_R_16BF;
  adds_bias_ = after != After::kNothing;

  for (size_t i = 0; i < kAlignments.size(); ++i) {
    // Converted inputs lie in the workspace, aligned.
    algorithms_[i] = find(kAlignments[i], bf16_ ? kAlignments.front() : kAlignments[i]);
  }

  // The last one fits every array.
  return algorithms_.back().has_value();
}

std::optional<Gemm::Algorithm> Gemm::find(uint32_t alignment, uint32_t input_alignment) const {
  cublasLtMatmulPreference_t preference = nullptr;
  if (lt_.create_preference(&preference) != CUBLAS_STATUS_SUCCESS) return std::nullopt;

  auto const set = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto const& value) {
    lt_.set_preference(preference, attribute, &value, sizeof value);
  };

  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t{kWorkspaceBytes});
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, input_alignment);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, input_alignment);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment);

  if (adds_bias_) {  // any address: cuBLASLt finds nothing without one
    float const* const example = device_.scratch().data;
    lt_.set_product(product_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &example, sizeof example);
  }

  cublasLtMatmulHeuristicResult_t best = {};
  int count = 0;
  auto const status =
      lt_.find_algorithm(device_.cublas(), product_, b_, a_, c_, c_, preference, 1, &best, &count);
  lt_.destroy_preference(preference);

  if (status != CUBLAS_STATUS_SUCCESS || count == 0 || best.state != CUBLAS_STATUS_SUCCESS)
    return std::nullopt;
  return Algorithm{best.algo, best.workspaceSize};
}

Expected<void> Gemm::run(cudaStream_t stream, float const* a, float const* b, float* c,
                         float const* bias) {
  auto* const workspace = static_cast<std::byte*>(device_.workspace());
  void const *from_a = a, *from_b = b;

  if (bf16_) {
    auto* const converted_a = reinterpret_cast<Bf16*>(workspace + kWorkspaceBytes);
    auto* const converted_b =
        converted_a + Arena::aligned(floats_of_a(shape_) * sizeof(Bf16)) / sizeof(Bf16);
    to_bf16(stream, a, converted_a, floats_of_a(shape_));
    to_bf16(stream, b, converted_b, floats_of_b(shape_));
    from_a = converted_a;
    from_b = converted_b;
  }

  if (bias != nullptr)
    lt_.set_product(product_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);

  uint32_t const most = kAlignments.front();
  bool const aligned = is_aligned(from_a, most) && is_aligned(from_b, most) &&
                       is_aligned(c, most) && is_aligned(bias, most);
  Algorithm const& chosen =
      aligned && algorithms_.front() ? *algorithms_.front() : *algorithms_.back();

  auto const status =
      lt_.multiply(device_.cublas(), product_, &shape_.alpha, from_b, b_, from_a, a_, &shape_.beta,
                   c, c_, c, c_, &chosen.algorithm, workspace, chosen.workspace_bytes, stream);

  if (status == CUBLAS_STATUS_SUCCESS) return {};
  return base::fail("cuBLASLt: {}, run again with CUBLASLT_LOG_LEVEL=2 to see why",
                    lt_.status_string(status));
}

}  // namespace stepscope::workloads::cuda
