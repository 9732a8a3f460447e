// Records as CUPTI writes them, made by hand, and buffers of them.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "tracer/cupti/cupti_api.h"

namespace stepscope::tracer {

/// CLOCK_MONOTONIC of the moment that traces of these tests begin at.
inline constexpr uint64_t kOrigin = 5'000'000;

class RecordBuffer {
 public:
  template <class Record>
  RecordBuffer& add(Record const& record) {
    size_t const at = bytes_.size();
    bytes_.resize(at + sizeof record);
    std::memcpy(bytes_.data() + at, &record, sizeof record);
    return *this;
  }
  /// Without the last `bytes`.
  RecordBuffer& cut(size_t bytes) {
    bytes_.resize(bytes_.size() - bytes);
    return *this;
  }
  [[nodiscard]] std::span<uint8_t> bytes() { return bytes_; }
  [[nodiscard]] std::span<uint8_t const> bytes() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

/// All times are ns of the trace.
struct When {
  uint64_t start = 0, end = 0;
};

template <class Record>
Record op(CUpti_ActivityKind kind, When when, uint32_t correlation, uint32_t stream = 7,
          uint32_t device = 0) {
  Record record{};
  record.kind = kind;
  record.start = kOrigin + when.start;
  record.end = kOrigin + when.end;

  record.correlationId = correlation;
  record.deviceId = device;
  record.contextId = device + 1;
  record.streamId = stream;
  return record;
}

template <class Record = CUpti_ActivityKernel9>
Record kernel(char const* name, When when, uint32_t correlation, uint32_t stream = 7,
              uint32_t device = 0) {
  auto record =
      op<Record>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, when, correlation, stream, device);
  record.name = name;

  record.gridX = 10;
  record.gridY = 2;
  record.gridZ = 1;
  record.blockX = 128;
  record.blockY = 2;
  record.blockZ = 1;

  record.registersPerThread = 32;
  record.staticSharedMemory = 1000;
  record.dynamicSharedMemory = 24;
  return record;
}

inline CUpti_ActivityMemcpy5 copy(CUpti_ActivityMemcpyKind kind, CUpti_ActivityMemoryKind source,
                                  CUpti_ActivityMemoryKind target, uint64_t bytes, When when,
                                  uint32_t correlation) {
  auto record = op<CUpti_ActivityMemcpy5>(CUPTI_ACTIVITY_KIND_MEMCPY, when, correlation);
  record.copyKind = static_cast<uint8_t>(kind);
  record.srcKind = static_cast<uint8_t>(source);
  record.dstKind = static_cast<uint8_t>(target);
  record.bytes = bytes;
  return record;
}

inline CUpti_ActivityAPI call(CUpti_ActivityKind kind, CUpti_CallbackId function, When when,
                              uint32_t correlation, uint32_t thread = 100) {
  CUpti_ActivityAPI record{};
  record.kind = kind;
  record.cbid = function;
  record.start = kOrigin + when.start;
  record.end = kOrigin + when.end;
  record.threadId = thread;
  record.correlationId = correlation;
  return record;
}
inline CUpti_ActivityAPI runtime_call(CUpti_runtime_api_trace_cbid function, When when,
                                      uint32_t correlation, uint32_t thread = 100) {
  return call(CUPTI_ACTIVITY_KIND_RUNTIME, function, when, correlation, thread);
}
inline CUpti_ActivityAPI driver_call(CUpti_driver_api_trace_cbid function, When when,
                                     uint32_t correlation, uint32_t thread = 100) {
  return call(CUPTI_ACTIVITY_KIND_DRIVER, function, when, correlation, thread);
}

inline CUpti_ActivitySynchronization sync_record(
    CUpti_ActivitySynchronizationType type, When when, uint32_t correlation, uint32_t stream,
    uint32_t event = CUPTI_SYNCHRONIZATION_INVALID_VALUE) {
  CUpti_ActivitySynchronization record{};
  record.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  record.type = type;
  record.start = kOrigin + when.start;
  record.end = kOrigin + when.end;

  record.correlationId = correlation;
  record.contextId = 1;
  record.streamId = stream;
  record.cudaEventId = event;
  return record;
}

inline CUpti_ActivityCudaEvent event_record(uint32_t event, uint32_t stream, uint32_t correlation) {
  CUpti_ActivityCudaEvent record{};
  record.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT;
  record.eventId = event;
  record.streamId = stream;
  record.contextId = 1;
  record.correlationId = correlation;
  return record;
}

inline CUpti_ActivityMemory3 memory_record(
    CUpti_ActivityMemoryOperationType op, uint64_t address, uint64_t bytes, uint64_t time,
    uint32_t correlation, CUpti_ActivityMemoryKind kind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE) {
  CUpti_ActivityMemory3 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  record.memoryOperationType = op;
  record.memoryKind = kind;

  record.address = address;
  record.bytes = bytes;
  record.timestamp = kOrigin + time;
  record.correlationId = correlation;
  return record;
}
inline constexpr auto kAllocation = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
inline constexpr auto kRelease = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;

inline CUpti_ActivityContext context_record(uint32_t context = 1, uint32_t device = 0,
                                            uint16_t default_stream = 7) {
  CUpti_ActivityContext record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONTEXT;
  record.contextId = context;
  record.deviceId = device;
  record.nullStreamId = default_stream;
  return record;
}

inline CUpti_ActivityExternalCorrelation external_record(CUpti_ExternalCorrelationKind of,
                                                         uint64_t id, uint32_t correlation) {
  CUpti_ActivityExternalCorrelation record{};
  record.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
  record.externalKind = of;
  record.externalId = id;
  record.correlationId = correlation;
  return record;
}

/// The limits of an H100.
inline CUpti_ActivityDevice4 device_record(char const* name, uint32_t device = 0) {
  CUpti_ActivityDevice4 record{};
  record.kind = CUPTI_ACTIVITY_KIND_DEVICE;
  record.id = device;
  record.name = name;

  record.globalMemorySize = uint64_t{80} << 30;
  record.numMultiprocessors = 132;
  record.numThreadsPerWarp = 32;
  record.maxWarpsPerMultiprocessor = 64;
  record.maxBlocksPerMultiprocessor = 32;
  record.maxRegistersPerMultiprocessor = 65'536;
  record.maxSharedMemoryPerMultiprocessor = 233'472;
  record.computeCapabilityMajor = 9;
  return record;
}

}  // namespace stepscope::tracer
