// A CUDA device: a GPU, or a share of one (a logical device), behind the Device interface. Three
// in-order CUDA streams, an arena over cudaMalloc, cuDNN for convolutions, cuBLASLt for products,
// own kernels for the rest. The tracer sees its work by CUPTI; each operation is launched inside an
// annotation with its name, so that a trace tells which layer a kernel belongs to.
//
// The first error of any library is kept with the operation's name and shape, and told by
// failure(); after it nothing is enqueued.
#pragma once

#include <array>
#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "tracer/api/annotate.h"
#include "workloads/backend/arena.h"
#include "workloads/backend/backend.h"
#include "workloads/backend/cuda/event.h"
#include "workloads/backend/cuda/exchange.h"
#include "workloads/backend/cuda/kernels.h"
#include "workloads/backend/cuda/libraries.h"

namespace stepscope::workloads::cuda {

/// CUDA's words for an error, and what to do. `what`: the call, or the operation and its shape.
base::Expected<void> to_expected(cudaError_t error, std::string_view what);

struct CudaDeviceSettings {
  uint32_t index = 0, member = 0;  ///< in this process, and in the group
  int gpu = 0;
  std::string name;
  uint64_t capacity_bytes = 0;
  DeviceFaults faults;
  Precision precision = Precision::kFp32;
};

/// State of the graph that is being captured.
struct GraphCapture {
  bool begun = false;
  uint64_t operations = 0;
  std::optional<std::string> refused;  ///< why no graph comes of it; what comes later is dropped
};

class CudaDevice final : public Device {
 public:
  /// Errors: the GPU cannot be used, a library refuses. `group` must outlive the device.
  static Expected<std::unique_ptr<CudaDevice>> create(CudaDeviceSettings settings,
                                                      std::shared_ptr<Libraries const> libraries,
                                                      Exchange& group);
  ~CudaDevice() override;

  [[nodiscard]] std::string const& name() const override { return settings_.name; }
  [[nodiscard]] uint32_t index() const override { return settings_.index; }

  Expected<Buffer> allocate(size_t bytes, MemoryPurpose purpose, std::string_view owner) override;
  void release(void* data) override;
  [[nodiscard]] MemoryUse memory() const override { return arena_.use(); }
  /// Takes all of its memory from the system at once.
  Expected<void> reserve_memory() { return arena_.reserve_all(); }

  Event record(StreamKind stream) override;
  void wait(StreamKind stream, Event const& event) override;
  void synchronize(Event const& event) override;
  void synchronize() override;
  [[nodiscard]] Expected<void> failure() const override;
  std::shared_ptr<void> pin(void const* data, size_t bytes) override;
  void copy(StreamKind stream, char const* name, void* to, void const* from, size_t bytes,
            CopyDirection direction) override;

  Expected<std::unique_ptr<Conv2d>> conv2d(std::string_view name,
                                           Conv2dShape const& shape) override;
  Expected<std::unique_ptr<MaxPool>> max_pool(std::string_view name,
                                              MaxPoolShape const& shape) override;
  Expected<std::unique_ptr<Lrn>> lrn(std::string_view name, LrnShape const& shape) override;
  Expected<std::unique_ptr<Dense>> dense(std::string_view name, DenseShape const& shape) override;
  Expected<std::unique_ptr<MatMul>> matmul(std::string_view name,
                                           MatMulShape const& shape) override;

  void run(char const* name, elementwise::Op const& op, size_t count) override;
  void run_rows(char const* name, rowwise::Op const& op, int64_t rows) override;
  void collective(char const* name, Communicator& communicator, Collective const& what) override;
  void begin_capture() override;
  Expected<std::unique_ptr<LaunchGraph>> end_capture(char const* name) override;
  void replay(LaunchGraph& graph) override;
  [[nodiscard]] OpCounts counts() const override;

  // For the layers of this backend.

