#include "trace/import/formats/nsys/device_tables.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "trace/model/build/communication_names.h"
#include "trace/model/detail_values.h"

namespace stepscope::import::nsys {
namespace {

using model::CopyDirection;
using model::EventKind;

/// ENUM_CUDA_MEMCPY_OPER has CUPTI's numbers; its last three move pages of managed memory.
constexpr int64_t kFirstManagedCopy = 11;
constexpr std::array<uint8_t, 3> kManagedCopies = {1, 2, 8};

constexpr int64_t kLastCopy = kFirstManagedCopy + 2;

/// `oper`: 0 … kLastCopy.
model::CopyKind const& copy_kind(int64_t oper) {
  auto const number = static_cast<size_t>(oper);
  return model::copy_kind(oper < kFirstManagedCopy ? number
                                                   : kManagedCopies[number - kFirstManagedCopy]);
}

/// Names by ENUM_CUDA_MEM_KIND; words as our own capture and PyTorch use them, so that names
/// compare.
constexpr std::array<std::string_view, 8> kMemoryNames = {
    "Pageable", "Pinned",        "Device",         "Array",
    "Managed",  "Device Static", "Managed Static", "Unknown"};
constexpr int64_t kPinned = 1, kUnknownMemory = 7;

/// Values of ENUM_CUPTI_SYNC_TYPE.
constexpr int64_t kTypeEvent = 1, kTypeStreamWait = 2, kTypeStream = 3, kTypeContext = 4;

int64_t memory_kind(TableScan const& scan, int column) {
  int64_t const kind = scan.is_null(column) ? kUnknownMemory : scan.integer(column);
  return kind >= 0 && kind < kUnknownMemory ? kind : kUnknownMemory;
}

template <class Number>
Number within(int64_t value) {
  return static_cast<Number>(std::clamp<int64_t>(value, 0, std::numeric_limits<Number>::max()));
}

int32_t device_number(int64_t value) {
  return static_cast<int32_t>(std::clamp<int64_t>(value, -1, kLastDevice));
}
int32_t number_in_detail(int64_t stream) {
  return stream >= -1 && stream <= INT32_MAX ? static_cast<int32_t>(stream) : -1;
}

/// A node's number has its graph's in the upper half. 0 = none.
uint32_t graph_of(int64_t graph, int64_t node) {
  if (graph != 0) return static_cast<uint32_t>(graph);
  if (node == 0) return 0;
  return std::max(1U, static_cast<uint32_t>(static_cast<uint64_t>(node) >> 32U));
}

class DeviceTables {
 public:
  explicit DeviceTables(Processes& processes) : processes_(processes) {}

