// The functions of libcublasLt.so.13 that the backend calls, after NVIDIA's "cuBLAS", "Using the
// cuBLASLt API". Matrices lie by columns, and an epilogue adds a bias to each row of D. A call that
// the documents forbid ends the program with a sentence.
#include <cublasLt.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "tests/cuda_doubles/device/engine.h"
#include "tests/cuda_doubles/device/knobs.h"
#include "tests/cuda_doubles/math/numbers.h"

namespace stepscope::cuda_doubles {
namespace {

constexpr char const* kLibrary = "cuBLASLt";
constexpr size_t kWorkspaceBytes = 1000;
// Bits of cublasLtEpilogue_t.
constexpr uint32_t kRelu = 2, kBias = 4;
constexpr uint32_t kBiasAlignment = 16;

struct Layout {
  cudaDataType_t type;
  uint64_t rows, columns;
  int64_t leading;  ///< elements from one column to the next
  int64_t stride = 0;
  int32_t batch = 1;

  [[nodiscard]] NumberType number_type() const {
    return type == CUDA_R_32F ? NumberType::kFloat32 : NumberType::kBfloat16;
  }
  [[nodiscard]] size_t bytes() const {
    int64_t const last = (batch - 1) * stride + (static_cast<int64_t>(columns) - 1) * leading;
    return (static_cast<size_t>(last) + rows) * size_of(number_type());
  }
};

struct Product {
  int32_t transpose_a = 0, transpose_b = 0;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void const* bias = nullptr;
};

struct Preference {
  uint64_t workspace = 0;
  uint32_t a = 256, b = 256, c = 256, d = 256;  ///< alignments
};

/// What the opaque cublasLtMatmulAlgo_t holds: the alignments that were asked for.
struct Algorithm {
  static constexpr uint32_t kMagic = 0x51;
  uint32_t magic = kMagic;
  uint32_t a = 1, b = 1, c = 1, d = 1;
};

/// An operand as the product reads it.
struct Operand {
  void const* data;
  Layout layout;
  bool is_transposed;

