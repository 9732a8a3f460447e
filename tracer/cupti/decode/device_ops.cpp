#include "tracer/cupti/decode/device_ops.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "trace/model/detail_values.h"

namespace stepscope::tracer {
namespace {

using model::CopyDirection;

/// Indexed by CUpti_ActivityMemoryKind; words as other tools for PyTorch use them, so that names
/// compare.
constexpr std::array<std::string_view, 8> kMemoryNames = {
    "Unknown", "Pageable", "Pinned",        "Device",
    "Array",   "Managed",  "Device Static", "Managed Static"};

std::string_view memory_name(uint32_t kind) {
  return kMemoryNames[kind < kMemoryNames.size() ? kind : 0];
}

bool is_pinned(uint8_t source, uint8_t target) {
  return source == CUPTI_ACTIVITY_MEMORY_KIND_PINNED || target == CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
}

template <class Record>
model::CopyDetail copy_detail(Record const& record) {
  model::CopyDetail detail;
  detail.bytes = record.bytes;
  detail.graph = record.graphId;
  detail.graph_node = record.graphNodeId;
  return detail;
}

uint32_t positive(int32_t value) { return value < 0 ? 0 : static_cast<uint32_t>(value); }

/// What is known of a kernel that communicates, by its name and its record. NCCL's kernels have one
/// block a channel, in one dimension; others have no channels.
model::CollectiveDetail collective_detail(model::CollectiveDetail const& by_name,
                                          KernelRecord const& record) {
  model::CollectiveDetail detail = by_name;
  detail.launch = model::CallLaunch::kNone;
  if (record.gridY == 1 && record.gridZ == 1) detail.channels = positive(record.gridX);
  detail.graph = record.graphId;
  detail.graph_node = record.graphNodeId;
  return detail;
}

}  // namespace

template <class Record>
std::optional<DeviceOps::Times> DeviceOps::times(Record const& record, RecordClock const& clock,
                                                 TraceStore& store) {
  // 0: CUPTI had no room on the device for the times, or was asked for the record before the op had
  // ended.
  if (record.start != 0 && record.end != 0) [[likely]] {
    Times const result = {clock.to_trace_ns(record.start), clock.to_trace_ns(record.end)};
    if (clock.is_possible(result.start_ns, result.end_ns)) [[likely]]
      return result;
  }

  ++untimed_;
  ++untimed_of_track_[streams_.find(record.deviceId, record.contextId, record.streamId, store)
                          .id.value];
  return {};
}

void DeviceOps::end_round(TraceStore& store) {
  kernels_.forget_pointers();
  for (auto const& [number, untimed] : std::exchange(untimed_of_track_, {})) {
    model::Track track = store.track(model::TrackId{number});
    track.dropped += untimed;
    store.set_track(model::TrackId{number}, std::move(track));
  }
}

template <class Record, class Detail>
void DeviceOps::add_op(Record const& record, model::EventKind kind, model::StringId name,
                       Detail const& detail, Times const& times, TraceStore& store) {
  TrackRef const& track = streams_.find(record.deviceId, record.contextId, record.streamId, store);
  add_row(track, store, kind, times.start_ns, times.end_ns, name, record.correlationId, detail);
}

uint8_t DeviceOps::occupancy(KernelInfo& kernel, BlockNeeds const& block, uint32_t device) {
  BlockNeeds const& last = kernel.block;
  bool const same = kernel.device == device && last.threads == block.threads &&
                    last.registers_per_thread == block.registers_per_thread &&
                    last.shared_memory_bytes == block.shared_memory_bytes &&
                    last.shared_memory_carveout_bytes == block.shared_memory_carveout_bytes;

  if (!same) {
    auto const limits = limits_.find(device);
    if (limits == limits_.end()) return 0;
    kernel.device = device;
    kernel.block = block;
    kernel.occupancy_percent = occupancy_percent(limits->second, block);
  }

  return kernel.occupancy_percent;
}

void DeviceOps::add_kernel(KernelRecord const& record, RecordClock const& clock,
                           TraceStore& store) {
  auto const when = times(record, clock, store);
  if (!when) return;
  KernelInfo& kernel = kernels_.find(record.name, store);
  if (kernel.communication != nullptr) [[unlikely]] {
    add_op(record, model::EventKind::kCollective, kernel.name,
           collective_detail(*kernel.communication, record), *when, store);
    return;
  }

  model::KernelDetail detail;
  detail.grid_x = positive(record.gridX);
  detail.grid_y = positive(record.gridY);
  detail.grid_z = positive(record.gridZ);
  detail.block_x = positive(record.blockX);
  detail.block_y = positive(record.blockY);
  detail.block_z = positive(record.blockZ);
  detail.registers_per_thread = record.registersPerThread;
  detail.shared_memory_bytes =
      positive(record.staticSharedMemory) + positive(record.dynamicSharedMemory);
  detail.graph = record.graphId;
  detail.graph_node = record.graphNodeId;

  uint32_t const threads = detail.block_x * detail.block_y * detail.block_z;
  detail.occupancy_percent = occupancy(kernel,
                                       {threads, detail.registers_per_thread,
                                        detail.shared_memory_bytes, record.sharedMemoryExecuted},
                                       record.deviceId);

  add_op(record, model::EventKind::kKernel, kernel.name, detail, *when, store);
}

void DeviceOps::add_memcpy(MemcpyRecord const& record, RecordClock const& clock,
                           TraceStore& store) {
  auto const when = times(record, clock, store);
  if (!when) return;
  model::CopyDetail detail = copy_detail(record);
  detail.direction = model::copy_kind(record.copyKind).direction;
  detail.pinned = static_cast<uint8_t>(is_pinned(record.srcKind, record.dstKind));
  add_op(record, model::EventKind::kMemcpy,
         copy_name(record.copyKind, record.srcKind, record.dstKind, store), detail, *when, store);
}

void DeviceOps::add_peer_copy(PeerCopyRecord const& record, RecordClock const& clock,
                              TraceStore& store) {
  auto const when = times(record, clock, store);
  if (!when) return;

  model::CopyDetail detail = copy_detail(record);
  detail.direction = CopyDirection::kPeerToPeer;
  detail.peer_device = static_cast<int32_t>(
      record.dstDeviceId != record.deviceId ? record.dstDeviceId : record.srcDeviceId);

  add_op(record, model::EventKind::kMemcpy,
         copy_name(CUPTI_ACTIVITY_MEMCPY_KIND_PTOP, record.srcKind, record.dstKind, store), detail,
         *when, store);
}

void DeviceOps::add_memset(MemsetRecord const& record, RecordClock const& clock,
                           TraceStore& store) {
  auto const when = times(record, clock, store);
  if (!when) return;
  add_op(record, model::EventKind::kMemset, fill_name(record.memoryKind, store),
         copy_detail(record), *when, store);
}

model::StringId DeviceOps::copy_name(uint8_t copy, uint8_t source, uint8_t target,
                                     TraceStore& store) {
  auto const [place, is_new] =
      copy_names_.try_emplace(uint32_t{copy} << 16 | uint32_t{source} << 8 | target);
  if (is_new)
    place->second = store.intern(fmt::format("Memcpy {} ({} -> {})", model::copy_kind(copy).name,
                                             memory_name(source), memory_name(target)));
  return place->second;
}

model::StringId DeviceOps::fill_name(uint16_t memory, TraceStore& store) {
  constexpr uint32_t kFills = 1U << 24;  // apart from the keys of copies
  auto const [place, is_new] = copy_names_.try_emplace(kFills | memory);
  if (is_new) place->second = store.intern(fmt::format("Memset ({})", memory_name(memory)));
  return place->second;
}

void DeviceOps::add_device(DeviceRecord const& record, TraceStore& store) {
  limits_[record.id] = {.warps = record.maxWarpsPerMultiprocessor,
                        .blocks = record.maxBlocksPerMultiprocessor,
                        .registers = record.maxRegistersPerMultiprocessor,
                        .shared_memory_bytes = record.maxSharedMemoryPerMultiprocessor,
                        .threads_per_warp = record.numThreadsPerWarp,
                        .compute_capability_major = record.computeCapabilityMajor};

  model::Device device;
  device.id = static_cast<int32_t>(record.id);
  device.name = record.name == nullptr ? fmt::format("cuda:{}", record.id) : record.name;
  device.capacity_bytes = record.globalMemorySize;
  device.threads = record.numMultiprocessors;

  store.set_device(std::move(device));
}

}  // namespace stepscope::tracer
