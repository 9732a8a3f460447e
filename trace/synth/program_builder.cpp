#include "trace/synth/program_builder.h"

#include <algorithm>
#include <map>

#include "trace/synth/kernels.h"

namespace stepscope::synth {
namespace {

using model::CollectiveOp;
using model::MemoryPurpose;

// Times of collectives are alpha + bytes / beta, as of eight devices behind NVLink switches.
constexpr int64_t kAlphaNs = 22'000;
constexpr uint64_t kBytesPerNs = 180;

constexpr uint64_t kBatchBytes = 38'535'168;  // 64 images of 224 × 224 × 3 floats
constexpr int64_t kBatchCopyNs = 1'540'000;   // over PCIe 4, 25 GB/s
constexpr uint64_t kWorkspaceBytes = 64U << 20;

std::string_view call_name(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::kSend:
      return "nccl:send";
    case CollectiveOp::kReceive:
      return "nccl:recv";
    case CollectiveOp::kAllToAll:
      return "nccl:all_to_all";
    default:
      return "nccl:all_reduce";
  }
}

std::string_view kernel_name(CollectiveOp op) {
  return op == CollectiveOp::kAllReduce ? "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
                                        : "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)";
}

}  // namespace

int64_t all_reduce_ns(uint64_t bytes, int32_t ranks) {
  auto const n = static_cast<uint64_t>(ranks);
  return kAlphaNs + static_cast<int64_t>(2 * bytes * (n - 1) / n / kBytesPerNs);
}
int64_t all_to_all_ns(uint64_t bytes, int32_t ranks) {
  auto const n = static_cast<uint64_t>(ranks);
  return kAlphaNs + static_cast<int64_t>(bytes * (n - 1) / n / kBytesPerNs);
}
int64_t send_ns(uint64_t bytes) { return kAlphaNs / 2 + static_cast<int64_t>(bytes / kBytesPerNs); }

ProgramBuilder::ProgramBuilder(int32_t ranks, model::StringTable& strings) : ranks_(ranks), strings_(strings) {
  program_.streams = {{"compute", model::StreamKind::kCompute}, {"copy", model::StreamKind::kCopy}};
}

void ProgramBuilder::kernels(std::span<KernelSpec const> specs, int32_t permille, int32_t expert) {
  for (KernelSpec const& spec : specs)
    act(RunKernel{&spec, strings_.intern(spec.op), strings_.intern(spec.name), permille, expert});
}

uint32_t ProgramBuilder::comm_stream(std::string_view name) {
  auto& streams = program_.streams;
  auto const found = std::find_if(streams.begin(), streams.end(), [&](StreamSpec const& stream) { return stream.name == name; });
  auto const number = static_cast<uint32_t>(std::distance(streams.begin(), found));
  if (number == streams.size()) streams.push_back({std::string(name), model::StreamKind::kCommunication});
  return number;
}

void ProgramBuilder::collective(CollectiveSpec spec) { meet(spec, next_meeting_); }

void ProgramBuilder::meet(CollectiveSpec spec, uint32_t meeting) {
  if (ranks_ < 2) return;
  next_meeting_ = std::max(next_meeting_, meeting + 1);
  spec.meeting = meeting;
  spec.op = strings_.intern(call_name(spec.kind));
  spec.name = strings_.intern(kernel_name(spec.kind));
  act(JoinCollective{static_cast<uint32_t>(program_.collectives.size())});
  program_.collectives.push_back(spec);
}

void ProgramBuilder::await(uint32_t stream) {
  auto const& all = program_.collectives;
  auto const last = std::find_if(all.rbegin(), all.rend(), [&](CollectiveSpec const& spec) { return spec.stream == stream; });
  if (last != all.rend()) act(AwaitCollective{last->meeting, stream});
}

uint32_t ProgramBuilder::allocate(uint64_t bytes, MemoryPurpose purpose) {
  auto const number = static_cast<uint32_t>(program_.blocks.size());
  program_.blocks.push_back({bytes, purpose});
  act(Allocate{number});
  return number;
}

void ProgramBuilder::begin_step(bool reads_input) {
  program_.reads_input = reads_input;
  if (reads_input) act(AwaitInput{});
  act(FaultPoint{});
  if (!reads_input) return;
  act(RunCopy{strings_.intern("aten::to"), strings_.intern("Memcpy HtoD (Pinned -> Device)"), kBatchBytes,
              model::CopyDirection::kHostToDevice, kBatchCopyNs});
  act(AwaitCopy{});
}

void ProgramBuilder::end_step(uint32_t norm_meeting) {
  begin_phase("optimizer");
  uint32_t const stream = comm_stream("all-reduce");
  await(stream);
  kernels(gradient_norm());
  act(Synchronize{});
  act(LateEntry{});
  CollectiveSpec norm;
  norm.stream = stream;
  norm.bytes = 4;
  norm.communicator = kWorldCommunicator;
  norm.participants = static_cast<uint32_t>(ranks_);
  norm.transfer_ns = all_reduce_ns(norm.bytes, ranks_);
  norm.can_rendezvous = true;
  meet(norm, norm_meeting);
  if (ranks_ > 1) await(stream);
  kernels(optimizer());
  act(RunCopy{strings_.intern("aten::item"), strings_.intern("Memcpy DtoH (Device -> Pinned)"), 4,
              model::CopyDirection::kDeviceToHost, 1'900});
  act(Synchronize{});
  end();
}

Program ProgramBuilder::finish(uint64_t parameter_bytes) && {
  program_.resident = {{parameter_bytes, MemoryPurpose::kWeights},
                       {parameter_bytes, MemoryPurpose::kGradients},
                       {2 * parameter_bytes, MemoryPurpose::kOptimizer},
                       {kWorkspaceBytes, MemoryPurpose::kWorkspace},
                       {2 * kBatchBytes, MemoryPurpose::kInput}};
  std::map<uint64_t, uint32_t> counts;
  for (CollectiveSpec& spec : program_.collectives) spec.place = counts[spec.communicator]++;
  for (CollectiveSpec& spec : program_.collectives) spec.per_step = counts[spec.communicator];
  return std::move(program_);
}

}  // namespace stepscope::synth
