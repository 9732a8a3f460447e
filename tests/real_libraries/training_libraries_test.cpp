// cuDNN 9.19 and cuBLASLt 13 without a driver: descriptors and attributes as the backend makes
// them. Handles, heuristics and algorithms need a GPU.
#include <cstdint>
#include <optional>

#include <gtest/gtest.h>

#include "tests/real_libraries/real_library.h"
#include "workloads/backend/cuda/libraries.h"

namespace stepscope::real_libraries {
namespace {

constexpr size_t kPinnedCudnn = 91'900;
constexpr size_t kPinnedCublasMajor = 13;

/// A library's table of functions.
template <class Functions>
struct Opened {
  std::optional<RealLibrary> library;
  Functions functions;
};

#define STEPSCOPE_FIND_IN(member, name) \
  opened.functions.member = opened.library->function<decltype(&::name)>(#name);

Opened<workloads::cuda::Cudnn> open_cudnn(std::optional<RealLibrary> library) {
  Opened<workloads::cuda::Cudnn> opened{std::move(library), {}};
  if (opened.library) {
    STEPSCOPE_CUDNN_FUNCTIONS(STEPSCOPE_FIND_IN)
  }
  return opened;
}

Opened<workloads::cuda::CublasLt> open_cublas(std::optional<RealLibrary> library) {
  Opened<workloads::cuda::CublasLt> opened{std::move(library), {}};
  if (opened.library) {
    STEPSCOPE_CUBLASLT_FUNCTIONS(STEPSCOPE_FIND_IN)
  }
  return opened;
}
#undef STEPSCOPE_FIND_IN

TEST(RealCudnn, TakesTheDescriptorsOfTheBackend) {
  constexpr char const* kCudnn = "libcudnn.so.9";
  auto const real = open_cudnn(RealLibrary::of_toolkit(kCudnn));
  SKIP_WITHOUT(real.library, kCudnn);
  SKIP_UNLESS_VERSION(*real.library, real.functions.get_version(), kPinnedCudnn);

  auto const made = open_cudnn(RealLibrary::of_doubles(kCudnn));
  for (auto const* const opened : {&real, &made}) {
    if (!opened->library) continue;
    workloads::cuda::Cudnn const& dnn = opened->functions;
    SCOPED_TRACE(opened->library->path());

    cudnnTensorDescriptor_t tensor = nullptr;
    ASSERT_EQ(dnn.create_tensor(&tensor), CUDNN_STATUS_SUCCESS);
    for (cudnnDataType_t const type : {CUDNN_DATA_FLOAT, CUDNN_DATA_BFLOAT16})
      EXPECT_EQ(dnn.set_tensor(tensor, CUDNN_TENSOR_NHWC, type, 4, 3, 32, 32),
                CUDNN_STATUS_SUCCESS);
    EXPECT_NE(dnn.set_tensor(tensor, CUDNN_TENSOR_NHWC, CUDNN_DATA_FLOAT, 4, -3, 32, 32),
              CUDNN_STATUS_SUCCESS);

    cudnnFilterDescriptor_t filter = nullptr;
    ASSERT_EQ(dnn.create_filter(&filter), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(dnn.set_filter(filter, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NHWC, 64, 3, 5, 5),
              CUDNN_STATUS_SUCCESS);

    cudnnConvolutionDescriptor_t convolution = nullptr;
    ASSERT_EQ(dnn.create_convolution(&convolution), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(dnn.set_convolution(convolution, 2, 2, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION,
                                  CUDNN_DATA_FLOAT),
              CUDNN_STATUS_SUCCESS);
    for (cudnnMathType_t const math : {CUDNN_FMA_MATH, CUDNN_DEFAULT_MATH, CUDNN_TENSOR_OP_MATH})
      EXPECT_EQ(dnn.set_math_type(convolution, math), CUDNN_STATUS_SUCCESS);

    EXPECT_EQ(dnn.destroy_convolution(convolution), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(dnn.destroy_filter(filter), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(dnn.destroy_tensor(tensor), CUDNN_STATUS_SUCCESS);
  }
}

/// Sets an attribute with the size that the backend gives, and checks that no other size is taken:
/// so it is the attribute's.
template <class Set, class Value>
void expect_size(Set const& set, Value const& value) {
  EXPECT_EQ(set(&value, sizeof value), CUBLAS_STATUS_SUCCESS);
  EXPECT_NE(set(&value, sizeof value / 2), CUBLAS_STATUS_SUCCESS);
}

TEST(RealCublasLt, TakesTheAttributesOfTheBackendWithTheirSizes) {
  constexpr char const* kCublasLt = "libcublasLt.so.13";
  auto const real = open_cublas(RealLibrary::of_toolkit(kCublasLt));
  SKIP_WITHOUT(real.library, kCublasLt);
  auto const version = real.library->function<size_t (*)()>("cublasLtGetVersion");
  constexpr size_t kPerMajor = 10'000;
  SKIP_UNLESS_VERSION(*real.library, version() / kPerMajor, kPinnedCublasMajor);

  workloads::cuda::CublasLt const& lt = real.functions;
  cublasLtMatmulDesc_t product = nullptr;
  ASSERT_EQ(lt.create_product(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F), CUBLAS_STATUS_SUCCESS);
  auto const set_product = [&](cublasLtMatmulDescAttributes_t attribute) {
    return [&lt, product, attribute](void const* value, size_t bytes) {
      return lt.set_product(product, attribute, value, bytes);
    };
  };
  expect_size(set_product(CUBLASLT_MATMUL_DESC_TRANSA), int32_t{CUBLAS_OP_T});
  expect_size(set_product(CUBLASLT_MATMUL_DESC_TRANSB), int32_t{CUBLAS_OP_N});
  expect_size(set_product(CUBLASLT_MATMUL_DESC_EPILOGUE), uint32_t{CUBLASLT_EPILOGUE_RELU_BIAS});
  expect_size(set_product(CUBLASLT_MATMUL_DESC_BIAS_POINTER), static_cast<float const*>(nullptr));

  cublasLtMatrixLayout_t layout = nullptr;
  ASSERT_EQ(lt.create_layout(&layout, CUDA_R_16BF, 8, 4, 8), CUBLAS_STATUS_SUCCESS);
  auto const set_layout = [&](cublasLtMatrixLayoutAttribute_t attribute) {
    return [&lt, layout, attribute](void const* value, size_t bytes) {
      return lt.set_layout(layout, attribute, value, bytes);
    };
  };
  expect_size(set_layout(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT), int32_t{3});
  expect_size(set_layout(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET), int64_t{32});

  cublasLtMatmulPreference_t preference = nullptr;
  ASSERT_EQ(lt.create_preference(&preference), CUBLAS_STATUS_SUCCESS);
  auto const set_preference = [&](cublasLtMatmulPreferenceAttributes_t attribute) {
    return [&lt, preference, attribute](void const* value, size_t bytes) {
      return lt.set_preference(preference, attribute, value, bytes);
    };
  };
  expect_size(set_preference(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES), uint64_t{1} << 20);
  for (auto const attribute :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    expect_size(set_preference(attribute), uint32_t{16});

  EXPECT_EQ(lt.destroy_preference(preference), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(lt.destroy_layout(layout), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(lt.destroy_product(product), CUBLAS_STATUS_SUCCESS);
}

}  // namespace
}  // namespace stepscope::real_libraries
