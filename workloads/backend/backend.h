// What a workload is written against: devices with three in-order streams, events between streams,
// device memory, copies, the layers of the bundled networks and collectives. A backend is one
// folder; backends.cpp is the list of them.
//
// Everything that works on a device is asynchronous: the call enqueues on a stream and returns.
// Compute runs on the compute stream, collectives and messages on the communication stream, copies
// where the caller says. Pointers are device memory, float32, and must stay valid until the work is
// over. Layouts: images [batch][height][width][channels], convolution weights [out][kernel
// row][kernel column][in], fully connected weights [out][in]. Names of operations are what a trace
// shows; a `char const*` name must outlive the operation, and so must a layer. One host thread a
// device at a time.
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
#include "workloads/backend/elementwise.h"
#include "workloads/backend/layers.h"
#include "workloads/backend/rowwise.h"

namespace stepscope::mpi {
class Processes;
}

namespace stepscope::workloads {

using api::CollectiveOp;
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

/// Operations of a device's compute stream that were captured together and are launched by one
/// call: a CUDA graph. Must go before its device.
class LaunchGraph {
 public:
  virtual ~LaunchGraph() = default;
};

/// The members of a collective; made by the backend, one for all devices of a group, rank =
/// position in the group.
class Communicator {
 public:
  virtual ~Communicator() = default;
};

struct MemoryUse {
  uint64_t capacity_bytes, allocated_bytes, reserved_bytes, peak_allocated_bytes,
      peak_reserved_bytes;
};
/// Counted by the device itself: `launches` when enqueued, the others when executed (CUDA: when
/// enqueued; `kernels` counts operations; a library may make several kernels of one).
struct OpCounts {
  uint64_t launches = 0, kernels = 0, copies = 0, collectives = 0;
  uint64_t host_to_device_bytes = 0, device_to_host_bytes = 0, collective_bytes = 0;
  uint64_t graphs = 0;  ///< launches that were of a graph; its operations are in `kernels`
};

/// What one member does in a collective or message. `count`: floats of the whole message (of one
/// member's part × members for all-gather and reduce-scatter). Reductions are means. All-reduce
/// works in `receive`, which `send` may repeat. Also in place: all-gather where `send` is the
/// member's part of `receive`, reduce-scatter the other way round, broadcast on the root. Ops:
/// all-reduce, reduce-scatter, all-gather, broadcast, send, receive. Messages of a pair arrive in
/// order; a send does not wait for its receive, so that two members may both send first.
struct Collective {
  CollectiveOp op;
  float const* send = nullptr;
  float* receive = nullptr;
  size_t count = 0;
  uint32_t peer = 0;  ///< root of a broadcast, the other side of a send or receive
};

class Device {
 public:
  virtual ~Device() = default;
  /// "host:0"
  [[nodiscard]] virtual std::string const& name() const = 0;
  [[nodiscard]] virtual uint32_t index() const = 0;

  // Memory. Errors: out of memory; the message says what was asked, what is left and who holds the
  // rest.
  virtual Expected<Buffer> allocate(size_t bytes, MemoryPurpose purpose,
                                    std::string_view owner) = 0;
  virtual void release(void* data) = 0;  ///< for Buffer
  [[nodiscard]] virtual MemoryUse memory() const = 0;

  // Order between streams and with the host.
  virtual Event record(StreamKind stream) = 0;
  virtual void wait(StreamKind stream,
                    Event const& event) = 0;         ///< holds the stream, not the caller
  virtual void synchronize(Event const& event) = 0;  ///< blocks the caller
  virtual void synchronize() = 0;  ///< blocks the caller until all streams are empty

  /// The first thing that went wrong on the device since it was opened: what was enqueued after it
  /// may not have happened. For a caller that has just synchronized; devices that cannot fail have
  /// none.
  [[nodiscard]] virtual Expected<void> failure() const { return {}; }

  /// Page-locks host memory that is copied often, until the result goes, so that copies do not wait
  /// for the caller. Null where that is not needed or not possible.
  virtual std::shared_ptr<void> pin(void const* /*data*/, size_t /*bytes*/) { return nullptr; }

  /// From peer to peer, one side is memory of another device of the group.
  virtual void copy(StreamKind stream, char const* name, void* to, void const* from, size_t bytes,
                    CopyDirection direction) = 0;

