// What the doubles of NVIDIA's libraries tell each other about a device's work: operations, calls
// of the CUDA APIs, memory and waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include <cuda_runtime_api.h>

namespace stepscope::cuda_doubles {

enum class OperationKind : uint8_t { kKernel, kCopy, kFill, kOther };

struct Operation {
  OperationKind kind = OperationKind::kOther;
  std::string name;  ///< of a kernel
  dim3 grid, block;
  size_t shared_bytes = 0;  ///< dynamic, of a block
  size_t bytes = 0;         ///< of a copy or fill
  /// As CUpti_ActivityMemcpyKind and CUpti_ActivityMemoryKind number them.
  uint8_t copy_kind = 0, source_memory = 0, target_memory = 0;
  std::function<void()> work;  ///< runs on the stream's thread

  // The engine fills in the rest when the operation is queued.
  int device = 0;
  uint32_t context = 0, stream = 0, correlation = 0;
  uint32_t graph = 0;  ///< 0 outside of graphs
  uint64_t graph_node = 0;
};

/// A call of the CUDA runtime or driver.
struct ApiCall {
  int domain = 0;       ///< as CUpti_CallbackDomain numbers it: 1 driver, 2 runtime
  uint32_t number = 0;  ///< of the function in its domain
  char const* name = nullptr;
  uint32_t correlation = 0;
  int result = 0;
  int64_t start_ns = 0, end_ns = 0;  ///< CLOCK_MONOTONIC
};

struct MemoryEvent {
  bool is_allocation = false;
  uint64_t address = 0, bytes = 0;
  uint8_t memory = 0;  ///< as CUpti_ActivityMemoryKind numbers it
  int device = 0;
  uint32_t correlation = 0;
};

/// A wait; `type` as CUpti_ActivitySynchronizationType numbers it.
struct Synchronization {
  uint8_t type = 0;
  int64_t start_ns = 0, end_ns = 0;
  uint32_t correlation = 0, context = 0, stream = 0, event = 0;
};

struct EventRecord {
  uint32_t event = 0, context = 0, stream = 0, correlation = 0;
};

/// A tool that watches the engine: CUPTI's double implements it. Calls come on the thread that
/// makes the CUDA call, operation_done() and operation_dropped() on the stream's thread.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void call_begins(ApiCall const& call) = 0;
  virtual void call_ends(ApiCall const& call) = 0;
  /// The result is passed to one of the next two; null when nothing is recorded.
  virtual void* operation_queued(Operation const& operation) = 0;
  virtual void operation_done(void* token, Operation const& operation, int64_t start_ns,
                              int64_t end_ns) = 0;
  /// It never runs: its record stays as it is.
  virtual void operation_dropped(void* token) = 0;
  virtual void memory_changed(MemoryEvent const& event) = 0;
  virtual void waited(Synchronization const& wait) = 0;
  virtual void event_recorded(EventRecord const& record) = 0;
  virtual void context_made(int device, uint32_t context) = 0;
  virtual void driver_initialized() = 0;
};

}  // namespace stepscope::cuda_doubles
