// The functions of libcudnn.so.9 that the backend calls, after NVIDIA's "cuDNN Backend API"
// (docs.nvidia.com/deeplearning/cudnn/backend, "cudnn_cnn library"). It does what the real one may
// do: it fills the whole workspace and suggests algorithms that are not deterministic first. It
// refuses the algorithm whose number DOUBLE_CUDNN_REFUSED is when that runs. A call that the
// documents forbid ends the program with a sentence.
#include <cudnn.h>

#include <cstring>
#include <initializer_list>
#include <memory>

#include "tests/cuda_doubles/cudnn/convolution.h"
#include "tests/cuda_doubles/device/engine.h"
#include "tests/cuda_doubles/device/knobs.h"

// NVIDIA's header declares these types.
struct cudnnContext {
  cudaStream_t stream = nullptr;
  int device = 0;
};
struct cudnnTensorStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  size_t n = 0, c = 0, h = 0, w = 0;
  cudnnTensorFormat_t format = CUDNN_TENSOR_NHWC;
};
struct cudnnFilterStruct {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  size_t k = 0, c = 0, h = 0, w = 0;
  cudnnTensorFormat_t format = CUDNN_TENSOR_NHWC;
};
struct cudnnConvolutionStruct {
  size_t pad_rows = 0, pad_columns = 0, stride_rows = 1, stride_columns = 1;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
};

