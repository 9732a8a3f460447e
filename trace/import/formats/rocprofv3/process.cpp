#include "trace/import/formats/rocprofv3/process.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "trace/base/format.h"
#include "trace/import/common/call_kinds.h"
#include "trace/model/build/communication_names.h"

namespace stepscope::import::rocm {
namespace {

using model::CopyDirection;
using model::EventKind;

constexpr std::string_view kStepPrefix = "ProfilerStep#";
constexpr std::string_view kLoaderPrefix = "enumerate(DataLoader)#";

uint32_t small_number(uint64_t value) {
  return static_cast<uint32_t>(std::min<uint64_t>(value, std::numeric_limits<uint32_t>::max()));
}

/// ROCm counts the threads of a grid; kernels are shown with their blocks.
uint32_t blocks_of(uint64_t threads, uint64_t block) {
  if (block == 0) return 0;
  return small_number(threads / block + (threads % block != 0 ? 1 : 0));
}

/// Kernels with which HIP copies and fills.
EventKind kind_of_kernel(std::string_view name) {
  if (name.starts_with("__amd_rocclr_copy")) return EventKind::kMemcpy;
  if (name.starts_with("__amd_rocclr_fill")) return EventKind::kMemset;
  return model::is_communication_kernel(name) ? EventKind::kCollective : EventKind::kKernel;
}

std::string_view name_of_copy(CopyDirection direction) {
  switch (direction) {
    case CopyDirection::kHostToDevice:
      return "Memcpy HtoD";
    case CopyDirection::kDeviceToHost:
      return "Memcpy DtoH";
    case CopyDirection::kDeviceToDevice:
      return "Memcpy DtoD";
    case CopyDirection::kPeerToPeer:
      return "Memcpy PtoP";
    case CopyDirection::kUnknown:
    case CopyDirection::kHostToHost:
      break;
  }
  return "Memcpy";
}

std::optional<int64_t> step_of_range(std::string_view text) {
  if (!text.starts_with(kStepPrefix)) return std::nullopt;
  text.remove_prefix(kStepPrefix.size());

  int64_t step = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), step);
  return error == std::errc() && step >= 0 ? std::optional(step) : std::nullopt;
}

}  // namespace

std::string_view without_descriptor(std::string_view name) {
  for (std::string_view const suffix : {" [clone .kd]", ".kd"})
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  return name;
}

CopyDirection direction_of_operation(std::string_view operation) {
  if (operation.ends_with("HOST_TO_DEVICE")) return CopyDirection::kHostToDevice;
  if (operation.ends_with("DEVICE_TO_HOST")) return CopyDirection::kDeviceToHost;
  if (operation.ends_with("DEVICE_TO_DEVICE")) return CopyDirection::kDeviceToDevice;
  return operation.ends_with("HOST_TO_HOST") ? CopyDirection::kHostToHost : CopyDirection::kUnknown;
}

void Process::add_agent(Agent agent) {
  if (agents_.size() < kMostAgents) agents_.push_back(std::move(agent));
}

bool Process::take_times(Record const& record) {
  if (record.start == 0 && record.end == 0) {
    ++untimed_;
    return false;
  }
  ++events_;
  return true;
}

Process::Ops& Process::ops_of(OpKey key) {
  auto const found = ops_.find(key);
  if (found != ops_.end()) return found->second;

  if (ops_.size() >= kMostTracks) {
    ++folded_;
    key = {};
  }
  return ops_[key];
}

Process::Thread& Process::thread(uint64_t id) {
  auto const found = threads_.find(id);
  if (found != threads_.end()) return found->second;

  if (threads_.size() >= kMostTracks) {
    ++folded_;
    id = 0;
  }
  return threads_[id];
}

void Process::add_symbol(uint64_t kernel, std::string_view name, uint32_t registers) {
  std::string const shown = base::printable(base::valid_utf8(name, kMostNameBytes));

  Symbol symbol;
  symbol.name = builder.intern(shown);
  symbol.registers = registers;
  symbol.kind = kind_of_kernel(shown);
  if (symbol.kind == EventKind::kCollective) symbol.collective = model::collective_of_kernel(shown);
  symbols_.insert_or_assign(kernel, symbol);
}

Process::Symbol const& Process::symbol(uint64_t kernel) {
  auto const found = symbols_.find(kernel);
  if (found != symbols_.end()) return found->second;
  ++nameless_;
  add_symbol(kernel, fmt::format("kernel {}", kernel), 0);
  return symbols_[kernel];
}

CallName Process::call_name(std::string_view name) {
  CallName call;
  call.name = builder.intern(base::printable(base::valid_utf8(name, kMostNameBytes)));
  call.api_class = model::classify(name);
  call.sync = model::sync_kind_of(name);
  return call;
}

void Process::add_kernel(Record const& record) {
  if (!take_times(record)) return;
  Symbol const& of = symbol(record.kernel);
  model::EventBatch& rows = ops_of({record.agent, record.stream, record.queue, {}}).rows;
  int64_t const dur = minus(record.end, record.start);

  uint32_t const blocks = blocks_of(record.threads[0], record.block[0]);
  if (of.kind == EventKind::kCollective) {
    model::CollectiveDetail detail = of.collective;
    detail.channels = blocks;
    return rows.add(of.kind, record.start, dur, of.name, record.correlation, detail);
  }
  if (of.kind != EventKind::kKernel)
    return rows.add(of.kind, record.start, dur, of.name, record.correlation, model::CopyDetail());

  model::KernelDetail detail;
  detail.grid_x = blocks;
  detail.grid_y = blocks_of(record.threads[1], record.block[1]);
  detail.grid_z = blocks_of(record.threads[2], record.block[2]);
  detail.block_x = small_number(record.block[0]);
  detail.block_y = small_number(record.block[1]);
  detail.block_z = small_number(record.block[2]);
  detail.registers_per_thread = of.registers;
  detail.shared_memory_bytes = small_number(record.shared_bytes);
  rows.add(of.kind, record.start, dur, of.name, record.correlation, detail);
}

