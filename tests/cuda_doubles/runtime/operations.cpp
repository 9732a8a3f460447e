// The runtime's copies, fills, kernels and graphs: what becomes an operation of a stream.
#include <cstring>
#include <memory>
#include <vector>

#include "tests/cuda_doubles/device/knobs.h"
#include "tests/cuda_doubles/kernels/kernel_engine.h"
#include "tests/cuda_doubles/runtime/call.h"

namespace stepscope::cuda_doubles {
namespace {

// As CUpti_ActivityMemoryKind numbers them.
constexpr uint8_t kPageable = 1, kPinned = 2, kDevice = 3;
// As CUpti_ActivityMemcpyKind numbers them.
constexpr uint8_t kHostToDevice = 1, kDeviceToHost = 2, kDeviceToDevice = 8, kHostToHost = 9;

uint8_t place_of(Engine const& driver, void const* data, size_t bytes) {
  if (driver.device_of(data, bytes) >= 0) return kDevice;
  return driver.is_pinned(data, bytes) ? kPinned : kPageable;
}

uint8_t kind_of_copy(uint8_t source, uint8_t target) {
  if (source == kDevice) return target == kDevice ? kDeviceToDevice : kDeviceToHost;
  return target == kDevice ? kHostToDevice : kHostToHost;
}

/// Whether the pointers are where `kind` says ("Memory Management", cudaMemcpyAsync).
bool are_right(uint8_t actual, cudaMemcpyKind kind) {
  switch (kind) {
    case cudaMemcpyHostToDevice:
      return actual == kHostToDevice;
    case cudaMemcpyDeviceToHost:
      return actual == kDeviceToHost;
    case cudaMemcpyDeviceToDevice:
      return actual == kDeviceToDevice;
    case cudaMemcpyHostToHost:
      return actual == kHostToHost;
    case cudaMemcpyDefault:
      break;
  }
  return true;
}

struct Copy {
  void* to = nullptr;
  void const* from = nullptr;
  size_t bytes = 0;
};

/// DOUBLE_CUDA_CHECK_PIN=1 ends the program when a copy runs whose host memory is page-locked no
/// more: it may have been freed.
void check_pinned(Engine const& driver, uint8_t place, void const* data, size_t bytes) {
  if (place == kPinned && !driver.is_pinned(data, bytes))
    die("CUDA", "a copy runs after its host memory was unregistered");
}

std::function<void()> work_of(Engine& driver, Copy const& copy, uint8_t source, uint8_t target) {
  static bool const checks_pin = number_of_knob("DOUBLE_CUDA_CHECK_PIN", 0) != 0;
  auto const& [to, from, bytes] = copy;

  // Pageable memory is copied aside before the call returns ("API synchronization behavior").
  if (source == kPageable) {
    auto const* const first = static_cast<char const*>(from);
    auto const staged = std::make_shared<std::vector<char>>(first, first + bytes);
    return [copy, staged] { std::memcpy(copy.to, staged->data(), copy.bytes); };
  }

  return [&driver, copy, source, target] {
    if (checks_pin) {
      check_pinned(driver, source, copy.from, copy.bytes);
      check_pinned(driver, target, copy.to, copy.bytes);
    }
    std::memcpy(copy.to, copy.from, copy.bytes);
  };
}

cudaError_t queue_copy(Engine& driver, Copy const& copy, cudaMemcpyKind kind, cudaStream_t stream) {
  uint8_t const source = place_of(driver, copy.from, copy.bytes);
  uint8_t const target = place_of(driver, copy.to, copy.bytes);
  Operation operation;
  operation.kind = OperationKind::kCopy;
  operation.bytes = copy.bytes;
  operation.source_memory = source;
  operation.target_memory = target;
  operation.copy_kind = kind_of_copy(source, target);
  if (!are_right(operation.copy_kind, kind)) return cudaErrorInvalidValue;
  operation.work = work_of(driver, copy, source, target);

  cudaError_t const queued = driver.enqueue(stream, std::move(operation));
  // To pageable memory the call returns when the copy is done ("API synchronization behavior").
  return queued == cudaSuccess && target == kPageable ? driver.synchronize(stream) : queued;
}

Operation fill_operation(void* data, int value, size_t bytes) {
  Operation operation;
  operation.kind = OperationKind::kFill;
  operation.bytes = bytes;
  operation.target_memory = kDevice;
  operation.work = [=] { std::memset(data, value, bytes); };
  return operation;
}

Operation kernel_operation(std::string name, LaunchShape const& shape, KernelWork work) {
  Operation operation;
  operation.kind = OperationKind::kKernel;
  operation.name = std::move(name);
  operation.grid = shape.grid;
  operation.block = shape.block;
  operation.shared_bytes = shape.shared_bytes;
  operation.work = std::move(work);
  return operation;
}

Graph* to_graph(cudaGraph_t graph) { return reinterpret_cast<Graph*>(graph); }
Graph* to_graph(cudaGraphExec_t graph) { return reinterpret_cast<Graph*>(graph); }

/// Nodes run in the order in which they were added: a handle of one is never used.
void add_node(Engine& driver, cudaGraph_t graph, Operation operation, cudaGraphNode_t* node) {
  driver.add_node(to_graph(graph), std::move(operation));
  *node = reinterpret_cast<cudaGraphNode_t>(graph);
}

cudaError_t instantiate(Engine& driver, cudaGraphExec_t* executable, cudaGraph_t graph) {
  *executable = reinterpret_cast<cudaGraphExec_t>(driver.instantiate(to_graph(graph)));
  return cudaSuccess;
}

}  // namespace

void queue_kernel(std::string name, LaunchShape const& shape, cudaStream_t stream,
                  KernelWork work) {
  call_runtime(STEPSCOPE_FUNCTION(cudaLaunchKernel, v7000), [&](Engine& driver) {
    return driver.enqueue(stream, kernel_operation(std::move(name), shape, std::move(work)));
  });
}

}  // namespace stepscope::cuda_doubles