namespace stepscope::cuda_doubles {
namespace {

constexpr char const* kLibrary = "cuDNN";

size_t out_size(size_t in, size_t pad, size_t kernel, size_t stride) {
  return (in + 2 * pad - kernel) / stride + 1;
}

/// The shape that four descriptors mean together.
ConvolutionShape shape_of(cudnnTensorStruct const& x, cudnnFilterStruct const& w,
                          cudnnConvolutionStruct const& d, cudnnTensorStruct const& y) {
  if (x.format != CUDNN_TENSOR_NHWC || y.format != CUDNN_TENSOR_NHWC ||
      w.format != CUDNN_TENSOR_NHWC)
    die(kLibrary, "a layout that this double does not compute");
  if (x.type != y.type || x.type != w.type) die(kLibrary, "types that differ");
  bool const fits = w.c == x.c && y.c == w.k && y.n == x.n &&
                    y.h == out_size(x.h, d.pad_rows, w.h, d.stride_rows) &&
                    y.w == out_size(x.w, d.pad_columns, w.w, d.stride_columns);
  if (!fits) die(kLibrary, "descriptors that do not fit each other");

  ConvolutionShape shape;
  shape.batch = x.n;
  shape.height = x.h;
  shape.width = x.w;
  shape.channels = x.c;
  shape.outputs = w.k;
  shape.kernel_height = w.h;
  shape.kernel_width = w.w;
  shape.out_height = y.h;
  shape.out_width = y.w;
  shape.pad_rows = d.pad_rows;
  shape.pad_columns = d.pad_columns;
  shape.stride_rows = d.stride_rows;
  shape.stride_columns = d.stride_columns;
  shape.type = x.type == CUDNN_DATA_FLOAT ? NumberType::kFloat32 : NumberType::kBfloat16;
  return shape;
}

void check_array(void const* data, size_t count, NumberType type, char const* what) {
  if (engine()->device_of(data, count * size_of(type)) < 0)
    die(kLibrary, std::string(what) + " is not in one array of the device");
}

void check_arrays(ConvolutionShape const& shape, void const* x, void const* w, void const* y) {
  check_array(x, shape.images(), shape.type, "x");
  check_array(w, shape.weights(), shape.type, "the weights");
  check_array(y, shape.results(), shape.type, "y");
}

/// An odd number: who rounds it down writes behind the end.
size_t workspace_of(int algorithm) {
  constexpr size_t kStep = 4096, kOdd = 13;
  return algorithm == 0 ? 0 : kStep * (1 + static_cast<size_t>(algorithm)) + kOdd;
}

struct Pass {
  char const* kernel;
  int algorithm;
  void* workspace;
  size_t workspace_bytes;
  void const *alpha, *beta;
};

cudnnStatus_t run(cudnnHandle_t handle, Pass const& pass, std::function<void()> compute) {
  if (handle->stream == nullptr) die(kLibrary, "a handle without a stream");
  if (engine()->current_device() != handle->device)
    die(kLibrary, "another device is current than the handle's");
  if (*static_cast<float const*>(pass.alpha) != 1 || *static_cast<float const*>(pass.beta) != 0)
    die(kLibrary, "factors that this double does not compute with");
  if (number_of_knob("DOUBLE_CUDNN_REFUSED", -1) == pass.algorithm)
    return CUDNN_STATUS_NOT_SUPPORTED;
  if (pass.workspace_bytes < workspace_of(pass.algorithm)) return CUDNN_STATUS_BAD_PARAM;
  if (pass.workspace_bytes > 0 && engine()->device_of(pass.workspace, pass.workspace_bytes) < 0)
    die(kLibrary, "the workspace is not in one array of the device");

  Operation operation;
  operation.kind = OperationKind::kKernel;
  operation.name = pass.kernel;
  operation.grid = dim3(8);
  operation.block = dim3(128);
  operation.work = [pass, compute = std::move(compute)] {
    if (pass.workspace_bytes > 0) std::memset(pass.workspace, 0xFF, pass.workspace_bytes);
    compute();
  };
  return launch_by_driver(handle->stream, std::move(operation)) == cudaSuccess
             ? CUDNN_STATUS_SUCCESS
             : CUDNN_STATUS_EXECUTION_FAILED;
}

template <class Algorithm>
struct Suggestion {
  Algorithm algorithm;
  bool is_deterministic;
};

/// Best first, as the heuristics do.
template <class Performance, class Algorithm>
cudnnStatus_t suggest(std::initializer_list<Suggestion<Algorithm>> suggestions,
                      cudnnConvolutionDescriptor_t convolution, int asked, int* count,
                      Performance* results) {
  *count = 0;

  for (auto const& [algorithm, is_deterministic] : suggestions) {
    if (*count == asked) break;
    Performance& result = results[(*count)++];
    result = {};
    result.algo = algorithm;
    result.status = CUDNN_STATUS_SUCCESS;
    result.time = -1;
    result.memory = workspace_of(static_cast<int>(algorithm));
    result.determinism = is_deterministic ? CUDNN_DETERMINISTIC : CUDNN_NON_DETERMINISTIC;
    result.mathType = convolution->math;
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t tell_workspace(int algorithm, size_t* bytes) {
  *bytes = workspace_of(algorithm);
  return CUDNN_STATUS_SUCCESS;
}

template <class Descriptor, class Handle>
cudnnStatus_t create(Handle* handle) {
  *handle = new Descriptor;
  return CUDNN_STATUS_SUCCESS;
}
template <class Descriptor>
cudnnStatus_t destroy(Descriptor* descriptor) {
  delete descriptor;
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace
}  // namespace stepscope::cuda_doubles

// NOLINTBEGIN(readability-identifier-naming): names of cuDNN.
using namespace stepscope::cuda_doubles;  // NOLINT(google-build-using-namespace)

#pragma GCC visibility push(default)
extern "C" {

size_t cudnnGetVersion() { return 91300; }
char const* cudnnGetErrorString(cudnnStatus_t status) {
  return status == CUDNN_STATUS_NOT_SUPPORTED ? "CUDNN_STATUS_NOT_SUPPORTED" : "CUDNN_STATUS";
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  create<cudnnContext>(handle);
  (*handle)->device = engine()->current_device();
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) { return destroy(handle); }
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* tensor) {
  return create<cudnnTensorStruct>(tensor);
}
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensor) {
  return destroy(tensor);
}
cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensor, cudnnTensorFormat_t format,
                                         cudnnDataType_t type, int n, int c, int h, int w) {
  if (n < 1 || c < 1 || h < 1 || w < 1) return CUDNN_STATUS_BAD_PARAM;
  *tensor = {type,
             static_cast<size_t>(n),
             static_cast<size_t>(c),
             static_cast<size_t>(h),
             static_cast<size_t>(w),
             format};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* filter) {
  return create<cudnnFilterStruct>(filter);
}
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t filter) {
  return destroy(filter);
}
cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int k, int c, int h, int w) {
  *filter = {type,
             static_cast<size_t>(k),
             static_cast<size_t>(c),
             static_cast<size_t>(h),
             static_cast<size_t>(w),
             format};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* convolution) {
  return create<cudnnConvolutionStruct>(convolution);
}
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t convolution) {
  return destroy(convolution);
}
cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t convolution,
                                              int pad_rows, int pad_columns, int stride_rows,
                                              int stride_columns, int dilation_rows,
                                              int dilation_columns, cudnnConvolutionMode_t mode,
                                              cudnnDataType_t /*compute*/) {
  if (mode != CUDNN_CROSS_CORRELATION || dilation_rows != 1 || dilation_columns != 1)
    die(kLibrary, "a convolution that this double does not compute");

  *convolution = {static_cast<size_t>(pad_rows), static_cast<size_t>(pad_columns),
                  static_cast<size_t>(stride_rows), static_cast<size_t>(stride_columns),
                  CUDNN_DEFAULT_MATH};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t convolution,
                                          cudnnMathType_t math) {
  convolution->math = math;
  return CUDNN_STATUS_SUCCESS;
}

