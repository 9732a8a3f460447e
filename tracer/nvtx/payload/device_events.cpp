#include "tracer/nvtx/payload/device_events.h"

#include <array>

#include "tracer/api/device_events.h"

namespace stepscope::tracer {
namespace {

using api::DeviceSchema;

constexpr auto kLastCollectiveOp = static_cast<model::CollectiveOp>(model::kCollectiveOpCount - 1);

/// Values that we do not know become the enum's 0 (unknown, other, compute).
template <class Enum>
Enum enum_field(FieldReader& fields, std::string_view name, Enum last) {
  auto const value = fields.get<uint32_t>(name);
  return value <= static_cast<uint32_t>(last) ? static_cast<Enum>(value) : Enum{};
}

model::CopyDetail copy_detail(FieldReader& fields) {
  model::CopyDetail detail;
  detail.bytes = fields.get<uint64_t>("bytes");
  detail.direction = enum_field(fields, "direction", model::CopyDirection::kHostToHost);
  detail.peer_device = fields.get<int32_t>("peer_device", -1);
  detail.pinned = fields.get<uint8_t>("pinned");
  return detail;
}

model::CollectiveDetail collective_detail(FieldReader& fields) {
  model::CollectiveDetail detail;
  detail.bytes = fields.get<uint64_t>("bytes");
  detail.communicator = fields.get<uint64_t>("communicator");
  detail.sequence = fields.get<uint64_t>("sequence");
  detail.op = enum_field(fields, "op", kLastCollectiveOp);
  detail.participants = fields.get<uint32_t>("participants");
  detail.rank = fields.get<int32_t>("rank", -1);
  detail.peer = fields.get<int32_t>("peer", -1);
  return detail;
}

model::MemoryDetail memory_detail(FieldReader& fields) {
  model::MemoryDetail detail;
  detail.address = fields.get<uint64_t>("address");
  detail.bytes = fields.get<uint64_t>("bytes");
  detail.allocated_bytes = fields.get<uint64_t>("allocated_bytes");
  detail.reserved_bytes = fields.get<uint64_t>("reserved_bytes");
  detail.device = fields.get<int32_t>("device", -1);
  detail.op = enum_field(fields, "op", model::MemoryOp::kFree);
  detail.purpose = enum_field(fields, "purpose", model::MemoryPurpose::kInput);
  return detail;
}

model::SyncDetail sync_detail(FieldReader& fields) {
  model::SyncDetail detail;
  detail.device = fields.get<int32_t>("device", -1);
  detail.stream = fields.get<int32_t>("stream", -1);
  detail.sync = enum_field(fields, "kind", model::SyncKind::kEvent);
  if (detail.sync == model::SyncKind::kDevice) detail.stream = -1;
  return detail;
}

void decode_detail(DeviceSchema schema, FieldReader& fields, DeviceEvent& event) {
  switch (schema) {
    case DeviceSchema::kLaunch:
      event.kind = model::EventKind::kLaunch;
      event.on_stream = false;
      break;

    case DeviceSchema::kKernel: {
      model::KernelDetail detail;
      detail.bytes = fields.get<uint64_t>("bytes");
      detail.flops = fields.get<double>("flops");
      event.kind = model::EventKind::kKernel;
      event.detail = detail;
      break;
    }

    case DeviceSchema::kCopy:
      event.kind = model::EventKind::kMemcpy;
      event.detail = copy_detail(fields);
      break;
    case DeviceSchema::kCollective:
      event.kind = model::EventKind::kCollective;
      event.detail = collective_detail(fields);
      break;

    default:
      event.kind = model::EventKind::kStreamWait;
      event.detail = model::StreamWaitDetail{fields.get<int32_t>("source_device", -1),
                                             fields.get<int32_t>("source_stream", -1)};
      break;
  }
}

}  // namespace

std::optional<DeviceEvent> decode_device_range(uint64_t schema_id, FieldReader fields) {
  DeviceEvent event;
  auto const schema = static_cast<DeviceSchema>(schema_id);

  switch (schema) {
    case DeviceSchema::kLaunch:
    case DeviceSchema::kKernel:
    case DeviceSchema::kCopy:
    case DeviceSchema::kCollective:
    case DeviceSchema::kStreamWait:
      event.correlation = fields.get<uint64_t>("correlation");
      event.device = fields.get<int32_t>("device", 0);
      event.stream = fields.get<int64_t>("stream", 0);
      event.on_stream = true;
      decode_detail(schema, fields, event);
      return event;

    case DeviceSchema::kSync:
      event.kind = model::EventKind::kSync;
      event.detail = sync_detail(fields);
      return event;
    case DeviceSchema::kMemory:
      event.kind = model::EventKind::kMemory;
      event.detail = memory_detail(fields);
      return event;

    default:
      return {};
  }
}

std::optional<model::Device> decode_device_mark(uint64_t schema_id, FieldReader fields,
                                                std::string_view name) {
  if (static_cast<DeviceSchema>(schema_id) != DeviceSchema::kDevice) return {};
  model::Device device;
  device.id = fields.get<int32_t>("device");
  device.threads = fields.get<uint32_t>("threads");
  device.capacity_bytes = fields.get<uint64_t>("capacity_bytes");
  device.peak_flops = fields.get<double>("peak_flops");
  device.name = name;
  return device;
}

std::optional<model::Track> decode_stream_mark(uint64_t schema_id, FieldReader fields,
                                               std::string_view name) {
  if (static_cast<DeviceSchema>(schema_id) != DeviceSchema::kStream) return {};
  model::Track track;
  track.kind = model::TrackKind::kStream;
  track.device = fields.get<int32_t>("device");
  track.id = fields.get<int64_t>("stream");
  track.stream_kind = enum_field(fields, "kind", model::StreamKind::kCommunication);
  track.name = name;
  return track;
}

model::MemoryPurpose memory_purpose(std::string_view category) {
  using enum model::MemoryPurpose;
  for (auto const purpose : {kWeights, kGradients, kOptimizer, kActivations, kWorkspace, kInput}) {
    if (category == model::to_string(purpose)) return purpose;
  }
  return kOther;
}

}  // namespace stepscope::tracer
