#include "trace/export/chrome/kineto_event.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "trace/export/chrome/kineto_names.h"
#include "trace/export/details.h"

namespace stepscope::exporting {
namespace {

using model::EventKind;

class ArgumentWriter {
 public:
  explicit ArgumentWriter(JsonMembers& to) : to_(to) {}
  void operator()(size_t /*field*/, char const* name, char const* value) { to_.text(name, value); }
  template <class Number>
  void operator()(size_t /*field*/, char const* name, Number value) {
    to_.number(name, value);
  }

 private:
  JsonMembers& to_;
};

void append_list(std::string_view key, uint32_t x, uint32_t y, uint32_t z, JsonMembers& to) {
  to.raw(key, fmt::format("[{},{},{}]", x, y, z));
}

void append_kernel(model::KernelDetail const& kernel, JsonMembers& to) {
  if (kernel.grid_x > 0) append_list("grid", kernel.grid_x, kernel.grid_y, kernel.grid_z, to);
  if (kernel.block_x > 0) append_list("block", kernel.block_x, kernel.block_y, kernel.block_z, to);

  if (kernel.registers_per_thread > 0)
    to.number("registers per thread", uint64_t{kernel.registers_per_thread});
  if (kernel.shared_memory_bytes > 0)
    to.number("shared memory", uint64_t{kernel.shared_memory_bytes});
  if (kernel.occupancy_percent > 0)
    to.number("est. achieved occupancy %", uint64_t{kernel.occupancy_percent});

  if (kernel.flops > 0) to.number("flops", kernel.flops);
  if (kernel.bytes > 0) to.number("memory traffic bytes", kernel.bytes);
}

void append_graph(uint32_t graph, uint64_t node, JsonMembers& to) {
  if (graph != 0) to.number("graph id", uint64_t{graph});
  if (node != 0) to.number("graph node id", node);
}

/// Kineto counts a message in elements of a type. A message of an unknown type, or of a part of an
/// element, is counted in bytes.
void append_collective(model::CollectiveDetail const& detail, JsonMembers& to) {
  using model::CollectiveOp, model::WholeMessage;
  uint64_t const each = model::bytes_of(detail.data_type);
  bool const is_divisible = each > 0 && detail.bytes % each == 0;
  uint64_t const all = is_divisible ? detail.bytes / each : detail.bytes;
  uint64_t const part = all / std::max(1U, detail.participants);
  model::CollectiveOpInfo const& info = model::collective_op_info(detail.op);

  to.text("Collective name", info.torch_name);
  if (detail.bytes > 0) {
    to.number("In msg nelems", info.whole == WholeMessage::kInOutput ? part : all);
    to.number("Out msg nelems", info.whole == WholeMessage::kInInput ? part : all);
  }
  if (detail.bytes > 0 || each > 0)
    to.text("dtype", is_divisible ? data_type_name(detail.data_type) : "Byte");

  if (detail.participants > 0) to.number("Group size", uint64_t{detail.participants});
  if (detail.communicator != 0)
    to.text("Process Group Name", fmt::format("{}", detail.communicator));
  if (detail.rank >= 0) to.number("Rank", int64_t{detail.rank});

  // Kineto's "Seq" of a message is each rank's own; ours is the same on both.
  if (model::is_point_to_point(detail.op))
    to.number("Message number", detail.sequence);
  else if (detail.sequence != 0)
    to.number("Seq", detail.sequence);

  if (detail.peer >= 0)
    to.number(detail.op == CollectiveOp::kSend ? "Dst Rank" : "Src Rank", int64_t{detail.peer});
  if (detail.channels > 0) append_list("grid", detail.channels, 1, 1, to);
  if (detail.algorithm != model::CollectiveAlgorithm::kUnknown)
    to.text("algorithm", model::to_string(detail.algorithm));
  if (detail.protocol != model::CollectiveProtocol::kUnknown)
    to.text("protocol", model::to_string(detail.protocol));
}

void append_device_op(model::Trace const& trace, uint32_t row, JsonMembers& to) {
  model::Track const& track = trace.track(row);
  to.number("device", int64_t{track.device});
  to.number("stream", track.id);

  switch (trace.kind(row)) {
    case EventKind::kKernel: {
      auto const& kernel = trace.detail<model::KernelDetail>(row);
      append_kernel(kernel, to);
      return append_graph(kernel.graph, kernel.graph_node, to);
    }
    case EventKind::kMemcpy:
    case EventKind::kMemset: {
      auto const& copy = trace.detail<model::CopyDetail>(row);
      to.number("bytes", copy.bytes);
      if (copy.peer_device >= 0) to.number("toDevice", int64_t{copy.peer_device});
      return append_graph(copy.graph, copy.graph_node, to);
    }
    case EventKind::kCollective: {
      auto const& collective = trace.detail<model::CollectiveDetail>(row);
      append_collective(collective, to);
      return append_graph(collective.graph, collective.graph_node, to);
    }

    case EventKind::kStreamWait: {
      auto const& wait = trace.detail<model::StreamWaitDetail>(row);
      to.text("cuda_sync_kind", "Stream Wait Event");
      if (wait.source_stream >= 0) to.number("wait_on_stream", int64_t{wait.source_stream});
      if (wait.source_correlation != 0)
        to.number("wait_on_cuda_event_record_corr_id", wait.source_correlation);
      return;
    }
    default:
      visit_details(trace, row, ArgumentWriter(to));
  }
}

}  // namespace

std::string_view kineto_category(model::Trace const& trace, uint32_t row) {
  switch (trace.kind(row)) {
    case EventKind::kKernel:
    case EventKind::kCollective:
      return "kernel";
    case EventKind::kMemcpy:
      return "gpu_memcpy";
    case EventKind::kMemset:
      return "gpu_memset";
    case EventKind::kStreamWait:
      return "cuda_sync";
    case EventKind::kLaunch:
    case EventKind::kApi:
    case EventKind::kSync:
    case EventKind::kMemory: {
      std::string_view const name = trace.name(row);
      return name.starts_with("cu") && !name.starts_with("cuda") ? "cuda_driver" : "cuda_runtime";
    }
    case EventKind::kOverhead:
      return "overhead";
    case EventKind::kMark:
    case EventKind::kAnnotatedMark:
      return "cpu_instant_event";
    case EventKind::kRange:
    case EventKind::kStep:
    case EventKind::kPhase:
    case EventKind::kInputWait:
    case EventKind::kSample:
    case EventKind::kCollectiveCall:
    case EventKind::kAnnotatedRange:
      break;
  }
  return "user_annotation";
}

std::string kineto_name(model::Trace const& trace, uint32_t row) {
  switch (trace.kind(row)) {
    case EventKind::kStep:
      return fmt::format("ProfilerStep#{}", trace.detail<model::StepDetail>(row).index);
    case EventKind::kMemcpy:
      return copy_name(trace.name(row), trace.detail<model::CopyDetail>(row));
    case EventKind::kInputWait:
      return input_wait_name(trace.name(row));
    case EventKind::kLaunch:
    case EventKind::kSync:
    case EventKind::kMemory:
      return std::string(call_name(trace, row));
    default:
      return std::string(trace.name(row));
  }
}

void append_kineto_arguments(model::Trace const& trace, uint32_t row, JsonMembers& arguments) {
  EventKind const kind = trace.kind(row);
  switch (kind) {
    case EventKind::kKernel:
    case EventKind::kMemcpy:
    case EventKind::kMemset:
    case EventKind::kCollective:
    case EventKind::kStreamWait:
      append_device_op(trace, row, arguments);
      break;
    case EventKind::kMemory:  // as "[memory]"
    case EventKind::kStep:    // in the name
      break;
    default:
      visit_details(trace, row, ArgumentWriter(arguments));
  }

  if (uint64_t const correlation = trace.columns().correlation[row]; correlation != 0)
    arguments.number("correlation", correlation);
  if (kind == EventKind::kPhase || kind == EventKind::kCollectiveCall)
    arguments.text("kind", model::kind_info(kind).name);
}

void append_memory_arguments(model::MemoryDetail const& memory, bool has_reserved,
                             JsonMembers& arguments) {
  auto const bytes = static_cast<int64_t>(std::min<uint64_t>(memory.bytes, INT64_MAX));
  arguments.number("Bytes", memory.op == model::MemoryOp::kFree ? -bytes : bytes);
  arguments.number("Addr", static_cast<int64_t>(
                               memory.address));  // as Kineto does: what does not fit is negative
  arguments.number("Total Allocated", memory.allocated_bytes);
  if (has_reserved) arguments.number("Total Reserved", memory.reserved_bytes);

  constexpr int64_t kCuda = 1;
  arguments.number("Device Type", memory.device >= 0 ? kCuda : 0);
  arguments.number("Device Id", int64_t{memory.device});
}

}  // namespace stepscope::exporting