  [[nodiscard]] uint64_t rows() const { return is_transposed ? layout.columns : layout.rows; }
  [[nodiscard]] uint64_t columns() const { return is_transposed ? layout.rows : layout.columns; }
  /// The values of a batch's member: [column][row] where `by_columns`, else [row][column].
  [[nodiscard]] std::vector<float> read(int32_t member, bool by_columns) const {
    std::vector<float> values(rows() * columns());

    for (uint64_t row = 0; row < rows(); ++row) {
      for (uint64_t column = 0; column < columns(); ++column) {
        uint64_t const r = is_transposed ? column : row, c = is_transposed ? row : column;
        auto const index = static_cast<size_t>(member * layout.stride) +
                           c * static_cast<size_t>(layout.leading) + r;
        size_t const to = by_columns ? column * rows() + row : row * columns() + column;
        values[to] = load(data, index, layout.number_type());
      }
    }
    return values;
  }
};

struct Target {
  float* data;
  Layout layout;
  float alpha, beta;
  uint32_t epilogue;
  float const* bias;
};

/// Column by column: the column of D begins as 0 and adds columns of A.
void multiply(Operand const& a, Operand const& b, Target const& d) {
  size_t const m = a.rows(), k = a.columns(), n = b.columns();
  std::vector<float> sums(m);

  for (int32_t member = 0; member < d.layout.batch; ++member) {
    auto const columns_of_a = a.read(member, true), columns_of_b = b.read(member, true);
    for (size_t column = 0; column < n; ++column) {
      std::fill(sums.begin(), sums.end(), 0.0F);
      add_weighted_rows(&columns_of_b[column * k], {columns_of_a.data(), k, m}, m, sums.data());

      float* const to =
          d.data + member * d.layout.stride + static_cast<int64_t>(column) * d.layout.leading;
      for (size_t row = 0; row < m; ++row) {
        float value = d.alpha * sums[row];
        if (d.beta != 0) value += d.beta * to[row];
        if ((d.epilogue & kBias) != 0) value += d.bias[row];
        if ((d.epilogue & kRelu) != 0 && value < 0) value = 0;
        to[row] = value;
      }
    }
  }
}

void check_array(void const* data, size_t bytes, char const* what) {
  if (engine()->device_of(data, bytes) < 0)
    die(kLibrary, std::string(what) + " is not in one array of the device");
}

bool is_aligned(void const* data, uint32_t alignment) {
  return reinterpret_cast<uintptr_t>(data) % alignment == 0;
}

template <class T>
cublasStatus_t take(T& to, void const* value, size_t bytes) {
  if (bytes != sizeof to) die(kLibrary, "an attribute of another size");
  std::memcpy(&to, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

template <class T, class Handle>
cublasStatus_t create(Handle* handle, T made) {
  *handle = reinterpret_cast<Handle>(new T(std::move(made)));
  return CUBLAS_STATUS_SUCCESS;
}
template <class T, class Handle>
T& in(Handle handle) {
  return *reinterpret_cast<T*>(handle);
}
template <class T, class Handle>
cublasStatus_t destroy(Handle handle) {
  delete &in<T>(handle);
  return CUBLAS_STATUS_SUCCESS;
}

void check_shapes(Operand const& a, Operand const& b, Layout const& c, Layout const& d) {
  bool const fits = a.columns() == b.rows() && d.rows == a.rows() && d.columns == b.columns() &&
                    c.rows == d.rows && c.columns == d.columns;
  if (!fits) die(kLibrary, "layouts that do not fit each other");
  check_array(a.data, a.layout.bytes(), "A");
  check_array(b.data, b.layout.bytes(), "B");
}

void check_bias(Product const& product, size_t rows) {
  if ((product.epilogue & kBias) == 0) return;
  check_array(product.bias, rows * sizeof(float), "the bias");
  if (!is_aligned(product.bias, kBiasAlignment)) die(kLibrary, "a bias that is not aligned");
}

}  // namespace
}  // namespace stepscope::cuda_doubles

// NOLINTBEGIN(readability-identifier-naming): names of cuBLASLt.
using namespace stepscope::cuda_doubles;  // NOLINT(google-build-using-namespace)

#pragma GCC visibility push(default)
extern "C" {

char const* cublasLtGetStatusString(cublasStatus_t /*status*/) { return "CUBLAS_STATUS"; }

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  return create(handle, engine()->current_device());
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) { return destroy<int>(handle); }

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* product,
                                        cublasComputeType_t /*compute*/, cudaDataType_t /*scale*/) {
  return create(product, Product{});
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product) {
  return destroy<Product>(product);
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              void const* value, size_t bytes) {
  auto& to = in<Product>(product);
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return take(to.transpose_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return take(to.transpose_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return take(to.epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return take(to.bias, value, bytes);
    default:
      die(kLibrary, "an attribute of a product that this double does not know");
  }
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType_t type,
                                          uint64_t rows, uint64_t columns, int64_t leading) {
  if (leading < static_cast<int64_t>(rows)) return CUBLAS_STATUS_INVALID_VALUE;
  if (type != CUDA_R_32F && type != CUDA_R_16BF) return CUBLAS_STATUS_NOT_SUPPORTED;
  return create(layout, Layout{type, rows, columns, leading});
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return destroy<Layout>(layout);
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                void const* value, size_t bytes) {
  auto& to = in<Layout>(layout);
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return take(to.batch, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return take(to.stride, value, bytes);
    default:
      die(kLibrary, "an attribute of a layout that this double does not know");
  }
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  return create(preference, Preference{});
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return destroy<Preference>(preference);
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    void const* value, size_t bytes) {
  auto& to = in<Preference>(preference);
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return take(to.workspace, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
      return take(to.a, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
      return take(to.b, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
      return take(to.c, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      return take(to.d, value, bytes);
    default:
      die(kLibrary, "a preference that this double does not know");
  }
}

/// Without the pointer of its bias nothing is found for an epilogue that adds one.
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t /*handle*/, cublasLtMatmulDesc_t product, cublasLtMatrixLayout_t /*a*/,
    cublasLtMatrixLayout_t /*b*/, cublasLtMatrixLayout_t /*c*/, cublasLtMatrixLayout_t /*d*/,
    cublasLtMatmulPreference_t preference, int asked, cublasLtMatmulHeuristicResult_t* results,
    int* count) {
  *count = 0;
  if (asked < 1) return CUBLAS_STATUS_INVALID_VALUE;
  auto const& meant = in<Product>(product);
  if ((meant.epilogue & kBias) != 0 && meant.bias == nullptr) return CUBLAS_STATUS_NOT_SUPPORTED;

  auto const& request = in<Preference>(preference);
  Algorithm const algorithm = {Algorithm::kMagic, request.a, request.b, request.c, request.d};
  *results = {};
  std::memcpy(&results->algo, &algorithm, sizeof algorithm);
  results->workspaceSize = request.workspace < kWorkspaceBytes ? 0 : kWorkspaceBytes;
  results->state = CUBLAS_STATUS_SUCCESS;
  *count = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t product,
                              void const* alpha, void const* a, cublasLtMatrixLayout_t a_layout,
                              void const* b, cublasLtMatrixLayout_t b_layout, void const* beta,
                              void const* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout, cublasLtMatmulAlgo_t const* chosen,
                              void* workspace, size_t bytes, cudaStream_t stream) {
  if (in<int>(handle) != engine()->current_device())
    die(kLibrary, "another device is current than the handle's");
  Algorithm algorithm;
  std::memcpy(static_cast<void*>(&algorithm), chosen, sizeof algorithm);
  if (algorithm.magic != Algorithm::kMagic) die(kLibrary, "an algorithm that was not asked for");
  if (!is_aligned(a, algorithm.a) || !is_aligned(b, algorithm.b) || !is_aligned(c, algorithm.c) ||
      !is_aligned(d, algorithm.d))
    die(kLibrary, "an array is not aligned as its algorithm expects");
  if (c != d) die(kLibrary, "a C that is not D");

  Product const meant = in<Product>(product);
  Operand const left = {a, in<Layout>(a_layout), meant.transpose_a != 0};
  Operand const right = {b, in<Layout>(b_layout), meant.transpose_b != 0};
  Target const target = {static_cast<float*>(d),
                         in<Layout>(d_layout),
                         *static_cast<float const*>(alpha),
                         *static_cast<float const*>(beta),
                         meant.epilogue,
                         static_cast<float const*>(meant.bias)};
  check_shapes(left, right, in<Layout>(c_layout), target.layout);
  check_array(d, target.layout.bytes(), "D");
  check_bias(meant, target.layout.rows);
  if (bytes > 0) check_array(workspace, bytes, "the workspace");

  Operation operation;
  operation.kind = OperationKind::kKernel;
  operation.name = "double_of_cublaslt_matmul";
  operation.grid = dim3(8);
  operation.block = dim3(128);
  operation.work = [=] {
    if (bytes > 0) std::memset(workspace, 0xFF, bytes);
    multiply(left, right, target);
  };
  return launch_by_driver(stream, std::move(operation)) == cudaSuccess
             ? CUBLAS_STATUS_SUCCESS
             : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // extern "C"
#pragma GCC visibility pop
// NOLINTEND(readability-identifier-naming)
