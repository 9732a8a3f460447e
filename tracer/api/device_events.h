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

#include <cstdint>
#include <cstring>

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include "tracer/api/device_payloads.h"
#include "tracer/api/device_schemas.h"

namespace stepscope::api {

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
