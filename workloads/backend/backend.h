// What a workload is written against: devices with three in-order streams, events between streams, device memory, copies,
// the layers of the bundled networks and an all-reduce. A backend is one folder; backends.cpp is the list of them.
//
// Everything that works on a device is asynchronous: the call enqueues on a stream and returns. Compute runs on the compute
// stream, all-reduce on the communication stream, copies where the caller says. Pointers are device memory, float32, and must
// stay valid until the work is over. Layouts: images [batch][height][width][channels], convolution weights
// [out][kernel row][kernel column][in], fully connected weights [out][in]. Names of operations are what a trace shows; a
// `char const*` name must outlive the operation, and so must a layer. One host thread a device at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/base/expected.h"
#include "tracer/api/device_events.h"

namespace stepscope::workloads {

using api::CopyDirection;
using api::MemoryPurpose;
using api::StreamKind;
using base::Expected;

class Device;

/// A block of device memory, freed with the object; the device's work on it must be over by then.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Device& device, void* data, size_t bytes) : device_(&device), data_(data), bytes_(bytes) {}
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  Buffer(Buffer const&) = delete;
  Buffer& operator=(Buffer const&) = delete;
  ~Buffer();

  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] float* floats() const { return static_cast<float*>(data_); }
  [[nodiscard]] int32_t* ints() const { return static_cast<int32_t*>(data_); }
  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  Device* device_ = nullptr;
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

/// A point in a stream: reached when everything that was enqueued before it is over.
class EventState {
 public:
  virtual ~EventState() = default;
  /// When it was reached, on std::chrono::steady_clock; only after it was synchronized with.
  [[nodiscard]] virtual int64_t reached_ns() const = 0;
};
using Event = std::shared_ptr<EventState>;

struct Conv2dShape {
  int64_t batch, height, width, in_channels, out_channels;
  int64_t kernel, padding;  ///< square kernel, stride 1, `padding` zeros on every side
  bool relu;                ///< max(0, ·) on the output, inside the same operation

  [[nodiscard]] int64_t out_height() const { return height + 2 * padding - kernel + 1; }
  [[nodiscard]] int64_t out_width() const { return width + 2 * padding - kernel + 1; }
};
/// The gradients that backward_* take are those before the activation: apply Device::relu_backward first where `relu` is set.
class Conv2d {
 public:
  virtual ~Conv2d() = default;
  virtual void forward(float const* x, float const* weights, float const* bias, float* y) = 0;
  virtual void backward_data(float const* dy, float const* weights, float* dx) = 0;
  virtual void backward_weights(float const* x, float const* dy, float* d_weights, float* d_bias) = 0;
};

/// Square window; "same" padding: output = ceil(input / stride), padding (less at the front) never wins.
struct MaxPoolShape {
  int64_t batch, height, width, channels;
  int64_t window, stride;

  [[nodiscard]] int64_t out_height() const { return (height + stride - 1) / stride; }
  [[nodiscard]] int64_t out_width() const { return (width + stride - 1) / stride; }
};
/// backward uses the positions that the last forward found.
class MaxPool {
 public:
  virtual ~MaxPool() = default;
  virtual void forward(float const* x, float* y) = 0;
  virtual void backward(float const* dy, float* dx) = 0;
};

/// Local response normalisation across channels: y_c = x_c · (bias + alpha · Σ_{|j−c| ≤ radius} x_j²)^(−beta).
struct LrnShape {
  int64_t batch, height, width, channels;
  int64_t radius;
  float bias, alpha, beta;
};
class Lrn {
 public:
  virtual ~Lrn() = default;
  virtual void forward(float const* x, float* y) = 0;
  virtual void backward(float const* x, float const* dy, float* dx) = 0;
};

struct DenseShape {
  int64_t batch, inputs, outputs;
  bool relu;
};
/// y = x · weightsᵀ + bias, as Conv2d with regard to `relu`.
class Dense {
 public:
  virtual ~Dense() = default;
  virtual void forward(float const* x, float const* weights, float const* bias, float* y) = 0;
  virtual void backward_data(float const* dy, float const* weights, float* dx) = 0;
  virtual void backward_weights(float const* x, float const* dy, float* d_weights, float* d_bias) = 0;
};

