// The payload schemas of the domain "stepscope.device", by which a tool finds the fields of a
// payload (device_payloads.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include "tracer/api/device_payloads.h"

namespace stepscope::api {

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

inline void register_place_schemas(nvtxDomainHandle_t domain) {
  static nvtxPayloadSchemaEntry_t const device[] = {
      STEPSCOPE_FIELD(DevicePayload, device, UINT32),
      STEPSCOPE_FIELD(DevicePayload, threads, UINT32),
      STEPSCOPE_FIELD(DevicePayload, capacity_bytes, UINT64),
      STEPSCOPE_FIELD(DevicePayload, peak_flops, DOUBLE)};
  static nvtxPayloadSchemaEntry_t const stream[] = {STEPSCOPE_FIELD(StreamPayload, device, UINT32),
                                                    STEPSCOPE_FIELD(StreamPayload, stream, UINT32),
                                                    STEPSCOPE_FIELD(StreamPayload, kind, UINT32)};

  register_schema(domain, DeviceSchema::kDevice, "device", sizeof(DevicePayload), device);
  register_schema(domain, DeviceSchema::kStream, "stream", sizeof(StreamPayload), stream);
}

inline void register_op_schemas(nvtxDomainHandle_t domain) {
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

  register_schema(domain, DeviceSchema::kLaunch, "launch", sizeof(LaunchPayload), launch);
  register_schema(domain, DeviceSchema::kKernel, "kernel", sizeof(KernelPayload), kernel);
  register_schema(domain, DeviceSchema::kCopy, "copy", sizeof(CopyPayload), copy);
}

inline void register_collective_schemas(nvtxDomainHandle_t domain) {
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

  register_schema(domain, DeviceSchema::kCollective, "collective", sizeof(CollectivePayload),
                  collective);
  register_schema(domain, DeviceSchema::kStreamWait, "stream_wait", sizeof(StreamWaitPayload),
                  stream_wait);
}

inline void register_host_schemas(nvtxDomainHandle_t domain) {
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

  register_schema(domain, DeviceSchema::kSync, "sync", sizeof(SyncPayload), sync);
  register_schema(domain, DeviceSchema::kMemory, "memory", sizeof(MemoryPayload), memory);
}

inline void register_all_schemas(nvtxDomainHandle_t domain) {
  register_place_schemas(domain);
  register_op_schemas(domain);
  register_collective_schemas(domain);
  register_host_schemas(domain);
}

#undef STEPSCOPE_FIELD

}  // namespace detail
}  // namespace stepscope::api
