#include "trace/import/formats/xplane/line_events.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>

#include "trace/model/build/communication_names.h"

namespace stepscope::import {
namespace {

using base::ProtobufField;
using base::ProtobufReader;
using model::EventKind;
using model::StringId;

/// The stats of an event that are read.
struct EventStats {
  uint64_t correlation = 0;
  bool is_call = false;           ///< says what calls say: correlation or device
  int64_t step = -1, group = -1;  ///< −1 = not in the stats
  std::string_view kernel, copy, fill, hlo_op,
      allocator;  ///< stats as they stand; empty = there is none
  bool tells_of_memory = false;
  bool is_whole_graph = false;
  uint32_t graph = 0;
  uint64_t graph_node = 0;
  uint64_t bytes_allocated = 0, allocation_bytes = 0, address = 0;
  std::optional<double> number;  ///< the first that is one
};

struct RawEvent {
  int64_t metadata_id = 0;
  int64_t offset_ps = 0, duration_ps = 0;
  bool is_aggregated = false;
  bool is_broken = false;
  /// The event's stats, in the order in which they stand; more are passed over.
  static constexpr size_t kMostStats = 32;
  std::array<std::string_view, kMostStats> stats;
  size_t stat_count = 0;
};

void read_event_fields(std::string_view message, RawEvent& event) {
  event.metadata_id = event.offset_ps = event.duration_ps = 0;
  event.is_aggregated = false;
  event.stat_count = 0;
  ProtobufReader reader(message);
  ProtobufField field;

  while (reader.next(field)) {
    bool const is_varint = field.type == base::WireType::kVarint;
    switch (field.number) {
      case 1:
        if (is_varint) event.metadata_id = field.signed_value();
        break;
      case 2:
        if (!is_varint) break;
        event.offset_ps = field.signed_value();
        event.is_aggregated = false;
        break;
      case 3:
        if (is_varint) event.duration_ps = field.signed_value();
        break;
      case 4:
        if (field.type != base::WireType::kBytes || field.is_cut) break;
        if (event.stat_count < RawEvent::kMostStats) event.stats[event.stat_count++] = field.bytes;
        break;
      case 5:
        event.is_aggregated = event.is_aggregated || is_varint;
        break;
      default:
        break;
    }
  }

  event.is_broken = reader.end() != ProtobufReader::End::kWhole;
}

/// The first field of a stat is its id, and of most stats no more is needed.
std::optional<int64_t> first_id(std::string_view stat) {
  constexpr char kIdTag = 0x08;
  if (stat.size() > 1 && stat[0] == kIdTag && static_cast<signed char>(stat[1]) >= 0)
    return stat[1];
  ProtobufReader reader(stat);
  ProtobufField field;
  return reader.next(field) && field.is_varint(1) ? std::optional(field.signed_value())
                                                  : std::nullopt;
}

/// Device of "GPU_3_bfc"; nothing for memory of the host ("gpu_host_bfc", "cpu").
std::optional<int32_t> device_of_allocator(std::string_view name) {
  for (std::string_view const prefix : {"GPU_", "TPU_", "gpu_async_"}) {
    if (!name.starts_with(prefix)) continue;
    name.remove_prefix(prefix.size());
    int32_t device = 0;
    auto const [end, error] = std::from_chars(name.data(), name.data() + name.size(), device);
    if (error == std::errc() && device >= 0) return device;
  }
  return std::nullopt;
}

class PieceReader {
 public:
  explicit PieceReader(PieceContext const& context) : context_(context), tables_(*context.tables) {}

  PieceEvents read(LinePiece const& piece) {
    bool const are_rows = context_.role != LineRole::kAsyncOps && context_.role != LineRole::kSteps;
    if (are_rows) events_.rows.reserve(piece.events);

    // Growing by halves would write most of these twice, and they are large.
    constexpr size_t kUsualOpBytes = 48;
    if (context_.role == LineRole::kStream || context_.role == LineRole::kOps)
      std::get<model::DetailColumn<model::KernelDetail>>(events_.rows.details)
          .reserve(piece.bytes.size() / kUsualOpBytes);

    ProtobufReader reader(piece.bytes);
    ProtobufField field;
    RawEvent event;
    while (reader.next(field)) {
      if (!field.is_bytes(4)) continue;
      read_event_fields(field.bytes, event);
      add(event);
    }

    return std::move(events_);
  }

 private:
  struct Times {
    int64_t start = 0, dur = 0;
    [[nodiscard]] int64_t end() const { return saturated_sum(start, dur); }
  };