/// The members of a collective; made by the backend, one for all devices of a group, rank = position in the group.
class Communicator {
 public:
  virtual ~Communicator() = default;
};

struct MemoryUse {
  uint64_t capacity_bytes, allocated_bytes, reserved_bytes, peak_allocated_bytes, peak_reserved_bytes;
};
/// Counted by the device itself: `launches` when enqueued, the others when executed.
struct OpCounts {
  uint64_t launches = 0, kernels = 0, copies = 0, collectives = 0;
  uint64_t host_to_device_bytes = 0, device_to_host_bytes = 0, collective_bytes = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  /// "host:0"
  [[nodiscard]] virtual std::string const& name() const = 0;
  [[nodiscard]] virtual uint32_t index() const = 0;

  // Memory. Errors: out of memory; the message says what was asked, what is left and who holds the rest.
  virtual Expected<Buffer> allocate(size_t bytes, MemoryPurpose purpose, std::string_view owner) = 0;
  virtual void release(void* data) = 0;  ///< for Buffer
  [[nodiscard]] virtual MemoryUse memory() const = 0;

  // Order between streams and with the host.
  virtual Event record(StreamKind stream) = 0;
  virtual void wait(StreamKind stream, Event const& event) = 0;  ///< holds the stream, not the caller
  virtual void synchronize(Event const& event) = 0;              ///< blocks the caller
  virtual void synchronize() = 0;                                ///< blocks the caller until all streams are empty

  virtual void copy(StreamKind stream, char const* name, void* to, void const* from, size_t bytes, CopyDirection direction) = 0;

  // Layers; `name` is the layer's, operations are "<name>.forward", "<name>.backward.data", … Errors: out of memory, or the
  // backend has no implementation for the shape.
  virtual Expected<std::unique_ptr<Conv2d>> conv2d(std::string_view name, Conv2dShape const& shape) = 0;
  virtual Expected<std::unique_ptr<MaxPool>> max_pool(std::string_view name, MaxPoolShape const& shape) = 0;
  virtual Expected<std::unique_ptr<Lrn>> lrn(std::string_view name, LrnShape const& shape) = 0;
  virtual Expected<std::unique_ptr<Dense>> dense(std::string_view name, DenseShape const& shape) = 0;

  /// dy ← dy where y > 0, else 0.
  virtual void relu_backward(char const* name, float const* y, float* dy, size_t count) = 0;
  /// Over rows of `classes` logits: d_logits = (softmax − one-hot) / batch; result[0] = mean cross entropy, result[1] = number
  /// of rows whose largest logit is the label's. A row with a negative label counts for nothing.
  virtual void softmax_cross_entropy(char const* name, int64_t batch, int64_t classes, float const* logits, int32_t const* labels,
                                     float* d_logits, float* result) = 0;
  /// weights ← weights − rate · (gradients + decay · weights)
  virtual void sgd_update(char const* name, float* weights, float const* gradients, size_t count, float rate, float decay) = 0;
  /// data ← mean over the members, bit-identical on all of them. Every member must call it in the same order with the same count.
  virtual void all_reduce_mean(char const* name, Communicator& communicator, float* data, size_t count) = 0;

  [[nodiscard]] virtual OpCounts counts() const = 0;
};

inline Buffer::~Buffer() {
  if (device_ != nullptr) device_->release(data_);
}

struct DeviceOptions {
  uint64_t memory_limit_bytes = 0;  ///< per device; 0 = the backend's default
};
struct DeviceGroup {
  std::shared_ptr<Communicator> communicator;
  std::vector<std::unique_ptr<Device>> devices;
};
/// "host", "host:4" (four host devices). Errors: unknown device, bad count.
Expected<DeviceGroup> open_devices(std::string_view specification, DeviceOptions const& options);

}  // namespace stepscope::workloads
