// How a rank plays each kind of action. True: it is done; false: it needs the outcome of a
// collective first.
#include <algorithm>
#include <utility>
#include <vector>

#include "trace/synth/process/pace.h"
#include "trace/synth/process/process.h"

namespace stepscope::synth {
namespace {

using model::EventKind;
using model::MemoryOp;
using model::OpClass;

constexpr uint64_t kFaultBytes = 256ULL << 20;
constexpr int64_t kHostWorkJitterPermille = 50;

}  // namespace

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

  int64_t dur = random_.vary(action.dur_ns, kKernelJitterPermille);
  if (action.expert >= 0)
    dur = dur * expert_permille(*setup_.job, step_, action.expert, setup_.rank) / 1000;
  dur = dur * faults_.permille / 1000;

  Stream& stream = streams_[action.stream];
  int64_t const begin = earliest(stream, call);
  stream.end = begin + dur;

  stream_events(action.stream)
      .add(EventKind::kKernel, at(begin), dur, action.name, call.correlation, action.detail);
  account_.add_op(action.stream, {{begin, stream.end}, OpClass::kCompute, call.end, 0});

  ++counts_.kernels;
  return true;
}

bool Process::play(RunCopy const& action) {
  open(EventKind::kRange, action.op);
  now_ += random_.vary(kBeforeLaunchNs, kHostJitterPermille);

  Stream& stream = streams_[action.stream];
  // Results are there once the compute stream has them.
  if (action.direction == model::CopyDirection::kDeviceToHost)
    hold(action.stream, std::max(stream.end, now_), streams_[kComputeStream].end, kComputeStream);

  auto const [begin, dur, call] = action.pinned ? queued_copy(action) : blocking_copy(action);
  now_ += kAfterLaunchNs;
  close();

  stream.end = begin + dur;
  model::CopyDetail const detail{action.bytes, action.direction, 0,
                                 static_cast<uint8_t>(action.pinned ? 1 : 0)};

  stream_events(action.stream)
      .add(EventKind::kMemcpy, at(begin), dur, action.name, call.correlation, detail);
  account_.add_op(action.stream, {{begin, stream.end}, OpClass::kCopy, call.end, 0});

  ++counts_.copies;
  return true;
}

Process::Copy Process::queued_copy(RunCopy const& action) {
  LaunchCall const call = launch(setup_.names->launch_copy);
  int64_t const begin = earliest(streams_[action.stream], call);
  return {begin, random_.vary(action.dur_ns, kKernelJitterPermille), call};
}

/// The device begins when the first bytes are staged, the call ends with the copy: it blocks as a
/// sync does.
Process::Copy Process::blocking_copy(RunCopy const& action) {
  int64_t const begin = earliest(streams_[action.stream], {0, now_ + kStagingNs});
  int64_t const dur = random_.vary(action.dur_ns, kKernelJitterPermille);
  int64_t const end = begin + dur + kSyncReturnNs;
  account_.add_sync({now_, end});
  return {begin, dur, add_launch(setup_.names->launch_copy, end)};
}

bool Process::play(AwaitCopy const& /*action*/) {
  int64_t until = streams_[kCopyStream].end;
  if (faults_.cause == IdleCause::kDependency) until += faults_.cost_ns;
  int64_t const from = std::max(streams_[kComputeStream].end, now_);
  spend(EventKind::kApi, setup_.names->event_wait, kEventCallNs);
  hold(kComputeStream, from, until, kCopyStream);
  return true;
}

bool Process::play(AwaitStream const& action) {
  Stream& waiting = streams_[action.waiting];
  int64_t const until = streams_[action.source].end;

  if (action.by_default_stream) {
    waiting.held_until = std::max(waiting.held_until, until);
    return true;
  }

  int64_t const from = std::max(waiting.end, now_);
  spend(EventKind::kApi, setup_.names->event_wait, kEventCallNs);
  hold(action.waiting, from, until, action.source);
  return true;
}

bool Process::play(HostWork const& action) {
  int64_t const dur = random_.vary(action.dur_ns, kHostWorkJitterPermille);
  if (action.name == model::StringId{0}) {
    now_ += dur;
  } else {
    spend(EventKind::kRange, action.name, dur);
  }
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
  // As PyTorch's process groups do it: the collective's stream waits for what was launched on the
  // compute stream before.
  streams_[spec.stream].queue.push_back({&spec, call, streams_[kComputeStream].end, false});
  return true;
}

bool Process::play(AwaitCollective const& action) {
  int64_t const until = join_end_[action.join];
  if (until < 0) return false;
  int64_t const from = std::max(streams_[kComputeStream].end, now_);
  spend(EventKind::kApi, setup_.names->event_wait, kEventCallNs);
  hold(kComputeStream, from, until, action.stream);
  return true;
}