  /// Enqueues an operation of the compute stream: `work(stream)` returns Expected<void>, and CUDA's
  /// last error is looked at after it. `describe()`: the shape, for an error message.
  template <class Describe, class Work>
  void launch(char const* name, Describe const& describe, Work const& work) {
    if (!begin_launch()) return;
    count_operation();

    enqueue(StreamKind::kCompute, name, describe, [&](cudaStream_t stream) {
      bool const slow = settings_.faults.slow_device == static_cast<int64_t>(settings_.member);
      if (slow) begin_slow(stream, slow_begin());
      Expected<void> const done = work(stream);
      if (slow) end_slow(stream, slow_begin());
      return done;
    });

    after_launch(StreamKind::kCompute, false);
  }
  /// Whether operations are kept for a graph, not done.
  [[nodiscard]] bool is_capturing() const { return capture_.has_value(); }
  /// Makes sure that workspace() has `bytes`. Layers share it: the compute stream runs one
  /// operation at a time.
  Expected<void> reserve_workspace(size_t bytes, std::string_view owner);
  [[nodiscard]] void* workspace() const { return workspace_.data(); }
  [[nodiscard]] Scratch scratch() const;
  [[nodiscard]] Libraries const& libraries() const { return *libraries_; }
  [[nodiscard]] cudnnHandle_t cudnn() const { return cudnn_; }
  [[nodiscard]] cublasLtHandle_t cublas() const { return cublas_; }
  [[nodiscard]] Precision precision() const { return settings_.precision; }
  /// Every call into CUDA is for the calling thread's current GPU.
  void activate() const { cudaSetDevice(settings_.gpu); }

 private:
  struct Staging {
    Buffer memory;
    std::shared_ptr<Message> last;  ///< what it held
  };

  CudaDevice(CudaDeviceSettings settings, std::shared_ptr<Libraries const> libraries,
             Exchange& group);
  Expected<void> open();

  [[nodiscard]] cudaStream_t stream(StreamKind kind) const {
    return streams_[static_cast<size_t>(kind)];
  }
  [[nodiscard]] uint64_t* slow_begin() const;
  /// The host's side of a launch, DeviceFaults included. False: the device has failed, or no graph
  /// comes of the capture.
  bool begin_launch();
  void after_launch(StreamKind kind, bool is_copy);
  /// `work(stream)` inside an annotation; its error, or CUDA's, is the device's failure.
  template <class Describe, class Work>
  void enqueue(StreamKind kind, char const* name, Describe const& describe, Work const& work) {
    api::Work const range(name);
    Expected<void> done = work(stream(kind));
    if (done) done = to_expected(cudaGetLastError(), "launch");
    if (done) return;

    if (is_capturing()) {
      refuse(fmt::format("{}: {}", name, done.error().message));
    } else {
      fail(name, describe(), done.error().message);
    }
  }
  void count_operation();
  /// A graph is being captured, and none comes of it: the first reason is kept.
  void refuse(std::string_view why);
  /// Whether `what` is dropped, because it cannot be a part of the graph that is being captured.
  bool is_refused(std::string_view what);
  /// Keeps the first one, and frees the other members of the group from waiting for this one.
  void fail(std::string_view operation, std::string_view shape, std::string_view message);
  [[nodiscard]] bool failed() const { return failed_.load(std::memory_order_relaxed); }

  // Collectives and messages; collectives.cpp.
  Expected<void> exchange(Exchange& group, Collective const& what);
  Expected<void> exchange_by_nccl(Exchange& group, Collective const& what);
  Expected<void> take_part(std::vector<Posting> const& all, Collective const& what);
  /// Holds the communication stream until all members have reached this point, `mine` shown to
  /// them.
  Expected<std::shared_ptr<std::vector<Posting> const>> meet(Exchange& group, Posting mine);
  Expected<void> send(Exchange& group, Collective const& what);
  Expected<void> receive(Exchange& group, Collective const& what);
  Expected<Staging*> find_staging(Exchange& group, size_t bytes);

  CudaDeviceSettings settings_;
  std::shared_ptr<Libraries const> libraries_;
  Exchange& group_;
  Arena arena_;
  std::shared_ptr<EventPool> events_ = std::make_shared<EventPool>();
  std::shared_ptr<ClockBase const> clock_;
  int64_t clock_measured_ns_ = 0;
  cudnnHandle_t cudnn_ = nullptr;
  cublasLtHandle_t cublas_ = nullptr;
  std::array<cudaStream_t, 3> streams_ = {};
  cudaStream_t idle_ = nullptr;  ///< for ClockBase
  Buffer workspace_, scratch_;
  std::list<Staging> staging_;
  std::optional<GraphCapture> capture_;
  std::atomic<bool> failed_ = false;
  mutable std::mutex failure_mutex_;
  std::optional<std::string> failure_;
  std::atomic<uint64_t> launches_ = 0, kernels_ = 0, copies_ = 0, collectives_ = 0;
  std::atomic<uint64_t> host_to_device_bytes_ = 0, device_to_host_bytes_ = 0, collective_bytes_ = 0,
                        graphs_ = 0;
};

}  // namespace stepscope::workloads::cuda