  [[nodiscard]] Times times_of(RawEvent const& event) const {
    Times times;
    times.start = saturated_sum(context_.begin_ns, ns_of_ps(event.offset_ps));
    int64_t const end_ps = saturated_sum(event.offset_ps, event.duration_ps);
    times.dur =
        saturated_difference(saturated_sum(context_.begin_ns, ns_of_ps(end_ps)), times.start);
    // The builder repairs and counts.
    if (event.duration_ps < 0 && times.dur >= 0) times.dur = -1;
    return times;
  }

  void add(RawEvent const& event) {
    events_.broken += event.is_broken ? 1 : 0;
    if (event.is_aggregated) {
      ++events_.aggregated;
      return;
    }

    name_ = tables_.events.find(event.metadata_id);
    events_.unnamed += name_ == tables_.events.nameless() ? 1 : 0;
    EventMetadata const& metadata = tables_.events.metadata()[name_];
    Times const times = times_of(event);

    switch (context_.role) {
      case LineRole::kThread:
        return add_host_event(event, metadata, times);
      case LineRole::kStream:
        return add_stream_op(stats_of(event), metadata, times);
      case LineRole::kOps:
        return add_xla_op(metadata, times);
      case LineRole::kAsyncOps:
        return events_.async.push_back({times.start, times.end(), name_});
      case LineRole::kSteps:
        return add_device_step(stats_of(event), metadata, times);
      case LineRole::kRanges:
        return events_.rows.add_range(times.start, times.dur, StringId{name_});
      case LineRole::kCounters:
        if (auto const number = stats_of(event).number)
          return events_.rows.add(EventKind::kSample, times.start, 0, StringId{name_}, 0,
                                  model::SampleDetail{*number});
        ++events_.unknown;
        return;
      case LineRole::kOverhead:
        return add_overhead(stats_of(event), metadata, times);
      case LineRole::kDerived:
        return;
    }
  }

  [[nodiscard]] EventStats stats_of(RawEvent const& event) const {
    EventStats stats;
    bool const wants_number = context_.role == LineRole::kCounters;
    for (size_t i = 0; i < event.stat_count; ++i) {
      auto const id = first_id(event.stats[i]);
      KnownStat const known = id ? tables_.stats.known(*id) : KnownStat::kOther;

      // Whose id does not come first is read as a whole.
      if (known == KnownStat::kOther && id && !wants_number) continue;
      if (wants_number && !stats.number) stats.number = read_stat(event.stats[i]).real();
      take(event.stats[i], id ? known : tables_.stats.known(read_stat(event.stats[i]).metadata_id),
           stats);
    }

    return stats;
  }

  static void take(std::string_view stat, KnownStat known, EventStats& stats) {
    auto const number_or = [&](int64_t otherwise) {
      return read_stat(stat).integer().value_or(otherwise);
    };
    auto const count = [&] { return static_cast<uint64_t>(std::max<int64_t>(0, number_or(0))); };

    switch (known) {
      case KnownStat::kCorrelation:
        stats.correlation = count();
        stats.is_call = true;
        return;
      case KnownStat::kDevice:
        stats.is_call = true;
        return;
      case KnownStat::kKernelDetails:
        return void(stats.kernel = stat);
      case KnownStat::kMemcpyDetails:
        return void(stats.copy = stat);
      case KnownStat::kMemsetDetails:
        return void(stats.fill = stat);
      case KnownStat::kNoWorkDetails:
        return void(stats.tells_of_memory = true);
      case KnownStat::kStepNumber:
        return void(stats.step = number_or(-1));
      case KnownStat::kGroup:
        return void(stats.group = number_or(-1));
      case KnownStat::kGraph:
        return void(stats.graph = static_cast<uint32_t>(std::min<uint64_t>(count(), UINT32_MAX)));
      case KnownStat::kWholeGraph:
        stats.graph = static_cast<uint32_t>(std::min<uint64_t>(count(), UINT32_MAX));
        stats.is_whole_graph = true;
        return;
      case KnownStat::kGraphNode:
        return void(stats.graph_node = count());
      case KnownStat::kHloOp:
        return void(stats.hlo_op = stat);
      case KnownStat::kAllocator:
        return void(stats.allocator = stat);
      case KnownStat::kBytesAllocated:
        return void(stats.bytes_allocated = count());
      case KnownStat::kAllocationBytes:
        return void(stats.allocation_bytes = count());
      case KnownStat::kAddress:
        return void(stats.address = static_cast<uint64_t>(number_or(0)));
      case KnownStat::kHloCategory:
      case KnownStat::kFlops:
      case KnownStat::kBytesAccessed:
      case KnownStat::kOther:
        return;
    }
  }

