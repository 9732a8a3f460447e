#include "tests/cuda_doubles/cupti/records.h"

#include <cstring>
#include <type_traits>
#include <utility>

#include "tests/cuda_doubles/device/knobs.h"

namespace stepscope::cuda_doubles {
namespace {

template <class Record>
void fill_common(Record& record, Operation const& operation) {
  record.kind = kind_of(operation.kind);
  record.deviceId = static_cast<uint32_t>(operation.device);
  record.contextId = operation.context;
  record.streamId = operation.stream;
  record.correlationId = operation.correlation;
  record.graphId = operation.graph;
  record.graphNodeId = operation.graph_node;
}

template <class Record>
void fill_kernel(Record& record, Operation const& operation, char const* name) {
  auto const& [grid, block] = std::pair(operation.grid, operation.block);
  record.gridX = static_cast<int32_t>(grid.x);
  record.gridY = static_cast<int32_t>(grid.y);
  record.gridZ = static_cast<int32_t>(grid.z);
  record.blockX = static_cast<int32_t>(block.x);
  record.blockY = static_cast<int32_t>(block.y);
  record.blockZ = static_cast<int32_t>(block.z);

  record.registersPerThread = 32;
  record.dynamicSharedMemory = static_cast<int32_t>(operation.shared_bytes);
  record.name = name;
}

template <class Record>
void fill_copy(Record& record, Operation const& operation) {
  record.copyKind = operation.copy_kind;
  record.srcKind = operation.source_memory;
  record.dstKind = operation.target_memory;
  record.bytes = operation.bytes;
  if constexpr (requires { record.copyCount; }) record.copyCount = 1;
}

template <class Record>
void fill_fill(Record& record, Operation const& operation) {
  record.bytes = operation.bytes;
  record.memoryKind = operation.target_memory;
}

/// Writes an operation's record that `fill` completes.
template <class Layouts, class Fill>
void write(uint8_t* place, Layouts layouts, Operation const& operation, Fill&& fill) {
  with_record(layouts, cupti_version(), [&](auto record) {
    fill_common(record, operation);
    fill(record);
    std::memcpy(place, &record, sizeof record);
  });
}

template <class Layouts>
void set_times(uint8_t* place, Layouts layouts, uint64_t start, uint64_t end) {
  with_record(layouts, cupti_version(), [&](auto const& empty) {
    auto& record = *reinterpret_cast<std::remove_cvref_t<decltype(empty)>*>(place);
    record.start = start;
    record.end = end;
  });
}

}  // namespace

uint32_t cupti_version() {
  return static_cast<uint32_t>(number_of_knob("DOUBLE_CUPTI_VERSION", k13v0Update1));
}

CUpti_ActivityKind kind_of(OperationKind kind) {
  switch (kind) {
    case OperationKind::kKernel:
      return CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    case OperationKind::kCopy:
      return CUPTI_ACTIVITY_KIND_MEMCPY;
    case OperationKind::kFill:
      return CUPTI_ACTIVITY_KIND_MEMSET;
    case OperationKind::kOther:
      break;
  }
  return CUPTI_ACTIVITY_KIND_INVALID;
}

void write_operation(uint8_t* place, Operation const& operation, char const* name) {
  switch (operation.kind) {
    case OperationKind::kKernel:
      return write(place, KernelLayouts{}, operation,
                   [&](auto& record) { fill_kernel(record, operation, name); });
    case OperationKind::kCopy:
      return write(place, CopyLayouts{}, operation,
                   [&](auto& record) { fill_copy(record, operation); });

    case OperationKind::kFill:
      return write(place, FillLayouts{}, operation,
                   [&](auto& record) { fill_fill(record, operation); });
    case OperationKind::kOther:
      break;
  }
}

void write_times(uint8_t* place, OperationKind kind, uint64_t start, uint64_t end) {
  switch (kind) {
    case OperationKind::kKernel:
      return set_times(place, KernelLayouts{}, start, end);
    case OperationKind::kCopy:
      return set_times(place, CopyLayouts{}, start, end);
    case OperationKind::kFill:
      return set_times(place, FillLayouts{}, start, end);
    case OperationKind::kOther:
      break;
  }
}

}  // namespace stepscope::cuda_doubles
