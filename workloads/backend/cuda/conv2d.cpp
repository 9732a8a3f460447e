// Convolution layer of the CUDA backend by cuDNN, channels last; bias, ReLU and the bias' gradient
// are own kernels, which read the result once. Only deterministic algorithms are used, those that
// cuDNN's heuristics put first.
// https://docs.nvidia.com/deeplearning/cudnn/backend/latest/api/cudnn-cnn-library.html
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "workloads/backend/cuda/cuda_device.h"

namespace stepscope::workloads::cuda {
namespace {

constexpr size_t kMaxWorkspaceBytes = size_t{1}
                                      << 30U;  // algorithms that want more are passed over

/// Descriptors of one layer.
class Descriptors {
 public:
  explicit Descriptors(Cudnn const& dnn) : dnn_(dnn) {}
  ~Descriptors() {
    for (cudnnTensorDescriptor_t const tensor : {x, y}) {
      if (tensor != nullptr) dnn_.destroy_tensor(tensor);
    }
    if (weights != nullptr) dnn_.destroy_filter(weights);
    for (cudnnConvolutionDescriptor_t const pass : passes) {
      if (pass != nullptr) dnn_.destroy_convolution(pass);
    }
  }
  Descriptors(Descriptors const&) = delete;
  Descriptors& operator=(Descriptors const&) = delete;