bool Process::play(Allocate const& action) {
  BlockSpec const& block = setup_.program->blocks[action.block];
  block_address_[action.block] = memory_.allocate(block.bytes);
  memory_call(block, block_address_[action.block], MemoryOp::kAllocate,
              setup_.names->cache_allocate, kCachedAllocationNs);
  return true;
}

bool Process::play(Free const& action) {
  BlockSpec const& block = setup_.program->blocks[action.block];
  memory_.free(block_address_[action.block], block.bytes);
  memory_call(block, block_address_[action.block], MemoryOp::kFree, setup_.names->cache_free,
              kCachedAllocationNs);
  return true;
}

bool Process::play(CallDriver const& action) {
  BlockSpec const& block = setup_.program->blocks[action.block];
  int64_t const dur = random_.vary(action.dur_ns, kHostWorkJitterPermille);

  if (!action.free) {
    block_address_[action.block] = memory_.allocate_of_driver(block.bytes);
    memory_call(block, block_address_[action.block], MemoryOp::kAllocate, setup_.names->allocate,
                dur);
    return true;
  }

  auto const done = all_done();
  if (!done) return false;
  memory_.free_to_driver(block_address_[action.block], block.bytes);
  memory_call(block, block_address_[action.block], MemoryOp::kFree, setup_.names->free,
              std::max<int64_t>(0, *done - now_) + dur);
  return true;
}

bool Process::play(Churn const& action) {
  constexpr uint64_t kBlocks = 16, kGrowth = 512, kSmall = 512;
  uint64_t const large = action.bytes / kBlocks + static_cast<uint64_t>(step_) * kGrowth;

  auto const allocate = [&](uint64_t bytes, uint64_t behind) {
    BlockSpec const block{bytes, model::MemoryPurpose::kWorkspace};
    uint64_t const address = memory_.allocate(bytes, behind);
    memory_call(block, address, MemoryOp::kAllocate, setup_.names->cache_allocate,
                kCachedAllocationNs);
    return std::pair(address, block);
  };

  std::vector<std::pair<uint64_t, BlockSpec>> next;
  for (uint64_t i = 0; i < kBlocks; ++i) {
    next.push_back(allocate(large, 0));
    allocate(kSmall, next.back().first + large);
  }

  for (auto const& [address, block] : std::exchange(churned_, std::move(next))) {
    memory_.free(address, block.bytes);
    memory_call(block, address, MemoryOp::kFree, setup_.names->cache_free, kCachedAllocationNs);
  }
  return true;
}

bool Process::play(Synchronize const& action) {
  if (action.of_compute) {
    int64_t const end = streams_[kComputeStream].end;
    synchronize(std::max(now_ + kShortestSyncNs,
                         end + random_.vary(kSyncReturnNs, kHostJitterPermille) + action.late_ns),
                {model::SyncKind::kStream, 0, kFirstStreamNumber});
    return true;
  }

  auto const done = all_done();
  if (!done) return false;
  synchronize(std::max(now_ + kShortestSyncNs,
                       *done + random_.vary(kSyncReturnNs, kHostJitterPermille) + action.late_ns));
  return true;
}

bool Process::play(AwaitInput const& /*action*/) {
  bool const late = faults_.cause == IdleCause::kInput;
  int64_t const begin = now_;
  spend(EventKind::kInputWait, setup_.names->input_wait,
        random_.vary(setup_.job->is_tuned() ? kReadyInputNs : kInputWaitNs, kHostJitterPermille) +
            (late ? faults_.cost_ns : 0));
  account_.add_input({begin, now_});
  load_batch(now_, late);
  return true;
}

bool Process::play(FaultPoint const& /*action*/) {
  if (faults_.rendezvous) return true;

  if (faults_.cause == IdleCause::kSync) synchronize(now_ + faults_.cost_ns);
  if (faults_.cause == IdleCause::kLaunchBound)
    spend(EventKind::kRange, name_of(faults_.work), faults_.cost_ns);

  if (faults_.cause == IdleCause::kAllocation) {
    BlockSpec const block{kFaultBytes, model::MemoryPurpose::kWorkspace};
    uint64_t const address = memory_.allocate_of_driver(block.bytes);
    memory_call(block, address, MemoryOp::kAllocate, setup_.names->allocate,
                faults_.cost_ns * 3 / 4);
    memory_.free_to_driver(address, block.bytes);
    memory_call(block, address, MemoryOp::kFree, setup_.names->free,
                faults_.cost_ns - faults_.cost_ns * 3 / 4);
  }
  return true;
}

bool Process::play(LateEntry const& /*action*/) {
  if (faults_.late) spend(EventKind::kRange, setup_.names->late, faults_.cost_ns);
  return true;
}

}  // namespace stepscope::synth