// Algorithms.

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(
    cudnnHandle_t /*handle*/, cudnnTensorDescriptor_t const x, cudnnFilterDescriptor_t const w,
    cudnnConvolutionDescriptor_t const d, cudnnTensorDescriptor_t const y, int const asked,
    int* count, cudnnConvolutionFwdAlgoPerf_t* results) {
  shape_of(*x, *w, *d, *y);
  return suggest<cudnnConvolutionFwdAlgoPerf_t, cudnnConvolutionFwdAlgo_t>(
      {{CUDNN_CONVOLUTION_FWD_ALGO_FFT, false},
       {CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED, true},
       {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, true},
       {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, true}},
      d, asked, count, results);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(
    cudnnHandle_t /*handle*/, cudnnFilterDescriptor_t const w, cudnnTensorDescriptor_t const y,
    cudnnConvolutionDescriptor_t const d, cudnnTensorDescriptor_t const x, int const asked,
    int* count, cudnnConvolutionBwdDataAlgoPerf_t* results) {
  shape_of(*x, *w, *d, *y);
  return suggest<cudnnConvolutionBwdDataAlgoPerf_t, cudnnConvolutionBwdDataAlgo_t>(
      {{CUDNN_CONVOLUTION_BWD_DATA_ALGO_0, false},
       {CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD, true},
       {CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, true}},
      d, asked, count, results);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t /*handle*/, cudnnTensorDescriptor_t const x, cudnnTensorDescriptor_t const y,
    cudnnConvolutionDescriptor_t const d, cudnnFilterDescriptor_t const w, int const asked,
    int* count, cudnnConvolutionBwdFilterAlgoPerf_t* results) {
  shape_of(*x, *w, *d, *y);
  return suggest<cudnnConvolutionBwdFilterAlgoPerf_t, cudnnConvolutionBwdFilterAlgo_t>(
      {{CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0, false},
       {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3, false},
       {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, true}},
      d, asked, count, results);
}

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(
    cudnnHandle_t /*handle*/, cudnnTensorDescriptor_t const /*x*/,
    cudnnFilterDescriptor_t const /*w*/, cudnnConvolutionDescriptor_t const /*d*/,
    cudnnTensorDescriptor_t const /*y*/, cudnnConvolutionFwdAlgo_t algorithm, size_t* bytes) {
  return tell_workspace(algorithm, bytes);
}
cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(
    cudnnHandle_t /*handle*/, cudnnFilterDescriptor_t const /*w*/,
    cudnnTensorDescriptor_t const /*y*/, cudnnConvolutionDescriptor_t const /*d*/,
    cudnnTensorDescriptor_t const /*x*/, cudnnConvolutionBwdDataAlgo_t algorithm, size_t* bytes) {
  return tell_workspace(algorithm, bytes);
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(
    cudnnHandle_t /*handle*/, cudnnTensorDescriptor_t const /*x*/,
    cudnnTensorDescriptor_t const /*y*/, cudnnConvolutionDescriptor_t const /*d*/,
    cudnnFilterDescriptor_t const /*w*/, cudnnConvolutionBwdFilterAlgo_t algorithm, size_t* bytes) {
  return tell_workspace(algorithm, bytes);
}

// Passes.

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, void const* alpha,
                                      cudnnTensorDescriptor_t const xd, void const* x,
                                      cudnnFilterDescriptor_t const wd, void const* w,
                                      cudnnConvolutionDescriptor_t const d,
                                      cudnnConvolutionFwdAlgo_t algorithm, void* workspace,
                                      size_t bytes, void const* beta,
                                      cudnnTensorDescriptor_t const yd, void* y) {
  ConvolutionShape const shape = shape_of(*xd, *wd, *d, *yd);
  check_arrays(shape, x, w, y);

  return run(handle, {"double_of_cudnn_fprop", algorithm, workspace, bytes, alpha, beta},
             [=] { convolve(shape, x, w, y); });
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, void const* alpha,
                                           cudnnFilterDescriptor_t const wd, void const* w,
                                           cudnnTensorDescriptor_t const yd, void const* dy,
                                           cudnnConvolutionDescriptor_t const d,
                                           cudnnConvolutionBwdDataAlgo_t algorithm, void* workspace,
                                           size_t bytes, void const* beta,
                                           cudnnTensorDescriptor_t const xd, void* dx) {
  ConvolutionShape const shape = shape_of(*xd, *wd, *d, *yd);
  check_arrays(shape, dx, w, dy);

  return run(handle, {"double_of_cudnn_dgrad", algorithm, workspace, bytes, alpha, beta},
             [=] { convolve_backward_data(shape, w, dy, dx); });
}

cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, void const* alpha,
                                             cudnnTensorDescriptor_t const xd, void const* x,
                                             cudnnTensorDescriptor_t const yd, void const* dy,
                                             cudnnConvolutionDescriptor_t const d,
                                             cudnnConvolutionBwdFilterAlgo_t algorithm,
                                             void* workspace, size_t bytes, void const* beta,
                                             cudnnFilterDescriptor_t const wd, void* dw) {
  ConvolutionShape const shape = shape_of(*xd, *wd, *d, *yd);
  check_arrays(shape, x, dw, dy);

  return run(handle, {"double_of_cudnn_wgrad", algorithm, workspace, bytes, alpha, beta},
             [=] { convolve_backward_weights(shape, x, dy, dw); });
}

}  // extern "C"
#pragma GCC visibility pop
// NOLINTEND(readability-identifier-naming)
