// How a runtime that is not CUDA reports its device activity to Stepscope: NVTX ranges and marks in
// the domain "stepscope.device", each with one extended payload. The host backend of the bundled
// workloads is the first user; any other runtime can do the same. docs/reference/DEVICE_EVENTS.md
// is this convention in prose, for other languages.
//
// Times are the tracer's. A device op is a push/pop range on the thread that executes it, around
// the execution itself. A launch, a synchronization or an allocation is a push/pop range on the
// host thread that calls it. The `correlation` (> 0, unique in the process) ties a device op to its
// launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

namespace stepscope::api {

/// Static payload schema ids (NVTX: static ids start at 2^24). A tool finds the fields by name, so
/// that fields can be added.
enum class DeviceSchema : uint64_t {
  kDevice = 0x5353'0001,      ///< mark: a device exists
  kStream = 0x5353'0002,      ///< mark: a stream of a device exists
  kLaunch = 0x5353'0003,      ///< range on the host thread: enqueues a device op
  kKernel = 0x5353'0004,      ///< range on the executing thread: computes
  kCopy = 0x5353'0005,        ///< range on the executing thread: copies memory
  kCollective = 0x5353'0006,  ///< range on the executing thread: collective or point-to-point,
                              ///< waiting for peers included
  kStreamWait = 0x5353'0007,  ///< range on the executing thread: the stream is held until an event
                              ///< of another stream
  kSync = 0x5353'0008,        ///< range on the host thread: blocks until device work is over
  kMemory = 0x5353'0009,  ///< range on the host thread: allocates or frees device memory; payload
                          ///< at its end (DeviceResultRange)
};

enum class StreamKind : uint32_t { kCompute = 0, kCopy = 1, kCommunication = 2 };
enum class CopyDirection : uint32_t {
  kHostToDevice = 1,
  kDeviceToHost = 2,
  kDeviceToDevice = 3,
  kPeerToPeer = 4,
  kHostToHost = 5
};
enum class CollectiveOp : uint32_t {
  kAllReduce = 1,
  kReduceScatter = 2,
  kAllGather = 3,
  kBroadcast = 4,
  kReduce = 5,
  kAllToAll = 6,
  kSend = 7,
  kReceive = 8,
  kBarrier = 9
};
enum class SyncKind : uint32_t { kDevice = 1, kStream = 2, kEvent = 3 };
enum class MemoryOp : uint32_t { kAllocate = 1, kFree = 2 };
enum class MemoryPurpose : uint32_t {
  kOther = 0,
  kWeights = 1,
  kGradients = 2,
  kOptimizer = 3,
  kActivations = 4,
  kWorkspace = 5,
  kInput = 6
};

/// Every payload is a plain struct of these members; natural alignment, no padding bytes are read.
struct DevicePayload {
  uint32_t device;          ///< number of the device, counted from 0
  uint32_t threads;         ///< execution threads (host devices) or multiprocessors
  uint64_t capacity_bytes;  ///< memory the device may hold; 0 = unlimited
  double peak_flops;        ///< peak float32 operations per second; 0 = unknown
};
struct StreamPayload {
  uint32_t device, stream;
  StreamKind kind;
};
struct LaunchPayload {
  uint64_t correlation;
  uint32_t device, stream;
};
struct KernelPayload {
  uint64_t correlation;
  uint32_t device, stream;
  uint64_t bytes;  ///< memory the op has to read and write at least; 0 = unknown
  double flops;    ///< floating-point operations it has to do; 0 = unknown
};
struct CopyPayload {
  uint64_t correlation;
  uint32_t device, stream;
  uint64_t bytes;
  CopyDirection direction;
  uint32_t peer_device;  ///< the other device of a peer copy, else `device`
  uint32_t pinned;       ///< 1 = the host side is page-locked (always 1 on host devices)
};
struct CollectivePayload {
  uint64_t correlation;
  uint32_t device, stream;
  uint64_t bytes;  ///< message bytes: the whole array for all-gather and reduce-scatter, the buffer
                   ///< for the others
  uint64_t communicator;  ///< same value on every participant
  uint64_t
      sequence;  ///< counts the communicator's collectives from 0, same value on every participant
  CollectiveOp op;
  uint32_t participants;  ///< members of the communicator
  int32_t rank;           ///< of this device in the communicator
  int32_t peer;           ///< the other side of a send or receive, else -1
};
struct StreamWaitPayload {
  uint64_t correlation;
  uint32_t device, stream;  ///< the stream that waits
  uint32_t source_device, source_stream;
};
struct SyncPayload {
  uint32_t device, stream;  ///< stream is ignored for kDevice
  SyncKind kind;
};
struct MemoryPayload {
  uint64_t address;
  uint64_t bytes;
  uint64_t allocated_bytes;  ///< live bytes of the device after the call
  uint64_t reserved_bytes;   ///< bytes held from the system after the call (allocated ≤ reserved)
  uint32_t device;
  MemoryOp op;
  MemoryPurpose purpose;
};

namespace detail {

#define STEPSCOPE_FIELD(struct_name, member, type)                                         \
  {                                                                                        \
    0, NVTX_PAYLOAD_ENTRY_TYPE_##type, #member, nullptr, 0, offsetof(struct_name, member), \
        nullptr, nullptr                                                                   \
  }

template <size_t N>
inline void register_schema(nvtxDomainHandle_t domain, DeviceSchema id, char const* name,
                            size_t size, nvtxPayloadSchemaEntry_t const (&entries)[N]) {
  nvtxPayloadSchemaAttr_t attributes;
  std::memset(&attributes, 0, sizeof attributes);

  attributes.fieldMask =
      NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
      NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
      NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID;

  attributes.name = name;
  attributes.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
  attributes.entries = entries;
  attributes.numEntries = N;
  attributes.payloadStaticSize = size;
  attributes.schemaId = static_cast<uint64_t>(id);

  nvtxPayloadSchemaRegister(domain, &attributes);
}

inline void register_all_schemas(nvtxDomainHandle_t domain) {
  static nvtxPayloadSchemaEntry_t const device[] = {
      STEPSCOPE_FIELD(DevicePayload, device, UINT32),
      STEPSCOPE_FIELD(DevicePayload, threads, UINT32),
      STEPSCOPE_FIELD(DevicePayload, capacity_bytes, UINT64),
      STEPSCOPE_FIELD(DevicePayload, peak_flops, DOUBLE)};
  static nvtxPayloadSchemaEntry_t const stream[] = {STEPSCOPE_FIELD(StreamPayload, device, UINT32),
                                                    STEPSCOPE_FIELD(StreamPayload, stream, UINT32),
                                                    STEPSCOPE_FIELD(StreamPayload, kind, UINT32)};
  static nvtxPayloadSchemaEntry_t const launch[] = {
      STEPSCOPE_FIELD(LaunchPayload, correlation, UINT64),
      STEPSCOPE_FIELD(LaunchPayload, device, UINT32),
      STEPSCOPE_FIELD(LaunchPayload, stream, UINT32)};
  static nvtxPayloadSchemaEntry_t const kernel[] = {
      STEPSCOPE_FIELD(KernelPayload, correlation, UINT64),
      STEPSCOPE_FIELD(KernelPayload, device, UINT32),
      STEPSCOPE_FIELD(KernelPayload, stream, UINT32), STEPSCOPE_FIELD(KernelPayload, bytes, UINT64),
      STEPSCOPE_FIELD(KernelPayload, flops, DOUBLE)};
  static nvtxPayloadSchemaEntry_t const copy[] = {STEPSCOPE_FIELD(CopyPayload, correlation, UINT64),
                                                  STEPSCOPE_FIELD(CopyPayload, device, UINT32),
                                                  STEPSCOPE_FIELD(CopyPayload, stream, UINT32),
                                                  STEPSCOPE_FIELD(CopyPayload, bytes, UINT64),
                                                  STEPSCOPE_FIELD(CopyPayload, direction, UINT32),
                                                  STEPSCOPE_FIELD(CopyPayload, peer_device, UINT32),
                                                  STEPSCOPE_FIELD(CopyPayload, pinned, UINT32)};
  static nvtxPayloadSchemaEntry_t const collective[] = {
      STEPSCOPE_FIELD(CollectivePayload, correlation, UINT64),
      STEPSCOPE_FIELD(CollectivePayload, device, UINT32),
      STEPSCOPE_FIELD(CollectivePayload, stream, UINT32),
      STEPSCOPE_FIELD(CollectivePayload, bytes, UINT64),
      STEPSCOPE_FIELD(CollectivePayload, communicator, UINT64),
      STEPSCOPE_FIELD(CollectivePayload, sequence, UINT64),
      STEPSCOPE_FIELD(CollectivePayload, op, UINT32),
      STEPSCOPE_FIELD(CollectivePayload, participants, UINT32),
      STEPSCOPE_FIELD(CollectivePayload, rank, INT32),
      STEPSCOPE_FIELD(CollectivePayload, peer, INT32)};
  static nvtxPayloadSchemaEntry_t const stream_wait[] = {
      STEPSCOPE_FIELD(StreamWaitPayload, correlation, UINT64),
      STEPSCOPE_FIELD(StreamWaitPayload, device, UINT32),
      STEPSCOPE_FIELD(StreamWaitPayload, stream, UINT32),
      STEPSCOPE_FIELD(StreamWaitPayload, source_device, UINT32),
      STEPSCOPE_FIELD(StreamWaitPayload, source_stream, UINT32)};
  static nvtxPayloadSchemaEntry_t const sync[] = {STEPSCOPE_FIELD(SyncPayload, device, UINT32),
                                                  STEPSCOPE_FIELD(SyncPayload, stream, UINT32),
                                                  STEPSCOPE_FIELD(SyncPayload, kind, UINT32)};
  static nvtxPayloadSchemaEntry_t const memory[] = {
      STEPSCOPE_FIELD(MemoryPayload, address, UINT64),
      STEPSCOPE_FIELD(MemoryPayload, bytes, UINT64),
      STEPSCOPE_FIELD(MemoryPayload, allocated_bytes, UINT64),
      STEPSCOPE_FIELD(MemoryPayload, reserved_bytes, UINT64),
      STEPSCOPE_FIELD(MemoryPayload, device, UINT32),
      STEPSCOPE_FIELD(MemoryPayload, op, UINT32),
      STEPSCOPE_FIELD(MemoryPayload, purpose, UINT32)};

  register_schema(domain, DeviceSchema::kDevice, "device", sizeof(DevicePayload), device);
  register_schema(domain, DeviceSchema::kStream, "stream", sizeof(StreamPayload), stream);
  register_schema(domain, DeviceSchema::kLaunch, "launch", sizeof(LaunchPayload), launch);
  register_schema(domain, DeviceSchema::kKernel, "kernel", sizeof(KernelPayload), kernel);
  register_schema(domain, DeviceSchema::kCopy, "copy", sizeof(CopyPayload), copy);
  register_schema(domain, DeviceSchema::kCollective, "collective", sizeof(CollectivePayload),
                  collective);
  register_schema(domain, DeviceSchema::kStreamWait, "stream_wait", sizeof(StreamWaitPayload),
                  stream_wait);
  register_schema(domain, DeviceSchema::kSync, "sync", sizeof(SyncPayload), sync);
  register_schema(domain, DeviceSchema::kMemory, "memory", sizeof(MemoryPayload), memory);
}
#undef STEPSCOPE_FIELD

}  // namespace detail

inline nvtxDomainHandle_t device_domain() {
  static nvtxDomainHandle_t const domain = [] {
    nvtxDomainHandle_t const created = nvtxDomainCreateA("stepscope.device");
    detail::register_all_schemas(created);
    return created;
  }();
  return domain;
}

namespace detail {

template <class Payload>
inline void with_attributes(DeviceSchema schema, char const* name, Payload const& payload,
                            void (*call)(nvtxEventAttributes_t const*)) {
  nvtxPayloadData_t const data = {static_cast<uint64_t>(schema), sizeof payload, &payload};

  nvtxEventAttributes_t attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = name;

  attributes.payloadType = NVTX_PAYLOAD_TYPE_EXT;
  attributes.reserved0 = 1;  // number of payloads
  attributes.payload.ullValue = reinterpret_cast<uint64_t>(&data);

  call(&attributes);
}

}  // namespace detail

/// Reports something that has no duration (DeviceSchema::kDevice, kStream). `name` is copied.
template <class Payload>
inline void device_mark(DeviceSchema schema, char const* name, Payload const& payload) {
  detail::with_attributes(schema, name, payload, [](nvtxEventAttributes_t const* a) {
    nvtxDomainMarkEx(device_domain(), a);
  });
}

/// A range of the calling thread with a payload, for the lifetime of the object. `name` is copied.
class DeviceRange {
 public:
  template <class Payload>
  DeviceRange(DeviceSchema schema, char const* name, Payload const& payload) {
    detail::with_attributes(schema, name, payload, [](nvtxEventAttributes_t const* a) {
      nvtxDomainRangePushEx(device_domain(), a);
    });
  }
  ~DeviceRange() { nvtxDomainRangePop(device_domain()); }
  DeviceRange(DeviceRange const&) = delete;
  DeviceRange& operator=(DeviceRange const&) = delete;
};

/// A range whose payload is known only at its end (an allocation's address): read when the object
/// goes, by reference.
template <class Payload>
class DeviceResultRange {
 public:
  DeviceResultRange(DeviceSchema schema, char const* name, Payload const& result)
      : schema_(schema), result_(result) {
    nvtxEventAttributes_t attributes;
    std::memset(&attributes, 0, sizeof attributes);
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = name;
    nvtxDomainRangePushEx(device_domain(), &attributes);
  }
  ~DeviceResultRange() {
    nvtxPayloadData_t const data = {static_cast<uint64_t>(schema_), sizeof(Payload), &result_};
    nvtxRangePopPayload(device_domain(), &data, 1);
  }
  DeviceResultRange(DeviceResultRange const&) = delete;
  DeviceResultRange& operator=(DeviceResultRange const&) = delete;

 private:
  DeviceSchema schema_;
  Payload const& result_;
};

}  // namespace stepscope::api
