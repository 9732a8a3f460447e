// Max-pool and local response normalisation of the CUDA backend, by own kernels. NVIDIA's cuDNN
// pads pooling by the same on both sides, which "same" padding is not, and normalises images with
// channels first.
#include <string>
#include <utility>

#include "workloads/backend/cuda/cuda_device.h"

namespace stepscope::workloads::cuda {
namespace {

template <class Shape>
std::string describe(Shape const& s) {
  return fmt::format("{} x {} x {} x {}", s.batch, s.height, s.width, s.channels);
}

class CudaMaxPool final : public MaxPool {
 public:
  CudaMaxPool(CudaDevice& device, std::string_view name, MaxPoolShape const& shape,
              Buffer positions)
      : device_(device),
        forward_name_(fmt::format("{}.forward", name)),
        backward_name_(fmt::format("{}.backward", name)),
        shape_(shape),
        positions_(std::move(positions)) {}

  void forward(float const* x, float* y) override {
    launch(forward_name_,
           [=, this](cudaStream_t stream) { max_pool_forward(stream, shape_, x, y, positions()); });
  }
  void backward(float const* dy, float* dx) override {
    launch(backward_name_, [=, this](cudaStream_t stream) {
      max_pool_backward(stream, shape_, dy, positions(), dx);
    });
  }

 private:
  [[nodiscard]] uint8_t* positions() const { return static_cast<uint8_t*>(positions_.data()); }
  template <class Work>
  void launch(std::string const& name, Work const& work) {
    device_.launch(
        name.c_str(), [this] { return describe(shape_); },
        [&](cudaStream_t stream) -> Expected<void> {
          work(stream);
          return {};
        });
  }

  CudaDevice& device_;
  std::string forward_name_, backward_name_;
  MaxPoolShape shape_;
  Buffer positions_;
};

class CudaLrn final : public Lrn {
 public:
  CudaLrn(CudaDevice& device, std::string_view name, LrnShape const& shape, Buffer scale)
      : device_(device),
        forward_name_(fmt::format("{}.forward", name)),
        backward_name_(fmt::format("{}.backward", name)),
        shape_(shape),
        scale_(std::move(scale)) {}

  void forward(float const* x, float* y) override {
    launch(forward_name_,
           [=, this](cudaStream_t stream) { lrn_forward(stream, shape_, x, y, scale_.floats()); });
  }
  void backward(float const* x, float const* dy, float* dx) override {
    launch(backward_name_, [=, this](cudaStream_t stream) {
      lrn_backward(stream, shape_, x, scale_.floats(), dy, dx);
    });
  }

 private:
  template <class Work>
  void launch(std::string const& name, Work const& work) {
    device_.launch(
        name.c_str(), [this] { return describe(shape_); },
        [&](cudaStream_t stream) -> Expected<void> {
          work(stream);
          return {};
        });
  }

  CudaDevice& device_;
  std::string forward_name_, backward_name_;
  LrnShape shape_;
  Buffer scale_;
};

}  // namespace

Expected<std::unique_ptr<MaxPool>> CudaDevice::max_pool(std::string_view name,
                                                        MaxPoolShape const& shape) {
  constexpr int64_t kPositions = 256;  // of a window; one byte an output
  if (shape.window * shape.window > kPositions) {
    return base::fail_unsupported(
        "{}: {}: a window of {} x {} is larger than 16 x 16, use a smaller one", this->name(), name,
        shape.window, shape.window);
  }

  auto positions = allocate(
      static_cast<size_t>(shape.batch * shape.out_height() * shape.out_width() * shape.channels),
      MemoryPurpose::kActivations, fmt::format("{}.positions", name));
  if (!positions) return base::fail_with(positions);
  return std::make_unique<CudaMaxPool>(*this, name, shape, std::move(*positions));
}

Expected<std::unique_ptr<Lrn>> CudaDevice::lrn(std::string_view name, LrnShape const& shape) {
  constexpr int64_t kMaxChannels =
      4096;  // a pixel's must fit into a block's shared memory, twelve kilobytes to spare
  if (shape.channels > kMaxChannels) {
    return base::fail_unsupported("{}: {}: {} channels are more than {}, use fewer", this->name(),
                                  name, shape.channels, kMaxChannels);
  }

  auto scale =
      allocate(static_cast<size_t>(shape.batch * shape.height * shape.width * shape.channels) *
                   sizeof(float),
               MemoryPurpose::kActivations, fmt::format("{}.kept", name));
  if (!scale) return base::fail_with(scale);
  return std::make_unique<CudaLrn>(*this, name, shape, std::move(*scale));
}

}  // namespace stepscope::workloads::cuda