  cudnnStatus_t create(Conv2dShape const& s, cudnnDataType_t type, cudnnMathType_t math) {
    auto const n = static_cast<int>(s.batch), in = static_cast<int>(s.in_channels),
               out = static_cast<int>(s.out_channels);
    auto const kernel = static_cast<int>(s.kernel), padding = static_cast<int>(s.padding);
    auto const stride = static_cast<int>(s.stride);
    auto const size = [](int64_t value) { return static_cast<int>(value); };

    cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
    auto const step = [&status](cudnnStatus_t result) {
      if (status == CUDNN_STATUS_SUCCESS) status = result;
    };

    step(dnn_.create_tensor(&x));
    step(dnn_.create_tensor(&y));
    step(dnn_.create_filter(&weights));
    for (cudnnConvolutionDescriptor_t& pass : passes) step(dnn_.create_convolution(&pass));
    if (status != CUDNN_STATUS_SUCCESS) return status;

    step(dnn_.set_tensor(x, CUDNN_TENSOR_NHWC, type, n, in, size(s.height), size(s.width)));
    step(dnn_.set_tensor(y, CUDNN_TENSOR_NHWC, type, n, out, size(s.out_height()),
                         size(s.out_width())));
    step(dnn_.set_filter(weights, type, CUDNN_TENSOR_NHWC, out, in, kernel, kernel));
    for (cudnnConvolutionDescriptor_t const pass : passes) {
      step(dnn_.set_convolution(pass, padding, padding, stride, stride, 1, 1,
                                CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
      step(dnn_.set_math_type(pass, math));
    }
    return status;
  }

  cudnnTensorDescriptor_t x = nullptr, y = nullptr;
  cudnnFilterDescriptor_t weights = nullptr;
  std::array<cudnnConvolutionDescriptor_t, 3> passes =
      {};  ///< each gets the math type of its algorithm

 private:
  Cudnn const& dnn_;
};

enum Pass : size_t { kForward, kData, kWeights };

template <class Algorithm>
struct Candidate {
  Algorithm algorithm;
  cudnnMathType_t math;
  size_t workspace_bytes;
};
template <class Algorithm>
using Candidates = std::vector<Candidate<Algorithm>>;

/// Deterministic algorithms that keep to the precision: cuDNN's suggestions, best first, and last
/// the one that is there for every shape, by its documentation.
template <class Suggestion, size_t N, class Algorithm, class WorkspaceOf>
Candidates<Algorithm> choose(std::array<Suggestion, N> const& suggestions, int count,
                             Algorithm general, cudnnMathType_t asked,
                             WorkspaceOf const& workspace_of) {
  constexpr size_t kMost = 3;  // their workspaces are reserved
  Candidates<Algorithm> candidates;

  auto const add = [&](Algorithm algorithm, cudnnMathType_t math) {
    size_t bytes = 0;
    if (workspace_of(algorithm, math, &bytes) != CUDNN_STATUS_SUCCESS || bytes > kMaxWorkspaceBytes)
      return;
    candidates.push_back({algorithm, math, bytes});
  };

  for (size_t i = 0; i < static_cast<size_t>(count) && candidates.size() < kMost; ++i) {
    Suggestion const& suggestion = suggestions[i];
    if (suggestion.status != CUDNN_STATUS_SUCCESS || suggestion.determinism != CUDNN_DETERMINISTIC)
      continue;
    // With any other math type float32 products may be those of TF32.
    add(suggestion.algo, asked == CUDNN_FMA_MATH ? CUDNN_FMA_MATH : suggestion.mathType);
  }

  add(general, asked);
  return candidates;
}

struct Plan {
  std::unique_ptr<Descriptors> descriptors;
  bool bf16 = false;
  Candidates<cudnnConvolutionFwdAlgo_t> forward;
  Candidates<cudnnConvolutionBwdDataAlgo_t> data;
  Candidates<cudnnConvolutionBwdFilterAlgo_t> weights;

  [[nodiscard]] bool complete() const {
    return !forward.empty() && !data.empty() && !weights.empty();
  }
  /// The workspace of every candidate fits.
  [[nodiscard]] size_t library_bytes() const {
    size_t most = 0;
    for (auto const& candidate : forward) most = std::max(most, candidate.workspace_bytes);
    for (auto const& candidate : data) most = std::max(most, candidate.workspace_bytes);
    for (auto const& candidate : weights) most = std::max(most, candidate.workspace_bytes);
    return Arena::aligned(most);
  }
};

Plan make_plan(CudaDevice const& device, Conv2dShape const& shape, Precision precision) {
  Cudnn const& dnn = device.libraries().cudnn;
  cudnnHandle_t const handle = device.cudnn();
  Plan plan;
  plan.bf16 = precision == Precision::kBf16;

  cudnnMathType_t math = CUDNN_FMA_MATH;                         // IEEE
  if (precision == Precision::kTf32) math = CUDNN_DEFAULT_MATH;  // float32 data by tensor cores
  if (precision == Precision::kBf16) math = CUDNN_TENSOR_OP_MATH;

  plan.descriptors = std::make_unique<Descriptors>(dnn);
  Descriptors& d = *plan.descriptors;
  if (d.create(shape, plan.bf16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT, math) !=
      CUDNN_STATUS_SUCCESS)
    return plan;

  std::array<cudnnConvolutionFwdAlgoPerf_t, CUDNN_CONVOLUTION_FWD_ALGO_COUNT> forward = {};
  std::array<cudnnConvolutionBwdDataAlgoPerf_t, CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT> data = {};
  std::array<cudnnConvolutionBwdFilterAlgoPerf_t, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT> weights =
      {};

  int count = 0;
  dnn.find_forward(handle, d.x, d.weights, d.passes[kForward], d.y, forward.size(), &count,
                   forward.data());
  plan.forward = choose(forward, count, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, math,
                        [&](auto algorithm, cudnnMathType_t of_algorithm, size_t* bytes) {
                          dnn.set_math_type(d.passes[kForward], of_algorithm);
                          return dnn.forward_workspace(handle, d.x, d.weights, d.passes[kForward],
                                                       d.y, algorithm, bytes);
                        });

  count = 0;
  dnn.find_backward_data(handle, d.weights, d.y, d.passes[kData], d.x, data.size(), &count,
                         data.data());
  plan.data = choose(data, count, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, math,
                     [&](auto algorithm, cudnnMathType_t of_algorithm, size_t* bytes) {
                       dnn.set_math_type(d.passes[kData], of_algorithm);
                       return dnn.backward_data_workspace(handle, d.weights, d.y, d.passes[kData],
                                                          d.x, algorithm, bytes);
                     });

  count = 0;
  dnn.find_backward_weights(handle, d.x, d.y, d.passes[kWeights], d.weights, weights.size(), &count,
                            weights.data());
  plan.weights = choose(weights, count, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, math,
                        [&](auto algorithm, cudnnMathType_t of_algorithm, size_t* bytes) {
                          dnn.set_math_type(d.passes[kWeights], of_algorithm);
                          return dnn.backward_weights_workspace(
                              handle, d.x, d.y, d.passes[kWeights], d.weights, algorithm, bytes);
                        });

  return plan;
}

struct Sizes {
  explicit Sizes(Conv2dShape const& s)
      : x(static_cast<size_t>(s.batch * s.height * s.width * s.in_channels)),
        y(static_cast<size_t>(s.batch * s.out_height() * s.out_width() * s.out_channels)),
        weights(static_cast<size_t>(s.out_channels * s.kernel * s.kernel * s.in_channels)) {}
  size_t x, y, weights;  ///< elements

  /// Size of bfloat16 copies of all three.
  [[nodiscard]] size_t copies_bytes() const {
    return Arena::aligned(x * sizeof(Bf16)) + Arena::aligned(y * sizeof(Bf16)) +
           Arena::aligned(weights * sizeof(Bf16));
  }
};

class CudaConv2d final : public Conv2d {
 public:
  CudaConv2d(CudaDevice& device, std::string_view name, Conv2dShape const& shape, Plan plan)
      : device_(device),
        dnn_(device.libraries().cudnn),
        forward_name_(fmt::format("{}{}", name, shape.forward_suffix())),
        data_name_(fmt::format("{}{}", name, shape.backward_data_suffix())),
        weights_name_(fmt::format("{}.backward.weights", name)),
        shape_(shape),
        sizes_(shape),
        plan_(std::move(plan)),
        d_(*plan_.descriptors) {}

  void forward(float const* x, float const* weights, float const* bias, float* y) override {
    launch(forward_name_, [=, this](cudaStream_t stream) {
      void const* const in = input(stream, x, copies().x, sizes_.x);
      void const* const by = input(stream, weights, copies().weights, sizes_.weights);
      void* const out = plan_.bf16 ? copies().y : static_cast<void*>(y);

      auto done = run(plan_.forward, kForward, [&](auto const& chosen) {
        return dnn_.forward(device_.cudnn(), &kOne, d_.x, in, d_.weights, by, d_.passes[kForward],
                            chosen.algorithm, device_.workspace(), chosen.workspace_bytes, &kZero,
                            d_.y, out);
      });

      int64_t const rows = shape_.batch * shape_.out_height() * shape_.out_width();
      if (done && plan_.bf16)
        add_bias(stream, static_cast<Bf16 const*>(out), bias, y, rows, shape_.out_channels,
                 shape_.relu);
      if (done && !plan_.bf16) add_bias(stream, y, bias, y, rows, shape_.out_channels, shape_.relu);
      return done;
    });
  }

  void backward_data(float const* dy, float const* weights, float* dx) override {
    launch(data_name_, [=, this](cudaStream_t stream) {
      void const* const in = input(stream, dy, copies().y, sizes_.y);
      void const* const by = input(stream, weights, copies().weights, sizes_.weights);
      void* const out = plan_.bf16 ? copies().x : static_cast<void*>(dx);

      auto done = run(plan_.data, kData, [&](auto const& chosen) {
        return dnn_.backward_data(device_.cudnn(), &kOne, d_.weights, by, d_.y, in,
                                  d_.passes[kData], chosen.algorithm, device_.workspace(),
                                  chosen.workspace_bytes, &kZero, d_.x, out);
      });

      if (done && plan_.bf16) to_float(stream, static_cast<Bf16 const*>(out), dx, sizes_.x);
      return done;
    });
  }

  void backward_weights(float const* x, float const* dy, float* d_weights, float* d_bias) override {
    launch(weights_name_, [=, this](cudaStream_t stream) {
      int64_t const rows = shape_.batch * shape_.out_height() * shape_.out_width();
      sum_columns(stream, dy, rows, shape_.out_channels, d_bias, device_.scratch());

      void const* const in = input(stream, x, copies().x, sizes_.x);
      void const* const by = input(stream, dy, copies().y, sizes_.y);
      void* const out = plan_.bf16 ? copies().weights : static_cast<void*>(d_weights);

      auto done = run(plan_.weights, kWeights, [&](auto const& chosen) {
        return dnn_.backward_weights(device_.cudnn(), &kOne, d_.x, in, d_.y, by,
                                     d_.passes[kWeights], chosen.algorithm, device_.workspace(),
                                     chosen.workspace_bytes, &kZero, d_.weights, out);
      });

      if (done && plan_.bf16)
        to_float(stream, static_cast<Bf16 const*>(out), d_weights, sizes_.weights);
      return done;
    });
  }

 private:
  static constexpr float kOne = 1, kZero = 0;
  /// In the workspace, behind what cuDNN uses; only with bfloat16.
  struct Copies {
    Bf16 *x, *y, *weights;
  };

  [[nodiscard]] Copies copies() const {
    auto* const begin = static_cast<std::byte*>(device_.workspace()) + plan_.library_bytes();
    auto* const y = begin + Arena::aligned(sizes_.x * sizeof(Bf16));
    auto* const weights = y + Arena::aligned(sizes_.y * sizeof(Bf16));
    return {reinterpret_cast<Bf16*>(begin), reinterpret_cast<Bf16*>(y),
            reinterpret_cast<Bf16*>(weights)};
  }
  /// What cuDNN reads: the array, or its copy in bfloat16.
  void const* input(cudaStream_t stream, float const* from, Bf16* copy, size_t count) const {
    if (!plan_.bf16) return from;
    to_bf16(stream, from, copy, count);
    return copy;
  }
  /// Runs the first candidate that cuDNN does not refuse; refused ones are not tried again.
  template <class Algorithms, class Call>
  Expected<void> run(Algorithms& candidates, Pass pass, Call const& call) const {
    for (;;) {
      dnn_.set_math_type(d_.passes[pass], candidates.front().math);
      cudnnStatus_t const status = call(candidates.front());
      if (status == CUDNN_STATUS_SUCCESS) return {};

      // What cuDNN refuses in a capture it has done before, and does again.
      if (candidates.size() == 1 || device_.is_capturing()) {
        return base::fail(
            "cuDNN: {}, run again with CUDNN_LOGLEVEL_DBG=2 CUDNN_LOGDEST_DBG=stderr to see why",
            dnn_.error_string(status));
      }

      cudaGetLastError();  // of the refused one
      candidates.erase(candidates.begin());
    }
  }
  template <class Work>
  void launch(std::string const& name, Work const& work) {
    auto const describe = [this] {
      Conv2dShape const& s = shape_;
      return fmt::format("{} x {} x {} x {} → {} channels, kernel {}, padding {}, stride {}",
                         s.batch, s.height, s.width, s.in_channels, s.out_channels, s.kernel,
                         s.padding, s.stride);
    };

    device_.launch(name.c_str(), describe, work);
  }

  CudaDevice& device_;
  Cudnn const& dnn_;
  std::string forward_name_, data_name_, weights_name_;
  Conv2dShape shape_;
  Sizes sizes_;
  Plan plan_;
  Descriptors& d_;
};

}  // namespace

Expected<std::unique_ptr<Conv2d>> CudaDevice::conv2d(std::string_view name,
                                                     Conv2dShape const& shape) {
  activate();
  Plan plan = make_plan(*this, shape, precision());

  // A shape that cuDNN does not do in bfloat16 is computed in the next better precision.
  if (!plan.complete() && precision() == Precision::kBf16)
    plan = make_plan(*this, shape, Precision::kFp32);

  if (!plan.complete()) {
    return base::fail_unsupported(
        "{}: {}: cuDNN has no deterministic algorithm for {} x {} x {} x {} → {} channels, kernel "
        "{}: use another --batch, or a newer cuDNN 9",
        this->name(), name, shape.batch, shape.height, shape.width, shape.in_channels,
        shape.out_channels, shape.kernel);
  }

  size_t const bytes = plan.library_bytes() + (plan.bf16 ? Sizes(shape).copies_bytes() : 0);
  if (auto reserved = reserve_workspace(bytes, fmt::format("{}.workspace", name)); !reserved)
    return base::fail_with(reserved);

  return std::make_unique<CudaConv2d>(*this, name, shape, std::move(plan));
}

}  // namespace stepscope::workloads::cuda