  // Layers; `name` is the layer's, operations are "<name>.forward", "<name>.backward.data", …
  // Errors: out of memory, or the backend has no implementation for the shape.
  virtual Expected<std::unique_ptr<Conv2d>> conv2d(std::string_view name,
                                                   Conv2dShape const& shape) = 0;
  virtual Expected<std::unique_ptr<MaxPool>> max_pool(std::string_view name,
                                                      MaxPoolShape const& shape) = 0;
  virtual Expected<std::unique_ptr<Lrn>> lrn(std::string_view name, LrnShape const& shape) = 0;
  virtual Expected<std::unique_ptr<Dense>> dense(std::string_view name,
                                                 DenseShape const& shape) = 0;

  virtual Expected<std::unique_ptr<MatMul>> matmul(std::string_view name,
                                                   MatMulShape const& shape) = 0;

  /// One operation on `count` elements, or on `rows` rows.
  virtual void run(char const* name, elementwise::Op const& op, size_t count) = 0;
  virtual void run_rows(char const* name, rowwise::Op const& op, int64_t rows) = 0;

  /// This device's part in a collective or in a message to a peer. Every member must call
  /// collectives in the same order with the same count; the results are bit-identical on all
  /// members. The same holds for messages between their two sides.
  virtual void collective(char const* name, Communicator& communicator, Collective const& what) = 0;

  // Graphs. Work that is enqueued on the compute stream between the two is not done but kept, with
  // its arguments. Nothing else may be asked of the device meanwhile: no copy, event, collective or
  // message. The device's host thread calls these.

  virtual void begin_capture() {}
  /// Null: nothing was enqueued. Errors: why it cannot be kept; then nothing of it was done either.
  virtual Expected<std::unique_ptr<LaunchGraph>> end_capture(char const* /*name*/) {
    return base::fail_unsupported("{}: has no graphs", name());
  }
  /// Enqueues the graph's operations on the compute stream, reported under the name that
  /// end_capture() was given.
  virtual void replay(LaunchGraph& /*graph*/) {}

  [[nodiscard]] virtual OpCounts counts() const = 0;
};

inline Buffer::~Buffer() {
  if (device_ != nullptr) device_->release(data_);
}

/// What a device does wrong on purpose, see fault_injection.h.
struct DeviceFaults {
  bool synchronize_every_op = false;  ///< the caller waits for each operation
  bool pageable_copies =
      false;  ///< the caller waits for each copy, from memory that is not page-locked
  bool uncached_memory = false;  ///< every allocation comes from the system and goes back to it
  int64_t launch_delay_us = 0;   ///< the caller is busy before each launch
  size_t largest_operation =
      0;  ///< elements; longer element-wise operations are launched in pieces; 0 = as they are
  int64_t slow_device = -1;  ///< member of the communicator; takes twice as long to compute
};

/// What matrix products and convolutions compute in. Data are float32 in all of them.
enum class Precision : uint8_t {
  kFp32,  ///< IEEE float32
  kTf32,  ///< products of 10-bit mantissas, float32 sums
  kBf16   ///< inputs rounded to bfloat16, float32 sums
};
/// "fp32"
std::string_view precision_name(Precision precision);

struct DeviceOptions {
  uint64_t memory_limit_bytes = 0;  ///< per device; 0 = the backend's default
  DeviceFaults faults = {};
  Precision precision = Precision::kFp32;  ///< host devices: kFp32 only
  std::shared_ptr<mpi::Processes> processes =
      {};  ///< whose devices train together; null = those of this one alone
  bool memory_growth =
      true;  ///< memory is taken from the system as it is needed; false = all of it at once
  uint32_t first_index = 0;     ///< of the devices of this process, host devices only
  bool log_placement = false;   ///< say on stderr which device each operation runs on
  bool soft_placement = false;  ///< what a device lacks is computed on the host
  bool graphs = false;          ///< will be asked for graphs; host devices have none
};
struct DeviceGroup {
  std::shared_ptr<Communicator> communicator;
  std::vector<std::unique_ptr<Device>> devices;  ///< of this process
  uint32_t first_member = 0,
           members = 0;  ///< of the communicator; device d is member first_member + d
};
/// "host", "host:4" (four host devices), "cuda" (the first GPU), "cuda:1" (GPU 1), "cuda:0,cuda:1",
/// "cuda:0,cuda:0" (two devices that share a GPU), "cuda:all". Each of several processes takes its
/// part (cuda/process_gpus.h), and all must call it. Errors: unknown device, bad count, no such
/// GPU, no CUDA; the message says what to do.
Expected<DeviceGroup> open_devices(std::string_view specification, DeviceOptions const& options);
/// What went wrong first on one of the devices, see Device::failure().
Expected<void> check_devices(DeviceGroup const& group);

}  // namespace stepscope::workloads