  DeviceRows read() && {
    for (char const* const table :
         {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL"})
      read_kernels(table);

    read_copies();
    read_fills();
    read_graphs();

    for (auto& [key, process] : processes_.all()) process.settle_contexts();
    read_events();
    read_syncs();

    return std::move(rows_);
  }

 private:
  using Times = Processes::Times;

  /// Every device table begins with these.
  enum Common : int {
    kStart,
    kEnd,
    kDevice,
    kContext,
    kStream,
    kCorrelation,
    kProcess,
    kCommonColumns
  };

  /// Columns of kernels, behind the common ones.
  enum KernelColumn : int {
    kName = kCommonColumns,
    kShortName,
    kRegisters,
    kGridX,
    kGridY,
    kGridZ,
    kBlockX,
    kBlockY,
    kBlockZ,
    kStaticShared,
    kDynamicShared,
    kKernelNode,
    kKernelGraph
  };

  Processes::StreamRows stream_of(TableScan const& scan) {
    Processes::StreamKey const key = {processes_.process_key(scan, kProcess),
                                      device_number(scan.integer(kDevice)), scan.integer(kContext),
                                      scan.integer(kStream)};
    if (key == last_key_ && last_.process != nullptr) return last_;
    last_key_ = key;
    last_ = processes_.stream(key);
    return last_;
  }
  static uint64_t correlation_of(TableScan const& scan) {
    return static_cast<uint64_t>(scan.integer(kCorrelation));
  }

  void read_kernels(char const* table);
  static model::KernelDetail kernel_detail(TableScan const& scan);
  void add_collective(TableScan const& scan, Processes::StreamRows const& to, Times const& times,
                      NameIndex name, uint32_t channels);
  void read_copies();
  void set_peer(model::CopyDetail& detail, int32_t source, int32_t target) const;
  void read_fills();
  void read_graphs();
  void read_events();
  void read_syncs();
  void add_stream_wait(TableScan const& scan, Process& process, int32_t device, Times const& times,
                       int64_t event, int64_t event_sync);

  struct EventRecord {
    int64_t event = 0, sync = 0;
    uint64_t correlation = 0;
    int64_t context = 0, stream = 0;
  };
  EventRecord const* find_event(Process* process, int64_t event, int64_t sync,
                                uint64_t before) const;

  Processes& processes_;
  DeviceRows rows_;
  Processes::StreamKey last_key_;
  Processes::StreamRows last_;
  std::unordered_map<NameIndex, model::CollectiveDetail> collectives_;  ///< what the names say
  std::map<Process*, std::vector<EventRecord>> events_;                 ///< sorted
};

void DeviceTables::read_kernels(char const* table) {
  TableScan scan(processes_.database, table,
                 {"start",
                  "end",
                  "deviceId",
                  "contextId",
                  "streamId",
                  "correlationId",
                  "globalPid",
                  "demangledName",
                  "shortName",
                  "registersPerThread",
                  "gridX",
                  "gridY",
                  "gridZ",
                  "blockX",
                  "blockY",
                  "blockZ",
                  "staticSharedMemory",
                  "dynamicSharedMemory",
                  "graphNodeId",
                  "graphId"});

  bool const has_full_name = processes_.database.has(table, "demangledName");
  Names& names = processes_.names;
  Times times;

  while (scan.next()) {
    if (!processes_.read_times(scan, kStart, kEnd, times)) continue;
    Processes::StreamRows const to = stream_of(scan);

    NameIndex const name = names.of(scan, has_full_name ? kName : kShortName);
    ++to.track->device_ops;

    if (names.communicates(name)) {
      add_collective(scan, to, times, name, within<uint32_t>(scan.integer(kGridX)));
      continue;
    }

    to.track->rows.add(EventKind::kKernel, times.start, times.dur, to.process->name(name),
                       correlation_of(scan), kernel_detail(scan));
  }
}

model::KernelDetail DeviceTables::kernel_detail(TableScan const& scan) {
  model::KernelDetail detail;
  detail.grid_x = within<uint32_t>(scan.integer(kGridX));
  detail.grid_y = within<uint32_t>(scan.integer(kGridY));
  detail.grid_z = within<uint32_t>(scan.integer(kGridZ));
  detail.block_x = within<uint32_t>(scan.integer(kBlockX));
  detail.block_y = within<uint32_t>(scan.integer(kBlockY));
  detail.block_z = within<uint32_t>(scan.integer(kBlockZ));
  detail.registers_per_thread = within<uint32_t>(scan.integer(kRegisters));

  uint64_t const shared = uint64_t{within<uint32_t>(scan.integer(kStaticShared))} +
                          within<uint32_t>(scan.integer(kDynamicShared));
  detail.shared_memory_bytes = static_cast<uint32_t>(std::min<uint64_t>(shared, UINT32_MAX));

  int64_t const node = scan.integer(kKernelNode);
  detail.graph = graph_of(scan.integer(kKernelGraph), node);
  detail.graph_node = static_cast<uint64_t>(node);

  return detail;
}

void DeviceTables::add_collective(TableScan const& scan, Processes::StreamRows const& to,
                                  Times const& times, NameIndex name, uint32_t channels) {
  auto const [known, is_new] = collectives_.try_emplace(name);
  if (is_new) known->second = model::collective_of_kernel(processes_.names.text(name));
  model::CollectiveDetail detail = known->second;
  detail.channels = channels;
  int64_t const node = scan.integer(kKernelNode);
  detail.graph = graph_of(scan.integer(kKernelGraph), node);
  detail.graph_node = static_cast<uint64_t>(node);
  ++to.track->collectives;

  auto const& details =
      std::get<model::DetailColumn<model::CollectiveDetail>>(to.track->rows.details);
  rows_.communication[to.process].push_back(
      {to.track, details.size(), correlation_of(scan), last_key_.device});
  to.track->rows.add(EventKind::kCollective, times.start, times.dur, to.process->name(name),
                     correlation_of(scan), detail);
}

void DeviceTables::read_copies() {
  enum Column : int {
    kBytes = kCommonColumns,
    kKind,
    kSource,
    kTarget,
    kSourceDevice,
    kTargetDevice,
    kGraphNode,
    kGraph
  };
  TableScan scan(
      processes_.database, "CUPTI_ACTIVITY_KIND_MEMCPY",
      {"start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "bytes",
       "copyKind", "srcKind", "dstKind", "srcDeviceId", "dstDeviceId", "graphNodeId", "graphId"});
  std::map<std::tuple<Process*, int64_t, int64_t, int64_t>, model::StringId> copy_names;

  Times times;
  while (scan.next()) {
    if (!processes_.read_times(scan, kStart, kEnd, times)) continue;
    Processes::StreamRows const to = stream_of(scan);
    int64_t const oper =
        scan.integer(kKind) >= 0 && scan.integer(kKind) <= kLastCopy ? scan.integer(kKind) : 0;
    model::CopyKind const& kind = copy_kind(oper);
    bool const is_managed = oper >= kFirstManagedCopy;
    int64_t const source = memory_kind(scan, kSource), target = memory_kind(scan, kTarget);

    auto const [name, is_new] = copy_names.try_emplace({to.process, oper, source, target});
    if (is_new) {
      name->second = to.process->builder.intern(
          fmt::format("Memcpy {} ({} -> {})", kind.name,
                      is_managed ? "Managed" : kMemoryNames[static_cast<size_t>(source)],
                      is_managed ? "Managed" : kMemoryNames[static_cast<size_t>(target)]));
    }

    model::CopyDetail detail;
    detail.bytes = static_cast<uint64_t>(std::max<int64_t>(0, scan.integer(kBytes)));
    detail.direction = kind.direction;
    detail.pinned = source == kPinned || target == kPinned ? 1 : 0;
    if (!scan.is_null(kSourceDevice) && !scan.is_null(kTargetDevice))
      set_peer(detail, device_number(scan.integer(kSourceDevice)),
               device_number(scan.integer(kTargetDevice)));
    detail.graph_node = static_cast<uint64_t>(scan.integer(kGraphNode));
    detail.graph = graph_of(scan.integer(kGraph), scan.integer(kGraphNode));

    ++to.track->device_ops;
    ++to.track->copies;
    to.track->rows.add(EventKind::kMemcpy, times.start, times.dur, name->second,
                       correlation_of(scan), detail);
  }
}

/// The peer of a copy between two devices is the one that the stream is not of.
void DeviceTables::set_peer(model::CopyDetail& detail, int32_t source, int32_t target) const {
  if (source != target && detail.direction == CopyDirection::kDeviceToDevice)
    detail.direction = CopyDirection::kPeerToPeer;
  if (detail.direction == CopyDirection::kPeerToPeer)
    detail.peer_device = target != last_key_.device ? target : source;
}

void DeviceTables::read_fills() {
  enum Column : int { kBytes = kCommonColumns, kMemory, kGraphNode, kGraph };
  TableScan scan(processes_.database, "CUPTI_ACTIVITY_KIND_MEMSET",
                 {"start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid",
                  "bytes", "memKind", "graphNodeId", "graphId"});

  Times times;
  while (scan.next()) {
    if (!processes_.read_times(scan, kStart, kEnd, times)) continue;
    Processes::StreamRows const to = stream_of(scan);

    model::CopyDetail detail;
    detail.bytes = static_cast<uint64_t>(std::max<int64_t>(0, scan.integer(kBytes)));
    detail.graph_node = static_cast<uint64_t>(scan.integer(kGraphNode));
    detail.graph = graph_of(scan.integer(kGraph), scan.integer(kGraphNode));

    model::StringId const name = to.process->builder.intern(
        fmt::format("Memset ({})", kMemoryNames[static_cast<size_t>(memory_kind(scan, kMemory))]));

    ++to.track->device_ops;
    to.track->rows.add(EventKind::kMemset, times.start, times.dur, name, correlation_of(scan),
                       detail);
  }
}

/// A graph that was traced whole is one row: the device worked, the export does not tell on what.
void DeviceTables::read_graphs() {
  enum Column : int { kGraph = kCommonColumns };
  TableScan scan(processes_.database, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                 {"start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid",
                  "graphId"});

  Times times;
  while (scan.next()) {
    if (!processes_.read_times(scan, kStart, kEnd, times)) continue;
    Processes::StreamRows const to = stream_of(scan);

    model::KernelDetail detail;
    detail.graph = std::max(1U, static_cast<uint32_t>(scan.integer(kGraph)));
    ++rows_.whole_graphs;

    ++to.track->device_ops;
    model::StringId const name =
        to.process->builder.intern(fmt::format("CUDA graph {}", scan.integer(kGraph)));
    to.track->rows.add(EventKind::kKernel, times.start, times.dur, name, correlation_of(scan),
                       detail);
  }
}

void DeviceTables::read_events() {
  TableScan scan(processes_.database, "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
                 {"eventId", "eventSyncId", "correlationId", "contextId", "streamId", "globalPid"});

  while (scan.next())
    events_[&processes_.process(processes_.process_key(scan, 5))].push_back(
        {scan.integer(0), scan.integer(1), static_cast<uint64_t>(scan.integer(2)), scan.integer(3),
         scan.integer(4)});

  for (auto& [process, records] : events_)
    std::sort(records.begin(), records.end(), [](EventRecord const& a, EventRecord const& b) {
      return std::tie(a.event, a.correlation, a.stream) <
             std::tie(b.event, b.correlation, b.stream);
    });
}

/// The event's last record before the call that waits for it, or the one that has the wait's
/// number.
DeviceTables::EventRecord const* DeviceTables::find_event(Process* process, int64_t event,
                                                          int64_t sync, uint64_t before) const {
  auto const records = events_.find(process);
  if (records == events_.end()) return nullptr;
  auto const& all = records->second;

  auto const after = std::partition_point(all.begin(), all.end(), [&](EventRecord const& record) {
    return std::pair(record.event, record.correlation) < std::pair(event, before);
  });
  if (after == all.begin() || std::prev(after)->event != event) return nullptr;

  EventRecord const& last = *std::prev(after);
  return sync == 0 || last.sync == 0 || last.sync == sync ? &last : nullptr;
}

void DeviceTables::read_syncs() {
  enum Column : int { kType = kCommonColumns, kEvent, kEventSync };
  TableScan scan(processes_.database, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                 {"start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid",
                  "syncType", "eventId", "eventSyncId"});

  constexpr int64_t kNoStream = UINT32_MAX;
  Times times;
  while (scan.next()) {
    if (!processes_.read_times(scan, kStart, kEnd, times)) continue;

    Process& process = processes_.process(processes_.process_key(scan, kProcess));
    int64_t context = scan.integer(kContext), stream = scan.integer(kStream);
    // The device that the row names is not always that of its context.
    int32_t const device = process.device_of(context);
    int64_t const type = scan.integer(kType);
    if (type == kTypeStreamWait) {
      // Where the context did nothing there is nothing that waits.
      if (device >= 0)
        add_stream_wait(scan, process, device, times, scan.integer(kEvent),
                        scan.integer(kEventSync));
      continue;
    }

    model::SyncDetail detail;
    detail.device = device >= 0 ? device : device_number(scan.integer(kDevice));

    if (type == kTypeEvent) {
      detail.sync = model::SyncKind::kEvent;
      EventRecord const* const record = find_event(&process, scan.integer(kEvent),
                                                   scan.integer(kEventSync), correlation_of(scan));
      stream = record == nullptr ? kNoStream : record->stream;
      if (record != nullptr) context = record->context;
      if (record != nullptr) detail.source_correlation = record->correlation;
    }

    if (type == kTypeStream) detail.sync = model::SyncKind::kStream;
    if (type == kTypeContext) detail.sync = model::SyncKind::kDevice;
    if (detail.sync != model::SyncKind::kDevice && stream != kNoStream)
      detail.stream = number_in_detail(process.stream_number(device, context, stream));

    rows_.syncs[&process].emplace(correlation_of(scan), detail);
  }
}

void DeviceTables::add_stream_wait(TableScan const& scan, Process& process, int32_t device,
                                   Times const& times, int64_t event, int64_t event_sync) {
  model::StreamWaitDetail detail;

  if (EventRecord const* const record =
          find_event(&process, event, event_sync, correlation_of(scan))) {
    detail.source_correlation = record->correlation;
    detail.source_device = process.device_of(record->context);
    if (detail.source_device >= 0)
      detail.source_stream = number_in_detail(
          process.stream_number(detail.source_device, record->context, record->stream));
  }

  Processes::StreamRows const to =
      processes_.stream({process.identity, device, scan.integer(kContext), scan.integer(kStream)});
  to.track->rows.add(EventKind::kStreamWait, times.start, times.dur,
                     process.builder.intern("stream wait"), correlation_of(scan), detail);
}

}  // namespace

DeviceRows read_device_tables(Processes& processes) { return DeviceTables(processes).read(); }

}  // namespace stepscope::import::nsys