CopyDirection Process::direction_of(Record const& record) const {
  Agent const* const from = find_agent(record.source_agent);
  Agent const* const to = find_agent(record.agent);
  if (from == nullptr || to == nullptr) return CopyDirection::kUnknown;

  if (from->is_gpu)
    return to->is_gpu ? CopyDirection::kDeviceToDevice : CopyDirection::kDeviceToHost;
  return to->is_gpu ? CopyDirection::kHostToDevice : CopyDirection::kHostToHost;
}

void Process::add_copy(Record const& record, CopyDirection direction) {
  if (direction == CopyDirection::kHostToHost) {
    ++host_copies_;
    return;
  }
  if (!take_times(record)) return;

  bool const is_peer = direction == CopyDirection::kDeviceToDevice && record.agent != 0 &&
                       record.source_agent != 0 && record.agent != record.source_agent;
  if (is_peer) direction = CopyDirection::kPeerToPeer;
  bool const reads = direction == CopyDirection::kDeviceToHost || is_peer;

  model::CopyDetail detail;
  detail.bytes = record.bytes;
  detail.direction = direction;

  Ops& ops =
      ops_of({reads ? record.source_agent : record.agent, record.stream, record.queue, direction});
  if (is_peer) ops.peers.push_back({copies_of(ops.rows).size(), record.agent});
  ops.rows.add(EventKind::kMemcpy, record.start, minus(record.end, record.start),
               builder.intern(name_of_copy(direction)), record.correlation, detail);
}

void Process::add_call(Record const& record, CallName const& call, Api api) {
  if (!take_times(record)) return;
  Thread& to = thread(record.thread);
  int64_t const dur = minus(record.end, record.start);

  // A call that failed did nothing.
  EventKind const kind = record.has_failed ? EventKind::kApi : kind_of_call(call.api_class);
  switch (kind) {
    case EventKind::kSync:
      to.rows.add(kind, record.start, dur, call.name, record.correlation,
                  model::SyncDetail{.sync = call.sync});
      break;
    case EventKind::kMemory:
      to.rows.add(kind, record.start, dur, call.name, record.correlation, model::MemoryDetail());
      break;
    default:
      to.rows.add(kind, record.start, dur, call.name, record.correlation);
      break;
  }

  CallSpan const span{record.start, record.end, record.correlation};
  if (api == Api::kHip) to.calls.hip.push_back(span);
  if (api == Api::kHsa) to.calls.hsa.push_back(span);
  has_calls_ = has_calls_ || api != Api::kOther;
}

void Process::add_communication(Record const& record, std::string_view function) {
  if (!take_times(record)) return;
  Thread& to = thread(record.thread);
  int64_t const dur = minus(record.end, record.start);
  model::StringId const name = call_name(function).name;
  RcclRole const role = rccl_role(function);

  model::CollectiveDetail detail;
  detail.op = rccl_operation(function);
  detail.launch = model::CallLaunch::kNone;
  if (role == RcclRole::kCall && !record.has_failed)
    to.rows.add(EventKind::kCollectiveCall, record.start, dur, name, 0, detail);
  else
    to.rows.add(EventKind::kApi, record.start, dur, name);
  to.calls.rccl.push_back({{record.start, record.end, record.correlation}, role, detail.op});
}

void Process::add_range(Record const& record, std::string_view text) {
  if (!take_times(record)) return;
  model::EventBatch& rows = thread(record.thread).rows;
  int64_t const dur = minus(record.end, record.start);
  model::StringId const name = call_name(text).name;

  if (auto const step = step_of_range(text))
    return rows.add(EventKind::kStep, record.start, dur, name, 0, model::StepDetail{*step});

  bool const loads =
      text.starts_with(kLoaderPrefix) && text.find("__next__") != std::string_view::npos;
  if (loads) return rows.add(EventKind::kInputWait, record.start, dur, name);
  rows.add_range(record.start, dur, name);
}

void Process::add_mark(Record const& record, std::string_view text) {
  if (!take_times(record)) return;
  thread(record.thread).rows.add(EventKind::kMark, record.start, 0, call_name(text).name);
}

void Process::add_memory(Record const& record, model::MemoryOp op) {
  if (!take_times(record)) return;

  MemoryRecord memory;
  memory.start = record.start;
  memory.dur = minus(record.end, record.start);
  memory.thread = record.thread;
  memory.correlation = record.correlation;
  memory.agent = record.agent;
  memory.detail.op = op;
  memory.detail.address = record.address;
  memory.detail.bytes = record.bytes;
  memory_.push_back(memory);
}

Agent const* Process::find_agent(uint64_t handle) const {
  auto const found = std::find_if(agents_.begin(), agents_.end(),
                                  [&](Agent const& agent) { return agent.handle == handle; });
  return handle == 0 || found == agents_.end() ? nullptr : &*found;
}

}  // namespace stepscope::import::rocm
