// Records of what the engine did, in the structures of the version that this CUPTI pretends to be
// (record_layouts.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/cuda_doubles/cupti/record_layouts.h"
#include "tests/cuda_doubles/device/engine.h"

namespace stepscope::cuda_doubles {

/// As cuptiGetVersion() reports it: DOUBLE_CUPTI_VERSION.
uint32_t cupti_version();

/// What records an operation; CUPTI_ACTIVITY_KIND_INVALID = nothing does.
CUpti_ActivityKind kind_of(OperationKind kind);

/// Without its times. `name`: of a kernel; it must outlive the record.
void write_operation(uint8_t* place, Operation const& operation, char const* name);
void write_times(uint8_t* place, OperationKind kind, uint64_t start, uint64_t end);

/// Fills in an empty record of a device, as the engine numbers devices.
template <class Record>
void describe_device(Record& record, int device, char first_of_uuid, bool is_mig) {
  record.kind = CUPTI_ACTIVITY_KIND_DEVICE;
  record.id = static_cast<uint32_t>(device);
  record.name = "Double of a GPU";
  record.globalMemorySize = uint64_t{4} << 30U;
  record.numMultiprocessors = 4;

  record.maxWarpsPerMultiprocessor = 64;
  record.maxBlocksPerMultiprocessor = 32;
  record.maxSharedMemoryPerMultiprocessor = 228 << 10;
  record.maxRegistersPerMultiprocessor = 65536;
  record.numThreadsPerWarp = 32;
  record.computeCapabilityMajor = 9;

  record.uuid.bytes[0] = first_of_uuid;
  if (!is_mig) return;
  record.isMigEnabled = 1;
  record.migUuid.bytes[0] = record.uuid.bytes[0];
  record.migUuid.bytes[1] = 1;
}

}  // namespace stepscope::cuda_doubles
