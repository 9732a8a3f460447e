#include "trace/synth/process.h"

#include <algorithm>

#include <fmt/format.h>

#include "trace/base/check.h"

namespace stepscope::synth {
namespace {

using model::EventKind;
using model::MemoryOp;
using model::OpClass;
using model::TrackKind;

// The pace of a host that runs ahead of its device.
constexpr int64_t kBeforeLaunchNs = 2'600;  // in the framework's operation
constexpr int64_t kAfterLaunchNs = 1'100;
constexpr int64_t kBetweenOpsNs = 900;
constexpr int64_t kLaunchNs = 3'800;
constexpr int64_t kHostJitterPermille = 200;
constexpr int64_t kEventCallNs = 700;
constexpr int64_t kCachedAllocationNs = 1'300;
constexpr int64_t kDeviceAllocationNs = 240'000;
constexpr int64_t kBetweenStepsNs = 14'000;
constexpr int64_t kSyncReturnNs = 6'500;
constexpr int64_t kShortestSyncNs = 1'500;
constexpr int64_t kInputWaitNs = 38'000;
// The device's own latencies, all below the limit that DEFINITIONS sets for launch_latency.
constexpr int64_t kStartLatencyNs = 2'100;
constexpr int64_t kNextKernelNs = 900;
constexpr int64_t kWakeNs = 1'400;
constexpr int64_t kKernelJitterPermille = 25;

constexpr int64_t kRunBeginNs = 3'000'000;
constexpr int64_t kLatestOriginNs = 1'000'000;                 // processes of a job start within so long
constexpr int64_t kOriginEpochNs = 1'767'225'600'000'000'000;  // 2026-01-01: a made run has no date of its own
constexpr uint64_t kCapacityBytes = 80ULL << 30;
constexpr uint64_t kReservedStep = 512ULL << 20;  // the allocator takes memory in such portions
constexpr uint64_t kFaultBytes = 256ULL << 20;
constexpr int32_t kRanksPerHost = 8;
constexpr double kIdleWatts = 90, kBusyWatts = 310;
constexpr uint32_t kLoaderTrack = 1, kFirstStreamTrack = 2;
constexpr int32_t kFirstStreamNumber = 7;  // as CUDA numbers the first that a program makes

std::vector<model::Track> tracks_of(Process::Setup const& setup) {
  std::vector<model::Track> tracks;
  tracks.push_back({TrackKind::kThread, "main", 4100 + setup.rank, -1, {}, 0});
  tracks.push_back({TrackKind::kThread, "loader", 4900 + setup.rank, -1, {}, 0});
  int64_t number = kFirstStreamNumber;
  for (StreamSpec const& stream : setup.program->streams)
    tracks.push_back({TrackKind::kStream, stream.name, number++, 0, stream.kind, 0});
  tracks.push_back({TrackKind::kCounter, "GPU utilization (%)", 0, 0, {}, 0});
  tracks.push_back({TrackKind::kCounter, "power (W)", 1, 0, {}, 0});
  return tracks;
}

std::vector<OpClass> classes_of(Program const& program) {
  std::vector<OpClass> classes;
  for (StreamSpec const& stream : program.streams)
    classes.push_back(stream.kind == model::StreamKind::kCommunication ? OpClass::kComm
                      : stream.kind == model::StreamKind::kCopy        ? OpClass::kCopy
                                                                       : OpClass::kCompute);
  return classes;
}

int64_t origin_offset(Process::Setup const& setup) {
  return setup.rank == 0 ? 0 : static_cast<int64_t>(hash_of(setup.seed, setup.rank, 0x0FF5) % kLatestOriginNs);
}

/// How much longer than usual an expert layer's kernels take on a rank: tokens choose experts as they like.
int64_t expert_permille(Process::Setup const& setup, int64_t step, int32_t layer) {
  return 600 + static_cast<int64_t>(hash_of(setup.seed, step, layer, setup.rank) % 900);
}

}  // namespace

CommonNames::CommonNames(model::StringTable& strings)
    : step(strings.intern("step")),
      launch_kernel(strings.intern("cudaLaunchKernel")),
      launch_copy(strings.intern("cudaMemcpyAsync")),
      launch_collective(strings.intern("cudaLaunchKernelExC")),
      synchronize(strings.intern("cudaDeviceSynchronize")),
      event_wait(strings.intern("cudaStreamWaitEvent")),
      stream_wait(strings.intern("wait for event")),
      input_wait(strings.intern("wait for batch")),
      allocate(strings.intern("cudaMalloc")),
      free(strings.intern("cudaFree")),
      cache_allocate(strings.intern("allocate")),
      cache_free(strings.intern("free")),
      load_batch(strings.intern("load batch")),
      read(strings.intern("read")),
      decode(strings.intern("decode")),
      augment(strings.intern("augment")),
      garbage(strings.intern("gc.collect")),
      late(strings.intern("write checkpoint")),
      utilization(strings.intern("GPU utilization (%)")),
      power(strings.intern("power (W)")) {}

base::Expected<Process> Process::create(Setup const& setup) {
  model::TraceInfo info;
  info.tool = "stepscope synth";
  info.host = fmt::format("node-{}", setup.rank / kRanksPerHost);
  info.command = fmt::format("train --pattern {}", setup.pattern);
  info.process_id = 4100 + setup.rank;
  info.rank = setup.rank;
  info.world_size = setup.ranks;
  info.origin_epoch_ns = kOriginEpochNs + origin_offset(setup);
  info.facts = {{"seed", fmt::format("{}", setup.seed)}};
  model::Device const device{0, "made device", kCapacityBytes, 108, 312e12};
  auto file = RankFile::create(path_of(setup), info, device, tracks_of(setup), *setup.strings, setup.block_rows);
  if (!file) return base::fail_with(file);
  return Process(setup, std::move(*file));
}

std::string Process::path_of(Setup const& setup) { return fmt::format("{}/rank-{}.stepscope", setup.folder, setup.rank); }

Process::Process(Setup const& setup, RankFile file)
    : setup_(setup),
      file_(std::move(file)),
      account_(classes_of(*setup.program)),
      random_(hash_of(setup.seed, setup.rank, 0x9A2D)),
      offset_ns_(origin_offset(setup)),
      now_(kRunBeginNs),
      streams_(setup.program->streams.size()),
      meeting_end_(setup.meetings, -1),
      next_address_(0x7F00'0000'0000),
      block_address_(setup.program->blocks.size()),
      loader_free_(now_ - kLatestOriginNs) {
  for (BlockSpec const& block : setup.program->resident)
    memory_call(block, next_address_, MemoryOp::kAllocate, setup_.names->allocate, random_.vary(kDeviceAllocationNs, 100));
}

void Process::begin_step(int64_t step, StepFaults const& faults) {
  now_ += random_.vary(kBetweenStepsNs, kHostJitterPermille);
  step_ = step;
  step_begin_ = now_;
  faults_ = faults;
  next_action_ = 0;
  std::fill(meeting_end_.begin(), meeting_end_.end(), -1);
  open_rows_.push_back(thread().size());
  thread().add(EventKind::kStep, at(now_), 0, setup_.names->step, 0, model::StepDetail{step});
}

bool Process::advance() {
  auto const& actions = setup_.program->step;
  while (next_action_ < actions.size()) {
    if (!std::visit([&](auto const& action) { return play(action); }, actions[next_action_])) return false;
    ++next_action_;
  }
  return true;
}

base::Expected<TimeTruth> Process::end_step() {
  close();
  TimeTruth const truth = account_.finish_step(step_begin_);
  sample_counters(truth);
  if (auto const done = file_.end_step(); !done) return base::fail_with(done);
  return truth;
}

bool Process::play(BeginRange const& action) {
  open(action.kind, action.name);
  return true;
}

bool Process::play(EndRange const& /*action*/) {
  close();
  return true;
}

bool Process::play(RunKernel const& action) {
  open(EventKind::kRange, action.op);
  now_ += random_.vary(kBeforeLaunchNs, kHostJitterPermille);
  LaunchCall const call = launch(setup_.names->launch_kernel);
  now_ += kAfterLaunchNs;
  close();
  now_ += kBetweenOpsNs;
  int64_t dur = random_.vary(action.spec->dur_ns * action.permille / 1000, kKernelJitterPermille);
  if (action.expert >= 0) dur = dur * expert_permille(setup_, step_, action.expert) / 1000;
  if (faults_.straggler) dur = dur * kStragglerPermille / 1000;
  Stream& stream = streams_[kComputeStream];
  int64_t const begin = earliest(stream, call);
  stream.end = begin + dur;
  stream_events(kComputeStream).add(EventKind::kKernel, at(begin), dur, action.name, call.correlation, action.spec->detail);
  account_.add_op(kComputeStream, {{begin, stream.end}, call.end, 0});
  ++counts_.kernels;
  return true;
}

bool Process::play(RunCopy const& action) {
  open(EventKind::kRange, action.op);
  now_ += random_.vary(kBeforeLaunchNs, kHostJitterPermille);
  Stream& stream = streams_[kCopyStream];
  // Results are there once the compute stream has them.
  if (action.direction == model::CopyDirection::kDeviceToHost)
    hold(kCopyStream, std::max(stream.end, now_), streams_[kComputeStream].end, kComputeStream);
  LaunchCall const call = launch(setup_.names->launch_copy);
  now_ += kAfterLaunchNs;
  close();
  int64_t const begin = earliest(stream, call);
  int64_t const dur = random_.vary(action.dur_ns, kKernelJitterPermille);
  stream.end = begin + dur;
  model::CopyDetail const detail{action.bytes, action.direction, 0, 1};
  stream_events(kCopyStream).add(EventKind::kMemcpy, at(begin), dur, action.name, call.correlation, detail);
  account_.add_op(kCopyStream, {{begin, stream.end}, call.end, 0});
  ++counts_.copies;
  return true;
}

bool Process::play(AwaitCopy const& /*action*/) {
  int64_t until = streams_[kCopyStream].end;
  if (faults_.cause == IdleCause::kDependency) until += faults_.cost_ns;
  int64_t const from = std::max(streams_[kComputeStream].end, now_);
  spend(EventKind::kApi, setup_.names->event_wait, kEventCallNs);
  hold(kComputeStream, from, until, kCopyStream);
  return true;
}

bool Process::play(JoinCollective const& action) {
  CollectiveSpec const& spec = setup_.program->collectives[action.number];
  open(EventKind::kRange, spec.op);
  now_ += random_.vary(kBeforeLaunchNs, kHostJitterPermille);
  LaunchCall const call = launch(setup_.names->launch_collective);
  now_ += kAfterLaunchNs;
  close();
  now_ += kBetweenOpsNs;
  // As PyTorch's process groups do it: the collective's stream waits for what was launched on the compute stream before.
  streams_[spec.stream].queue.push_back({&spec, call, streams_[kComputeStream].end, false});
  return true;
}

bool Process::play(AwaitCollective const& action) {
  int64_t const until = meeting_end_[action.meeting];
  if (until < 0) return false;
  int64_t const from = std::max(streams_[kComputeStream].end, now_);
  spend(EventKind::kApi, setup_.names->event_wait, kEventCallNs);
  hold(kComputeStream, from, until, action.stream);
  return true;
}

bool Process::play(Allocate const& action) {
  block_address_[action.block] = next_address_;
  memory_call(setup_.program->blocks[action.block], next_address_, MemoryOp::kAllocate, setup_.names->cache_allocate,
              kCachedAllocationNs);
  return true;
}

bool Process::play(Free const& action) {
  memory_call(setup_.program->blocks[action.block], block_address_[action.block], MemoryOp::kFree, setup_.names->cache_free,
              kCachedAllocationNs);
  return true;
}

bool Process::play(Synchronize const& /*action*/) {
  int64_t until = 0;
  for (Stream const& stream : streams_) {
    if (!stream.queue.empty()) return false;
    until = std::max(until, stream.end);
  }
  synchronize(std::max(now_ + kShortestSyncNs, until + random_.vary(kSyncReturnNs, kHostJitterPermille)));
  return true;
}

bool Process::play(AwaitInput const& /*action*/) {
  bool const late = faults_.cause == IdleCause::kInput;
  int64_t const begin = now_;
  spend(EventKind::kInputWait, setup_.names->input_wait,
        random_.vary(kInputWaitNs, kHostJitterPermille) + (late ? faults_.cost_ns : 0));
  account_.add_input({begin, now_});
  load_batch(now_, late);
  return true;
}

bool Process::play(FaultPoint const& /*action*/) {
  if (faults_.rendezvous) return true;
  if (faults_.cause == IdleCause::kSync) synchronize(now_ + faults_.cost_ns);
  if (faults_.cause == IdleCause::kLaunchStarved) spend(EventKind::kRange, setup_.names->garbage, faults_.cost_ns);
  if (faults_.cause == IdleCause::kAllocation) {
    BlockSpec const block{kFaultBytes, model::MemoryPurpose::kWorkspace};
    uint64_t const address = next_address_;
    memory_call(block, address, MemoryOp::kAllocate, setup_.names->allocate, faults_.cost_ns * 3 / 4);
    memory_call(block, address, MemoryOp::kFree, setup_.names->free, faults_.cost_ns - faults_.cost_ns * 3 / 4);
  }
  return true;
}

bool Process::play(LateEntry const& /*action*/) {
  if (faults_.late) spend(EventKind::kRange, setup_.names->late, faults_.cost_ns);
  return true;
}

std::optional<Process::Offer> Process::offer(uint32_t stream_number) {
  Stream& stream = streams_[stream_number];
  if (stream.queue.empty() || stream.queue.front().offered) return std::nullopt;
  QueuedCollective& head = stream.queue.front();
  head.offered = true;
  hold(stream_number, std::max(stream.end, head.launch.end), head.ready, kComputeStream);
  return Offer{head.spec, earliest(stream, head.launch), head.launch.end, faults_.rendezvous && head.spec->can_rendezvous};
}

void Process::conclude(uint32_t stream_number, Outcome const& outcome) {
  Stream& stream = streams_[stream_number];
  STEPSCOPE_CHECK(!stream.queue.empty());
  QueuedCollective const head = stream.queue.front();
  stream.queue.pop_front();
  CollectiveSpec const& spec = *head.spec;
  uint64_t const sequence = static_cast<uint64_t>(step_) * spec.per_step + spec.place + 1;
  model::CollectiveDetail const detail{
      spec.bytes, spec.communicator, sequence, spec.kind, spec.participants, spec.rank < 0 ? setup_.rank : spec.rank, spec.peer};
  int64_t const dur = outcome.end - outcome.begin;
  stream_events(stream_number).add(EventKind::kCollective, at(outcome.begin), dur, spec.name, head.launch.correlation, detail);
  account_.add_op(stream_number, {{outcome.begin, outcome.end}, head.launch.end, outcome.peers_launched});
  account_.add_wait({outcome.begin, outcome.end - outcome.transfer_ns});
  stream.end = outcome.end;
  meeting_end_[spec.meeting] = outcome.end;
  ++counts_.kernels;
  ++counts_.collectives;
}

void Process::open(EventKind kind, model::StringId name) {
  open_rows_.push_back(thread().size());
  thread().add(kind, at(now_), 0, name);
}

void Process::close() {
  size_t const row = open_rows_.back();
  open_rows_.pop_back();
  thread().dur[row] = at(now_) - thread().start[row];
}

void Process::spend(EventKind kind, model::StringId name, int64_t dur_ns) {
  thread().add(kind, at(now_), dur_ns, name);
  now_ += dur_ns;
}

Process::LaunchCall Process::launch(model::StringId name) {
  int64_t const dur = random_.vary(kLaunchNs, kHostJitterPermille);
  thread().add(EventKind::kLaunch, at(now_), dur, name, ++correlation_);
  now_ += dur;
  ++counts_.launches;
  return {correlation_, now_};
}

void Process::synchronize(int64_t until) {
  thread().add(EventKind::kSync, at(now_), until - now_, setup_.names->synchronize, 0,
               model::SyncDetail{model::SyncKind::kDevice, 0, -1});
  account_.add_sync({now_, until});
  now_ = until;
}

void Process::memory_call(BlockSpec const& block, uint64_t address, MemoryOp op, model::StringId name, int64_t dur_ns) {
  bool const allocates = op == MemoryOp::kAllocate;
  allocated_bytes_ = allocates ? allocated_bytes_ + block.bytes : allocated_bytes_ - block.bytes;
  if (allocates) next_address_ += block.bytes;
  peak_bytes_ = std::max(peak_bytes_, allocated_bytes_);
  uint64_t const reserved = (peak_bytes_ + kReservedStep - 1) / kReservedStep * kReservedStep;
  thread().add(EventKind::kMemory, at(now_), dur_ns, name, 0,
               model::MemoryDetail{address, block.bytes, allocated_bytes_, reserved, 0, op, block.purpose});
  account_.add_allocation({now_, now_ + dur_ns});
  now_ += dur_ns;
}

void Process::load_batch(int64_t until, bool late) {
  int64_t const begin = loader_free_;
  // Usually it is done long before the batch is asked for.
  int64_t const dur = late ? until - begin : (until - begin) * 3 / 5;
  int64_t const read = dur / 4;
  int64_t const decode = dur / 2;
  model::EventBatch& events = file_.events(kLoaderTrack);
  events.add(EventKind::kRange, at(begin), dur, setup_.names->load_batch);
  events.add(EventKind::kRange, at(begin), read, setup_.names->read);
  events.add(EventKind::kRange, at(begin + read), decode, setup_.names->decode);
  events.add(EventKind::kRange, at(begin + read + decode), dur - read - decode, setup_.names->augment);
  loader_free_ = until;
}

model::EventBatch& Process::stream_events(uint32_t stream) { return file_.events(kFirstStreamTrack + stream); }

int64_t Process::earliest(Stream const& stream, LaunchCall const& call) {
  return std::max({call.end + random_.vary(kStartLatencyNs, 300), stream.end + random_.vary(kNextKernelNs, 300),
                   stream.held_until + kWakeNs});
}

void Process::hold(uint32_t stream_number, int64_t from, int64_t until, uint32_t source_stream) {
  Stream& stream = streams_[stream_number];
  from = std::max(from, stream.held_until);
  if (until <= from) return;
  int32_t const source = kFirstStreamNumber + static_cast<int32_t>(source_stream);
  stream_events(stream_number)
      .add(EventKind::kStreamWait, at(from), until - from, setup_.names->stream_wait, 0, model::StreamWaitDetail{0, source});
  stream.held_until = until;
  account_.add_hold(stream_number, {from, until});
}

void Process::sample_counters(TimeTruth const& step) {
  auto const first = kFirstStreamTrack + stream_count();
  double const busy = static_cast<double>(step.busy_ns) / static_cast<double>(step.window.length());
  file_.events(first).add(EventKind::kSample, at(now_), 0, setup_.names->utilization, 0, model::SampleDetail{busy * 100});
  file_.events(first + 1).add(EventKind::kSample, at(now_), 0, setup_.names->power, 0,
                              model::SampleDetail{kIdleWatts + busy * kBusyWatts});
}

}  // namespace stepscope::synth
