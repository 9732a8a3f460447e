// The state of the double of the driver: streams with a thread each, events, arrays between guard
// pages, graphs as lists of operations.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/cuda_doubles/device/engine.h"
#include "tests/cuda_doubles/device/knobs.h"
#include "tests/cuda_doubles/device/seen_order.h"
#include "tests/cuda_doubles/device/visible_devices.h"

namespace stepscope::cuda_doubles {

/// A counter orders no threads: the real driver promises no such order.
inline uint32_t next(std::atomic<uint32_t>& counter) {
  return counter.fetch_add(1, std::memory_order_relaxed) + 1;
}

/// One recording of an event.
struct Mark {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_reached = false;
  int64_t reached_ns = 0;
};

struct Graph {
  std::vector<Operation> operations;  ///< run one after the other
  uint32_t number = 0;
};

}  // namespace stepscope::cuda_doubles

// NVIDIA's headers declare these two types.
struct CUevent_st {
  std::mutex mutex;
  std::shared_ptr<stepscope::cuda_doubles::Mark> last;  ///< null = never recorded
  uint32_t number = 0;
  int device = 0;
  uint32_t stream = 0;  ///< in which it was recorded last
};

struct CUstream_st {
  int device = 0;
  uint32_t number = 0;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::unique_ptr<std::function<void()>>> queue;
  bool is_stopping = false, is_busy = false;
  std::thread thread;
  // While the stream is captured.
  std::unique_ptr<stepscope::cuda_doubles::Graph> capture;
  std::thread::id capturer;
  bool is_capture_invalid = false;
};

namespace stepscope::cuda_doubles {

class DriverEngine final : public Engine {
 public:
  static constexpr int kMaxDevices = 16;

  cudaError_t initialize() override;
  [[nodiscard]] int device_count() const override { return static_cast<int>(visible_.size()); }
  [[nodiscard]] int number_on_machine(int device) const override {
    return visible_[index_of(device)];
  }
  [[nodiscard]] int current_device() const override;
  cudaError_t set_current_device(int device) override;
  [[nodiscard]] cudaError_t sticky_error() const override;
  void synchronize_device() override;
  [[nodiscard]] bool has_context(int device) const { return has_context_[index_of(device)]; }
  [[nodiscard]] static uint32_t context_of(int device) { return static_cast<uint32_t>(device) + 1; }

  cudaError_t allocate(void** data, size_t bytes) override;
  cudaError_t free(void* data) override;
  cudaError_t pin(void* data, size_t bytes) override;
  cudaError_t unpin(void* data) override;
  [[nodiscard]] bool is_pinned(void const* data, size_t bytes) const override;
  [[nodiscard]] int device_of(void const* data, size_t bytes) const override;
  void memory_info(size_t* free_bytes, size_t* total_bytes) const override;

  cudaError_t create_stream(Stream** stream) override;
  cudaError_t destroy_stream(Stream* stream) override;
  cudaError_t synchronize(Stream* stream) override;
  cudaError_t enqueue(Stream* stream, Operation operation) override;
  cudaError_t create_event(Event** event) override;
  cudaError_t destroy_event(Event* event) override;
  cudaError_t record(Event* event, Stream* stream) override;
  cudaError_t query(Event* event) override;
  cudaError_t synchronize(Event* event) override;
  cudaError_t elapsed(float* milliseconds, Event* from, Event* to) override;
  cudaError_t wait(Stream* stream, Event* event) override;
  uint32_t number_of(Stream* stream, uint32_t* context) override;

  cudaError_t begin_capture(Stream* stream) override;
  cudaError_t end_capture(Stream* stream, Graph** graph) override;
  [[nodiscard]] bool is_thread_capturing() const override;
  Graph* create_graph() override;
  void add_node(Graph* graph, Operation operation) override;
  Graph* instantiate(Graph const* graph) override;
  cudaError_t launch(Graph* executable, Stream* stream) override;
  void destroy(Graph* graph) override;

  void set_observer(Observer* observer) override { observer_ = observer; }
  [[nodiscard]] Observer* observer() const override { return observer_; }
  void begin_call(ApiCall& call) override;
  void end_call(ApiCall& call, uint32_t outer) override;
  [[nodiscard]] uint32_t current_correlation() const override;

 private:
  struct Array {
    size_t bytes = 0;
    int device = 0;
  };

  static size_t index_of(int device) { return static_cast<size_t>(device); }
  void load_injection();

  /// The default stream of the current device for null.
  Stream* resolve(Stream* stream);
  Stream* start_stream(int device, uint32_t number);
  void run_stream(Stream& stream) const;
  static void push(Stream& stream, std::function<void()> work);
  static void drain(Stream& stream);
  [[nodiscard]] std::vector<Stream*> streams_of(int device) const;
  void check(Stream* stream) const;
  void check(Event* event) const;
  std::shared_ptr<Mark> last_mark(Event* event) const;
  /// Queues an operation that is not captured.
  void run(Stream& stream, Operation operation);
  static cudaError_t invalidate(Stream& stream, cudaError_t error);
  [[nodiscard]] bool fails_now(Operation const& operation);

  std::vector<int> const visible_ =
      visible_devices(static_cast<int>(number_of_knob("DOUBLE_CUDA_DEVICES", 1)));
  int64_t const jitter_us_ = number_of_knob("DOUBLE_CUDA_JITTER_US", 0);
  int64_t const failing_kernel_ = number_of_knob("DOUBLE_CUDA_FAIL_AT_KERNEL", 0);
  cudaError_t const error_of_kernel_ =
      static_cast<cudaError_t>(number_of_knob("DOUBLE_CUDA_FAIL_WITH", cudaErrorIllegalAddress));
  size_t const memory_bytes_ =  // of each device
      static_cast<size_t>(number_of_knob("DOUBLE_CUDA_MEMORY_MB", 4096)) << 20U;

  mutable std::mutex mutex_;  ///< for what follows, up to the atomics
  std::map<uint64_t, Array> arrays_;
  std::array<size_t, kMaxDevices> used_bytes_ = {};
  std::map<uint64_t, size_t> pinned_;
  std::set<Stream*> streams_;
  std::set<Event*> events_;
  std::array<Stream*, kMaxDevices> default_streams_ = {};

  std::once_flag initialized_;
  std::array<std::atomic<bool>, kMaxDevices> has_context_ = {};
  std::atomic<uint32_t> correlations_{0}, streams_made_{12}, events_made_{0}, graphs_made_{0};
  std::atomic<int64_t> kernels_queued_{0};
  std::atomic<cudaError_t> sticky_error_{cudaSuccess};
  mutable std::atomic<int> transfers_running_{0};  ///< copies and fills
  std::atomic<Observer*> observer_{nullptr};
};

/// The one of this process; it is never destroyed, as streams' threads outlive main().
DriverEngine& driver_engine();

}  // namespace stepscope::cuda_doubles