// NOLINTBEGIN(readability-identifier-naming): names of CUDA.
using namespace stepscope::cuda_doubles;  // NOLINT(google-build-using-namespace)

extern "C" {

cudaError_t cudaMemcpyAsync(void* to, void const* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaMemcpyAsync, v3020), [=](Engine& driver) {
    return queue_copy(driver, {to, from, bytes}, kind, stream);
  });
}

cudaError_t cudaMemcpy(void* to, void const* from, size_t bytes, cudaMemcpyKind kind) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaMemcpy, v3020), [=](Engine& driver) {
    cudaError_t const queued = queue_copy(driver, {to, from, bytes}, kind, nullptr);
    return queued == cudaSuccess ? driver.synchronize(cudaStream_t{}) : queued;
  });
}

cudaError_t cudaMemsetAsync(void* data, int value, size_t bytes, cudaStream_t stream) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaMemsetAsync, v3020), [=](Engine& driver) {
    if (place_of(driver, data, bytes) != kDevice) return cudaErrorInvalidValue;
    return driver.enqueue(stream, fill_operation(data, value, bytes));
  });
}

// Graphs.

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode /*mode*/) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaStreamBeginCapture, v10000),
                      [=](Engine& driver) { return driver.begin_capture(stream); });
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaStreamEndCapture, v10000), [=](Engine& driver) {
    Graph* captured = nullptr;
    cudaError_t const error = driver.end_capture(stream, &captured);
    *graph = reinterpret_cast<cudaGraph_t>(captured);
    return error;
  });
}

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned /*flags*/) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaGraphCreate, v10000), [=](Engine& driver) {
    *graph = reinterpret_cast<cudaGraph_t>(driver.create_graph());
    return cudaSuccess;
  });
}

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   cudaGraphNode_t const* /*before*/, size_t /*count*/,
                                   cudaKernelNodeParams const* kernel) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaGraphAddKernelNode, v10000), [=](Engine& driver) {
    LaunchShape const shape = {kernel->gridDim, kernel->blockDim, kernel->sharedMemBytes};
    KnownKernel const& known = find_kernel(kernel->func);
    add_node(driver, graph,
             kernel_operation(known.name, shape, known.bind(shape, kernel->kernelParams)), node);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph,
                                     cudaGraphNode_t const* /*before*/, size_t /*count*/, void* to,
                                     void const* from, size_t bytes, cudaMemcpyKind /*kind*/) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaGraphAddMemcpyNode1D, v11010), [=](Engine& driver) {
    Operation operation;
    operation.kind = OperationKind::kCopy;
    operation.bytes = bytes;
    operation.source_memory = place_of(driver, from, bytes);
    operation.target_memory = place_of(driver, to, bytes);
    operation.copy_kind = kind_of_copy(operation.source_memory, operation.target_memory);
    operation.work = [=] { std::memcpy(to, from, bytes); };

    add_node(driver, graph, std::move(operation), node);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                   cudaGraphNode_t const* /*before*/, size_t /*count*/,
                                   cudaMemsetParams const* fill) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaGraphAddMemsetNode, v10000), [=](Engine& driver) {
    size_t const bytes = fill->width * fill->elementSize * fill->height;
    add_node(driver, graph, fill_operation(fill->dst, static_cast<int>(fill->value), bytes), node);
    return cudaSuccess;
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long /*flags*/) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaGraphInstantiate, v12000),
                      [=](Engine& driver) { return instantiate(driver, executable, graph); });
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph,
                                          unsigned long long /*flags*/) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaGraphInstantiateWithFlags, v11040),
                      [=](Engine& driver) { return instantiate(driver, executable, graph); });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaGraphLaunch, v10000),
                      [=](Engine& driver) { return driver.launch(to_graph(executable), stream); });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaGraphDestroy, v10000), [=](Engine& driver) {
    driver.destroy(to_graph(graph));
    return cudaSuccess;
  });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  return call_runtime(STEPSCOPE_FUNCTION(cudaGraphExecDestroy, v10000), [=](Engine& driver) {
    driver.destroy(to_graph(executable));
    return cudaSuccess;
  });
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