  void add_host_event(RawEvent const& event, EventMetadata const& metadata, Times const& times) {
    switch (metadata.host) {
      case HostMeaning::kRange:
        return add_host_range(event, times);
      case HostMeaning::kInputWait:
        return events_.rows.add(EventKind::kInputWait, times.start, times.dur, StringId{name_});
      case HostMeaning::kCall:
        return add_call(stats_of(event), metadata, times);
      case HostMeaning::kAllocation:
      case HostMeaning::kFree:
        return add_allocation(stats_of(event), metadata.host == HostMeaning::kAllocation, times);
    }
  }

  void add_host_range(RawEvent const& event, Times const& times) {
    StringId const name{name_};
    if (event.duration_ps == 0) return events_.rows.add(EventKind::kMark, times.start, 0, name);

    if (event.stat_count > 0 && tables_.stats.has_step_numbers()) {
      if (int64_t const step = stats_of(event).step; step >= 0) {
        events_.has_host_steps = true;
        return events_.rows.add(EventKind::kStep, times.start, times.dur, name, 0,
                                model::StepDetail{step});
      }
    }

    events_.rows.add_range(times.start, times.dur, name);
  }

  void add_call(EventStats const& stats, EventMetadata const& metadata, Times const& times) {
    StringId const name{name_};
    // A function of the program may have such a name too.
    if (!stats.is_call && metadata.api == model::ApiClass::kOther)
      return events_.rows.add_range(times.start, times.dur, name);

    if (!stats.copy.empty() && stats.correlation != 0) {
      model::CopyDetail copy = tables_.stats.copy(read_stat(stats.copy));
      copy.direction = meaning_of_stream_op(metadata.name).direction;
      copy.peer_device = -1;  // what calls name as their destination is no device
      events_.copies.push_back({stats.correlation, copy});
    }

    switch (metadata.api) {
      case model::ApiClass::kLaunch:
        return events_.rows.add(EventKind::kLaunch, times.start, times.dur, name,
                                stats.correlation);
      case model::ApiClass::kSync: {
        model::SyncDetail detail;
        detail.sync = metadata.sync;
        return events_.rows.add(EventKind::kSync, times.start, times.dur, name, stats.correlation,
                                detail);
      }
      case model::ApiClass::kMemory:
        // The totals of what is allocated are XLA's allocator's, which takes its memory at once.
        return events_.rows.add(EventKind::kMemory, times.start, times.dur, name, stats.correlation,
                                model::MemoryDetail());
      case model::ApiClass::kNoise:
      case model::ApiClass::kOther:
        return events_.rows.add(EventKind::kApi, times.start, times.dur, name, stats.correlation);
    }
  }

  /// A row of XLA's and TensorFlow's own allocator. Its "bytes_reserved" are those of its stack,
  /// not what it holds from the system, which the profile does not state.
  void add_allocation(EventStats const& stats, bool allocates, Times const& times) {
    StringId const name{name_};
    auto const device = device_of_allocator(tables_.stats.text(read_stat(stats.allocator)));
    if (!device) return events_.rows.add(EventKind::kMark, times.start, 0, name);

    model::MemoryDetail detail;
    detail.address = stats.address;
    detail.bytes = stats.allocation_bytes;
    detail.allocated_bytes = stats.bytes_allocated;
    detail.device = *device;
    detail.op = allocates ? model::MemoryOp::kAllocate : model::MemoryOp::kFree;
    detail.memory = model::MemoryKind::kDevice;

    events_.rows.add(EventKind::kMemory, times.start, times.dur, name, 0, detail);
  }

  /// A line is the profiler's as soon as one overhead is on it, which XLA puts on the line of the
  /// stream that it is of.
  void add_overhead(EventStats const& stats, EventMetadata const& metadata, Times const& times) {
    bool const has_details = !stats.kernel.empty() || !stats.copy.empty() || !stats.fill.empty();
    if (has_details || stats.is_whole_graph || stats.tells_of_memory)
      return add_stream_op(stats, metadata, times);
    events_.beside.add(EventKind::kOverhead, times.start, times.dur, StringId{name_});
  }

  /// An op's details say more than its name. The program's operation alone may say that a kernel
  /// communicates: XLA's own kernels for it have names like others, and RCCL's have one for all
  /// that they do.
  [[nodiscard]] OpMeaning meaning_on_stream(EventStats const& stats,
                                            EventMetadata const& metadata) const {
    OpMeaning op = metadata.op;
    if (stats.tells_of_memory) op.role = OpRole::kNoWork;
    if (!stats.copy.empty()) op.role = OpRole::kMemcpy;
    if (!stats.fill.empty()) op.role = OpRole::kMemset;

    bool const is_unclear =
        op.role == OpRole::kKernel ||
        (op.role == OpRole::kCollective && op.collective == model::CollectiveOp::kUnknown);
    if (!is_unclear || stats.hlo_op.empty()) return op;

    OpMeaning const launched_by = tables_.stats.xla_op(read_stat(stats.hlo_op));
    if (launched_by.role != OpRole::kCollective) return op;

    op.role = OpRole::kCollective;
    op.collective = launched_by.collective;
    return op;
  }

