// Holds the toolkit's headers to what the decoder relies on: from one version to the next CUPTI
// only adds fields behind the others. So a record can be read through its oldest layout, whichever
// CUPTI from 12.0 to this toolkit's wrote it.
#include <array>
#include <cstddef>

#include "tracer/cupti/decode/device_ops.h"
#include "tracer/cupti/decode/host_calls.h"

namespace stepscope::tracer {
namespace {

// Where the fields are that the decoder reads, in one layout of a record.
template <class Record>
constexpr std::array kKernelFields = {offsetof(Record, registersPerThread),
                                      offsetof(Record, start),
                                      offsetof(Record, end),
                                      offsetof(Record, deviceId),
                                      offsetof(Record, contextId),
                                      offsetof(Record, streamId),
                                      offsetof(Record, gridX),
                                      offsetof(Record, gridZ),
                                      offsetof(Record, blockX),
                                      offsetof(Record, blockZ),
                                      offsetof(Record, staticSharedMemory),
                                      offsetof(Record, dynamicSharedMemory),
                                      offsetof(Record, correlationId),
                                      offsetof(Record, name),
                                      offsetof(Record, graphNodeId),
                                      offsetof(Record, graphId),
                                      offsetof(Record, sharedMemoryExecuted)};
template <class Record>
constexpr std::array kCopyFields = {
    offsetof(Record, copyKind), offsetof(Record, srcKind),     offsetof(Record, dstKind),
    offsetof(Record, bytes),    offsetof(Record, start),       offsetof(Record, end),
    offsetof(Record, deviceId), offsetof(Record, contextId),   offsetof(Record, streamId),
    offsetof(Record, graphId),  offsetof(Record, graphNodeId), offsetof(Record, correlationId)};
template <class Record>
constexpr std::array kMemoryFields = {offsetof(Record, memoryOperationType),
                                      offsetof(Record, memoryKind),
                                      offsetof(Record, correlationId),
                                      offsetof(Record, address),
                                      offsetof(Record, bytes),
                                      offsetof(Record, timestamp),
                                      offsetof(Record, deviceId),
                                      offsetof(Record, memoryPoolConfig)};
template <class Record>
constexpr std::array kPoolFields = {offsetof(Record, memoryPoolOperationType),
                                    offsetof(Record, memoryPoolType), offsetof(Record, deviceId),
                                    offsetof(Record, address), offsetof(Record, size)};
template <class Record>
constexpr std::array kDeviceFields = {offsetof(Record, globalMemorySize),
                                      offsetof(Record, numMultiprocessors),
                                      offsetof(Record, maxWarpsPerMultiprocessor),
                                      offsetof(Record, maxBlocksPerMultiprocessor),
                                      offsetof(Record, id),
                                      offsetof(Record, uuid),
                                      offsetof(Record, isMigEnabled),
                                      offsetof(Record, migUuid),
                                      offsetof(Record, maxSharedMemoryPerMultiprocessor),
                                      offsetof(Record, name),
                                      offsetof(Record, maxRegistersPerMultiprocessor),
                                      offsetof(Record, numThreadsPerWarp),
                                      offsetof(Record, computeCapabilityMajor)};
template <class Record>
constexpr std::array kContextFields = {offsetof(Record, contextId), offsetof(Record, deviceId),
                                       offsetof(Record, nullStreamId)};
template <class Record>
constexpr std::array kOverheadFields = {offsetof(Record, overheadKind),
                                        offsetof(Record, objectKind), offsetof(Record, objectId),
                                        offsetof(Record, start), offsetof(Record, end)};
template <class Record>
constexpr std::array kEventFields = {offsetof(Record, correlationId), offsetof(Record, contextId),
                                     offsetof(Record, streamId), offsetof(Record, eventId)};
template <class Record>
constexpr std::array kSyncFields = {offsetof(Record, type),       offsetof(Record, start),
                                    offsetof(Record, end),        offsetof(Record, correlationId),
                                    offsetof(Record, contextId),  offsetof(Record, streamId),
                                    offsetof(Record, cudaEventId)};

static_assert(kKernelFields<KernelRecord> == kKernelFields<CUpti_ActivityKernel9>);
static_assert(kCopyFields<MemcpyRecord> == kCopyFields<CUpti_ActivityMemcpy6>);
static_assert(kEventFields<EventRecord> == kEventFields<CUpti_ActivityCudaEvent2>);
static_assert(kSyncFields<SyncRecord> == kSyncFields<CUpti_ActivitySynchronization2>);
#if CUPTI_API_VERSION >= 130000
static_assert(kKernelFields<KernelRecord> == kKernelFields<CUpti_ActivityKernel10>);
static_assert(kMemoryFields<MemoryRecord> == kMemoryFields<CUpti_ActivityMemory4>);
static_assert(kPoolFields<PoolRecord> == kPoolFields<CUpti_ActivityMemoryPool3>);
static_assert(kDeviceFields<DeviceRecord> == kDeviceFields<CUpti_ActivityDevice5>);
static_assert(kContextFields<CUpti_ActivityContext> == kContextFields<CUpti_ActivityContext3>);
static_assert(kOverheadFields<OverheadRecord> == kOverheadFields<CUpti_ActivityOverhead3>);
#endif

}  // namespace
}  // namespace stepscope::tracer
