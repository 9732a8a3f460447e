// The domain "stepscope.device": payload → kind of event, where it ran, and its details
// (docs/reference/DEVICE_EVENTS.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "trace/model/details.h"
#include "trace/model/kinds.h"
#include "trace/model/trace.h"
#include "tracer/nvtx/payload/schema.h"

namespace stepscope::tracer {

/// The details of an event; monostate for kinds without a detail table.
using Detail = std::variant<std::monostate, model::StepDetail, model::KernelDetail,
                            model::CopyDetail, model::CollectiveDetail, model::StreamWaitDetail,
                            model::SyncDetail, model::MemoryDetail, model::RangeDetail>;

struct DeviceEvent {
  model::EventKind kind = model::EventKind::kRange;
  uint64_t correlation = 0;
  bool on_stream = false;  ///< belongs on the stream's track, not on the thread's
  int32_t device = -1;
  int64_t stream = -1;
  Detail detail;
};

/// Nothing for schemas that are not ranges of this convention.
std::optional<DeviceEvent> decode_device_range(uint64_t schema_id, FieldReader fields);

/// A mark that says that a device or a stream exists.
std::optional<model::Device> decode_device_mark(uint64_t schema_id, FieldReader fields,
                                                std::string_view name);
std::optional<model::Track> decode_stream_mark(uint64_t schema_id, FieldReader fields,
                                               std::string_view name);

/// "weights" → kWeights, …; what is no category is kOther.
model::MemoryPurpose memory_purpose(std::string_view category);

}  // namespace stepscope::tracer