  void add_stream_op(EventStats const& stats, EventMetadata const& metadata, Times const& times) {
    OpMeaning const op = meaning_on_stream(stats, metadata);
    OpRole const role = op.role;
    StringId const name{name_};

    switch (role) {
      case OpRole::kMemcpy:
      case OpRole::kMemset: {
        model::CopyDetail copy =
            tables_.stats.copy(read_stat(role == OpRole::kMemcpy ? stats.copy : stats.fill));
        copy.direction = op.direction;
        if (copy.direction != model::CopyDirection::kPeerToPeer) copy.peer_device = -1;
        copy.graph = stats.graph;
        copy.graph_node = stats.graph_node;
        EventKind const kind = role == OpRole::kMemcpy ? EventKind::kMemcpy : EventKind::kMemset;
        return events_.rows.add(kind, times.start, times.dur, name, stats.correlation, copy);
      }
      case OpRole::kCollective: {
        model::CollectiveDetail detail = collective_detail(op);
        detail.channels = tables_.stats.kernel(read_stat(stats.kernel)).grid_x;
        return events_.rows.add(EventKind::kCollective, times.start, times.dur, name,
                                stats.correlation, detail);
      }

      case OpRole::kKernel:
      case OpRole::kControlFlow:
      case OpRole::kAsync: {
        model::KernelDetail kernel = tables_.stats.kernel(read_stat(stats.kernel));
        kernel.graph = stats.graph;
        kernel.graph_node = stats.graph_node;
        events_.whole_graphs += stats.is_whole_graph && stats.kernel.empty() ? 1 : 0;
        return events_.rows.add(EventKind::kKernel, times.start, times.dur, name, stats.correlation,
                                kernel);
      }

      case OpRole::kNoWork:
        ++events_.unknown;
        return;
    }
  }

  static model::CollectiveDetail collective_detail(OpMeaning const& op) {
    model::CollectiveDetail detail;
    detail.op = op.collective;
    detail.algorithm = op.algorithm;
    detail.protocol = op.protocol;
    return detail;
  }

  void add_xla_op(EventMetadata const& metadata, Times const& times) {
    StringId const name{name_};
    if (metadata.op.role == OpRole::kControlFlow)
      return events_.beside.add_range(times.start, times.dur, name);

    if (metadata.op.phase != OpPhase::kWhole)
      events_.async.push_back({times.start, times.end(), name_});
    if (metadata.op.phase == OpPhase::kDone) {
      // The core waits for what it began before.
      model::StreamWaitDetail wait;
      wait.source_device = context_.device;
      return events_.rows.add(EventKind::kStreamWait, times.start, times.dur, name, 0, wait);
    }

    bool const is_whole = metadata.op.phase == OpPhase::kWhole;
    if (is_whole && metadata.op.role == OpRole::kCollective)
      return events_.rows.add(EventKind::kCollective, times.start, times.dur, name, 0,
                              collective_detail(metadata.op));
    if (is_whole && metadata.op.role == OpRole::kMemcpy) {
      model::CopyDetail copy;
      copy.direction = metadata.op.direction;
      return events_.rows.add(EventKind::kMemcpy, times.start, times.dur, name, 0, copy);
    }

    model::KernelDetail kernel;
    kernel.bytes = metadata.bytes;
    kernel.flops = metadata.flops;
    events_.rows.add(EventKind::kKernel, times.start, times.dur, name, 0, kernel);
  }

  void add_device_step(EventStats const& stats, EventMetadata const& metadata, Times const& times) {
    int64_t number = -1;
    std::from_chars(metadata.name.data(), metadata.name.data() + metadata.name.size(), number);
    if (number < 0) number = stats.group;
    if (stats.step >= 0) number = stats.step;
    events_.steps.push_back({times.start, times.dur, name_, std::max<int64_t>(-1, number)});
  }

  PieceContext const& context_;
  PlaneTables const& tables_;
  PieceEvents events_;
  uint32_t name_ = 0;  ///< of the event that is being added
};

}  // namespace

PieceEvents read_piece(LinePiece const& piece, PieceContext const& context) {
  return PieceReader(context).read(piece);
}

}  // namespace stepscope::import
