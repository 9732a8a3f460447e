#include "tests/unit/tracer/pipeline.h"

namespace stepscope::tracer {
namespace {

template <class Struct, class Member>
SchemaField field(char const* name, Member Struct::*member) {
  static Struct const probe{};
  auto const offset =
      reinterpret_cast<char const*>(&(probe.*member)) - reinterpret_cast<char const*>(&probe);
  ScalarType const type = std::is_floating_point_v<Member>  ? ScalarType::kReal
                          : std::is_same_v<Member, int32_t> ? ScalarType::kSigned
                                                            : ScalarType::kUnsigned;
  return {name, static_cast<uint64_t>(offset), sizeof(Member), type};
}

}  // namespace

void register_device_schemas(Registry& registry) {
  using namespace api;
  auto const add = [&](DeviceSchema id, char const* name, std::vector<SchemaField> fields,
                       size_t bytes) {
    registry.add_schema(kDeviceDomain, static_cast<uint64_t>(id), {name, std::move(fields), bytes});
  };

  add(DeviceSchema::kDevice, "device",
      {field("device", &DevicePayload::device), field("threads", &DevicePayload::threads),
       field("capacity_bytes", &DevicePayload::capacity_bytes),
       field("peak_flops", &DevicePayload::peak_flops)},
      sizeof(DevicePayload));
  add(DeviceSchema::kStream, "stream",
      {field("device", &StreamPayload::device), field("stream", &StreamPayload::stream),
       field("kind", &StreamPayload::kind)},
      sizeof(StreamPayload));

  add(DeviceSchema::kLaunch, "launch",
      {field("correlation", &LaunchPayload::correlation), field("device", &LaunchPayload::device),
       field("stream", &LaunchPayload::stream)},
      sizeof(LaunchPayload));
  add(DeviceSchema::kKernel, "kernel",
      {field("correlation", &KernelPayload::correlation), field("device", &KernelPayload::device),
       field("stream", &KernelPayload::stream), field("bytes", &KernelPayload::bytes),
       field("flops", &KernelPayload::flops)},
      sizeof(KernelPayload));

  add(DeviceSchema::kMemory, "memory",
      {field("address", &MemoryPayload::address), field("bytes", &MemoryPayload::bytes),
       field("allocated_bytes", &MemoryPayload::allocated_bytes),
       field("reserved_bytes", &MemoryPayload::reserved_bytes),
       field("device", &MemoryPayload::device), field("op", &MemoryPayload::op),
       field("purpose", &MemoryPayload::purpose)},
      sizeof(MemoryPayload));
}

}  // namespace stepscope::tracer
