#include "trace/synth/process/program_builder.h"

#include <algorithm>
#include <map>
#include <utility>

#include "trace/synth/process/kernel_changes.h"
#include "trace/synth/process/kernels.h"

namespace stepscope::synth {
namespace {

using model::CollectiveOp;
using model::MemoryPurpose;
using model::StreamKind;
using enum FaultType;

constexpr uint64_t kBatchBytes = 38'535'168;  // 64 images of 224 × 224 × 3 floats
constexpr int64_t kBatchCopyNs = 1'540'000;   // over PCIe 4, 25 GB/s
constexpr double kPinnedBytesPerNs = 25;
constexpr double kPageableBytesPerNs = 6;  // through the driver's staging buffers
constexpr uint64_t kWorkspaceBytes = 64U << 20;
constexpr double kBytesPerMib = 1 << 20;
/// As PyTorch's DDP makes them.
constexpr uint64_t kBucketCap = 25U << 20;
constexpr int64_t kPythonFrameNs = 600;     // with what it takes to record it
constexpr uint64_t kSmallParameter = 4096;  // a bias, a scale

constexpr int64_t kNsPerMs = 1'000'000, kNsPerUs = 1'000;
/// The layer in which memory is asked of the driver: the host is well ahead there.
constexpr uint32_t kAllocatingLayer = 9;
constexpr uint64_t kDriverBlockBytes = 256U << 20;

/// Half a device wide.
constexpr KernelSpec kBranchKernel{
    "branch",
    "void branch_kernel<__nv_bfloat16, 64>(BranchParams)",
    100'000,
    {4U << 20, 2e9, kMultiprocessors / 2, 1, 1, 256, 1, 1, 64, 32'768}};

int64_t to_ns(double amount, int64_t unit_ns) {
  return static_cast<int64_t>(amount * static_cast<double>(unit_ns));
}

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
  return op == CollectiveOp::kAllReduce
             ? "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
             : "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)";
}

}  // namespace

ProgramBuilder::ProgramBuilder(Job const& job, Link link, model::StringTable& strings)
    : job_(job), link_(link), strings_(strings) {
  program_.streams = {{"compute", StreamKind::kCompute}, {"copy", StreamKind::kCopy}};
}

void ProgramBuilder::begin_layer(std::string_view name) {
  begin(name, model::EventKind::kRange);
  in_layer_ = true;
  ++layers_;
  if (!job_.has(kAllocation) || layers_ != kAllocatingLayer) return;
  int64_t const ns = to_ns(job_.fault->amount, kNsPerMs);
  auto const block = static_cast<uint32_t>(program_.blocks.size());
  program_.blocks.push_back({kDriverBlockBytes, MemoryPurpose::kWorkspace});
  act(CallDriver{block, false, ns * 3 / 4});
  act(CallDriver{block, true, ns - ns * 3 / 4});
}

/// Two independent kernels, each for half of the device. On the default stream and another one they
/// run one after the other, and what follows waits for both.
void ProgramBuilder::branch() {
  bool const serialized = job_.has(kSerializedStreams);
  uint32_t const side = stream("branch", StreamKind::kCompute);
  if (!serialized) act(AwaitStream{side, kComputeStream, false});
  for (uint32_t const number : {kComputeStream, side}) {
    if (serialized) act(AwaitStream{number, number == side ? kComputeStream : side, true});
    kernel(kBranchKernel, kBranchKernel.dur_ns, -1, number);
  }
  if (serialized) act(AwaitStream{kComputeStream, side, true});
}

void ProgramBuilder::end_layer() {
  if (job_.is_about(kSerializedStreams)) branch();
  in_layer_ = false;

  if (job_.has(kSync)) {
    // Half of the way back is the driver's, half is the program's.
    int64_t const late = to_ns(job_.fault->amount, kNsPerUs);
    act(Synchronize{late / 2, true});
    act(HostWork{model::StringId{0}, late - late / 2});
  }

  act(EndRange{});
  bool const copies_late = job_.has(kPageableCopies) || job_.has(kSerializedCopies);
  if (job_.is_tuned() && layers_ == 1 && program_.reads_input && !copies_late) copy_batch();
}

void ProgramBuilder::kernels(std::span<KernelSpec const> specs, int32_t permille, int32_t expert) {
  for (KernelSpec const& spec : specs) {
    int64_t const usual = spec.dur_ns * permille / 1000;
    if (!in_layer_ || !job_.is_tuned()) {
      kernel(spec, usual, expert, kComputeStream);
      continue;
    }
    for (ChangedKernel const& changed : change_kernel(job_, spec, usual))
      kernel(changed.spec, changed.dur_ns, expert, kComputeStream);
  }
}

void ProgramBuilder::kernel(KernelSpec const& spec, int64_t dur_ns, int32_t expert,
                            uint32_t stream) {
  if (in_layer_ && job_.has(kHostBound))
    act(HostWork{strings_.intern("module hooks"), to_ns(job_.fault->amount, kNsPerUs)});

  if (in_layer_ && job_.has(kPythonFrames)) {
    HostWork const frame{strings_.intern("torch/nn/modules/module.py(1501): _call_impl"),
                         kPythonFrameNs};
    for (int64_t i = 0; i < static_cast<int64_t>(job_.fault->amount); ++i) act(frame);
  }

  act(RunKernel{strings_.intern(spec.op), strings_.intern(spec.name), dur_ns, expert, stream,
                spec.detail});
}

uint32_t ProgramBuilder::stream(std::string_view name, StreamKind kind) {
  auto& streams = program_.streams;
  auto const found = std::find_if(streams.begin(), streams.end(),
                                  [&](StreamSpec const& stream) { return stream.name == name; });
  auto const number = static_cast<uint32_t>(std::distance(streams.begin(), found));
  if (number == streams.size()) streams.push_back({std::string(name), kind});
  return number;
}

void ProgramBuilder::collective(CollectiveSpec spec) { meet(spec, next_join_); }

void ProgramBuilder::collective_of_group(CollectiveSpec spec, uint32_t group, uint32_t groups) {
  uint32_t const first = next_join_;
  meet(spec, first + group);
  if (job_.ranks > 1) next_join_ = first + groups;
}

void ProgramBuilder::meet(CollectiveSpec spec, uint32_t join) {
  if (job_.ranks < 2) return;
  next_join_ = std::max(next_join_, join + 1);
  spec.join = join;
  spec.transfer_ns = transfer_ns(spec);
  spec.op = strings_.intern(call_name(spec.kind));
  spec.name = strings_.intern(kernel_name(spec.kind));
  act(JoinCollective{static_cast<uint32_t>(program_.collectives.size())});
  program_.collectives.push_back(spec);
}

int64_t ProgramBuilder::transfer_ns(CollectiveSpec const& spec) const {
  uint64_t const n = spec.participants;
  uint64_t bytes = spec.bytes;
  uint64_t const shares = model::collective_op_info(spec.kind).bus_shares;
  if (shares > 0) bytes = shares * bytes * (n - 1) / n;
  auto transfer = static_cast<int64_t>(bytes / link_.bytes_per_ns);
  if (job_.has(kSlowLink) || job_.has(kMissingRanks) ||
      ((job_.has(kSlowPair) || job_.has(kSlowGroup)) && spec.is_slow_part))
    transfer = static_cast<int64_t>(static_cast<double>(transfer) * 100 / job_.fault->amount);
  return (model::is_point_to_point(spec.kind) ? link_.alpha_ns / 2 : link_.alpha_ns) + transfer;
}

void ProgramBuilder::await(uint32_t stream) {
  auto const& all = program_.collectives;
  auto const last = std::find_if(all.rbegin(), all.rend(),
                                 [&](CollectiveSpec const& spec) { return spec.stream == stream; });
  if (last != all.rend()) act(AwaitCollective{last->join, stream});
}

void ProgramBuilder::all_reduce(uint64_t bytes) {
  CollectiveSpec spec;
  spec.stream = comm_stream("all-reduce");
  spec.bytes = bytes;
  spec.communicator = kWorldCommunicator;
  spec.participants = static_cast<uint32_t>(job_.ranks);
  collective(spec);
}

void ProgramBuilder::gradients(uint64_t bytes) {
  if (job_.has(kSmallBuckets) || job_.has(kUnsizedBuckets)) {
    // Half of the parameters are the weights, half what stands beside them.
    auto const parameters = static_cast<uint64_t>(job_.fault->amount);
    uint64_t const weights = (parameters + 1) / 2;
    for (uint64_t i = 0; i < parameters; ++i)
      all_reduce(i % 2 == 0 ? bytes / weights : kSmallParameter);
    return;
  }
  bucket_bytes_ += bytes;
  if (bucket_bytes_ >= kBucketCap) end_backward();
}

void ProgramBuilder::end_backward() {
  uint64_t const bytes = std::exchange(bucket_bytes_, 0);
  if (bytes == 0) return;
  if (job_.has(kNoOverlap)) {
    late_buckets_.push_back(bytes);
  } else {
    all_reduce(bytes);
  }
}

uint32_t ProgramBuilder::allocate(uint64_t bytes, MemoryPurpose purpose) {
  auto const number = static_cast<uint32_t>(program_.blocks.size());
  program_.blocks.push_back({bytes, purpose});
  act(Allocate{number});
  return number;
}

void ProgramBuilder::copy_batch() {
  bool const pageable = job_.has(kPageableCopies);
  double const mib = job_.amount(kPageableCopies, job_.amount(kSerializedCopies, 0));
  uint64_t const bytes = mib > 0 ? static_cast<uint64_t>(mib * kBytesPerMib) : kBatchBytes;

  int64_t dur_ns = kBatchCopyNs;
  if (mib > 0) {
    double const bytes_per_ns = pageable ? kPageableBytesPerNs : kPinnedBytesPerNs;
    dur_ns = static_cast<int64_t>(static_cast<double>(bytes) / bytes_per_ns);
  }

  uint32_t const stream = pageable || job_.has(kSerializedCopies) ? kComputeStream : kCopyStream;

  act(RunCopy{strings_.intern("aten::to"),
              strings_.intern(pageable ? "Memcpy HtoD (Pageable -> Device)"
                                       : "Memcpy HtoD (Pinned -> Device)"),
              bytes, model::CopyDirection::kHostToDevice, dur_ns, stream, !pageable});
}

void ProgramBuilder::begin_step(bool reads_input) {
  program_.reads_input = reads_input;
  if (reads_input) act(AwaitInput{});
  act(FaultPoint{});
  if (!reads_input) return;
  if (!job_.is_tuned() || job_.has(kPageableCopies) || job_.has(kSerializedCopies)) copy_batch();
  // In a tuned job: after the copy that the step before has made ahead.
  act(AwaitCopy{});
}

void ProgramBuilder::norm_over_ranks(uint32_t join) {
  act(LateEntry{});
  CollectiveSpec norm;
  norm.stream = comm_stream("all-reduce");
  norm.bytes = 4;
  norm.communicator = kWorldCommunicator;
  norm.participants = static_cast<uint32_t>(job_.ranks);
  norm.can_rendezvous = true;
  meet(norm, join);
  if (job_.ranks > 1) await(norm.stream);
}

void ProgramBuilder::end_step(std::optional<uint32_t> norm_join) {
  begin_phase("optimizer");
  for (uint64_t const bytes : std::exchange(late_buckets_, {})) all_reduce(bytes);
  await(comm_stream("all-reduce"));

  kernels(gradient_norm());
  if (!job_.is_tuned()) act(Synchronize{});
  if (norm_join) norm_over_ranks(*norm_join);

  kernels(optimizer());
  add_memory_fault();

  act(RunCopy{strings_.intern("aten::item"), strings_.intern("Memcpy DtoH (Device -> Pinned)"), 4,
              model::CopyDirection::kDeviceToHost, 1'900, kCopyStream, true});
  act(Synchronize{});
  end_phase();
}

void ProgramBuilder::add_memory_fault() {
  if (!job_.has(kLeak) && !job_.has(kFragmentation)) return;
  auto const bytes = static_cast<uint64_t>(job_.fault->amount * kBytesPerMib);
  if (job_.has(kLeak)) {
    allocate(bytes, MemoryPurpose::kActivations);
  } else {
    act(Churn{bytes});
  }
}

void ProgramBuilder::fill_memory() {
  uint64_t used = 0;
  for (BlockSpec const& block : program_.resident) used += block.bytes;
  for (BlockSpec const& block : program_.blocks) used += block.bytes;
  auto const wanted =
      static_cast<uint64_t>(job_.fault->amount / 100 * static_cast<double>(kCapacityBytes));
  if (wanted > used) program_.resident.push_back({wanted - used, MemoryPurpose::kActivations});
}

Program ProgramBuilder::finish(uint64_t parameter_bytes) && {
  program_.resident = {{parameter_bytes, MemoryPurpose::kWeights},
                       {parameter_bytes, MemoryPurpose::kGradients},
                       {2 * parameter_bytes, MemoryPurpose::kOptimizer},
                       {kWorkspaceBytes, MemoryPurpose::kWorkspace},
                       {2 * kBatchBytes, MemoryPurpose::kInput}};
  if (job_.has(kPressure)) fill_memory();

  std::map<uint64_t, uint32_t> counts;
  for (CollectiveSpec& spec : program_.collectives) spec.place = counts[spec.communicator]++;
  for (CollectiveSpec& spec : program_.collectives) spec.per_step = counts[spec.communicator];
  return std::move(program_);
}

}  // namespace stepscope::synth
