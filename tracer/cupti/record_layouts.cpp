// Holds the toolkit's headers to what the decoder relies on: from one version to the next CUPTI only adds fields behind the
// others. So a record can be read through its oldest layout, whichever CUPTI from 12.0 to this toolkit's wrote it.
#include <array>
#include <cstddef>

#include "tracer/cupti/device_ops.h"
#include "tracer/cupti/host_calls.h"

namespace stepscope::tracer {
namespace {

// Where the fields are that the decoder reads, in one layout of a record.
template <class Record>
constexpr std::array kernel_fields = {offsetof(Record, registersPerThread),
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
constexpr std::array copy_fields = {offsetof(Record, copyKind), offsetof(Record, srcKind),     offsetof(Record, dstKind),
                                    offsetof(Record, bytes),    offsetof(Record, start),       offsetof(Record, end),
                                    offsetof(Record, deviceId), offsetof(Record, contextId),   offsetof(Record, streamId),
                                    offsetof(Record, graphId),  offsetof(Record, graphNodeId), offsetof(Record, correlationId)};
template <class Record>
constexpr std::array memory_fields = {offsetof(Record, memoryOperationType),
                                      offsetof(Record, memoryKind),
                                      offsetof(Record, correlationId),
                                      offsetof(Record, address),
                                      offsetof(Record, bytes),
                                      offsetof(Record, timestamp),
                                      offsetof(Record, deviceId),
                                      offsetof(Record, memoryPoolConfig)};
template <class Record>
constexpr std::array pool_fields = {offsetof(Record, memoryPoolOperationType), offsetof(Record, memoryPoolType),
                                    offsetof(Record, deviceId), offsetof(Record, address), offsetof(Record, size)};
template <class Record>
constexpr std::array device_fields = {offsetof(Record, globalMemorySize),
                                      offsetof(Record, numMultiprocessors),
                                      offsetof(Record, maxWarpsPerMultiprocessor),
                                      offsetof(Record, maxBlocksPerMultiprocessor),
                                      offsetof(Record, id),
                                      offsetof(Record, maxSharedMemoryPerMultiprocessor),
                                      offsetof(Record, name),
                                      offsetof(Record, maxRegistersPerMultiprocessor),
                                      offsetof(Record, numThreadsPerWarp),
                                      offsetof(Record, computeCapabilityMajor)};
template <class Record>
constexpr std::array context_fields = {offsetof(Record, contextId), offsetof(Record, deviceId), offsetof(Record, nullStreamId)};
template <class Record>
constexpr std::array overhead_fields = {offsetof(Record, overheadKind), offsetof(Record, objectKind), offsetof(Record, objectId),
                                        offsetof(Record, start), offsetof(Record, end)};
template <class Record>
constexpr std::array event_fields = {offsetof(Record, correlationId), offsetof(Record, contextId), offsetof(Record, streamId),
                                     offsetof(Record, eventId)};
template <class Record>
constexpr std::array sync_fields = {offsetof(Record, type),          offsetof(Record, start),     offsetof(Record, end),
                                    offsetof(Record, correlationId), offsetof(Record, contextId), offsetof(Record, streamId),
                                    offsetof(Record, cudaEventId)};

static_assert(kernel_fields<KernelRecord> == kernel_fields<CUpti_ActivityKernel9>);
static_assert(copy_fields<MemcpyRecord> == copy_fields<CUpti_ActivityMemcpy6>);
static_assert(event_fields<EventRecord> == event_fields<CUpti_ActivityCudaEvent2>);
static_assert(sync_fields<SyncRecord> == sync_fields<CUpti_ActivitySynchronization2>);
#if CUPTI_API_VERSION >= 130000
static_assert(kernel_fields<KernelRecord> == kernel_fields<CUpti_ActivityKernel10>);
static_assert(memory_fields<MemoryRecord> == memory_fields<CUpti_ActivityMemory4>);
static_assert(pool_fields<PoolRecord> == pool_fields<CUpti_ActivityMemoryPool3>);
static_assert(device_fields<DeviceRecord> == device_fields<CUpti_ActivityDevice5>);
static_assert(context_fields<CUpti_ActivityContext> == context_fields<CUpti_ActivityContext3>);
static_assert(overhead_fields<OverheadRecord> == overhead_fields<CUpti_ActivityOverhead3>);
#endif

}  // namespace
}  // namespace stepscope::tracer
