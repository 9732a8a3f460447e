#include "trace/synth/process/device_account.h"

#include <algorithm>
#include <limits>

#include "trace/base/check.h"

namespace stepscope::synth {
namespace {

using model::Interval;
using model::IntervalSet;
using model::OpClass;

/// Shorter gaps are the device's own start latency (DEFINITIONS, "Idle causes").
constexpr int64_t kLaunchLatencyLimitNs = 10'000;

void add_parts(TimeTruth const& part, TimeTruth& whole) {
  whole.busy_ns += part.busy_ns;
  whole.compute_ns += part.compute_ns;
  whole.comm_ns += part.comm_ns;
  whole.copy_ns += part.copy_ns;
  whole.exposed_comm_ns += part.exposed_comm_ns;
  whole.exposed_copy_ns += part.exposed_copy_ns;
  whole.exposed_wait_ns += part.exposed_wait_ns;
}

}  // namespace

std::string_view to_string(IdleCause cause) {
  constexpr std::array<std::string_view, kIdleCauseCount> kNames = {
      "allocation", "sync",           "input",          "dependency",
      "peer",       "launch_starved", "launch_latency", "unexplained"};
  return kNames[static_cast<size_t>(cause)];
}

TimeTruth DeviceAccount::finish_step(int64_t begin) {
  Interval window{begin, begin};
  int64_t first_op = std::numeric_limits<int64_t>::max();

  for (Stream const& stream : streams_) {
    if (stream.ops.empty()) continue;
    first_op = std::min(first_op, stream.ops.front().when.begin);
    window.end = std::max(window.end, stream.ops.back().when.end);
  }
  STEPSCOPE_CHECK(window.end > begin);  // every step has ops

  IntervalSet busy;
  TimeTruth step = split(window, busy);
  add_parts(step, total_);
  if (is_first_step_) total_.window.begin = first_op;
  total_.window.end = window.end;

  for (Interval const& gap :
       model::subtract({{is_first_step_ ? begin : covered_until_, window.end}}, busy))
    explain(gap, step);

  is_first_step_ = false;
  covered_until_ = window.end;
  forget_step();
  return step;
}

IntervalSet DeviceAccount::unite_ops(OpClass op_class) const {
  std::vector<Interval> all;
  for (Stream const& stream : streams_) {
    for (OpRecord const& op : stream.ops)
      if (op.op_class == op_class) all.push_back(op.when);
  }
  return model::unite(std::move(all));
}

TimeTruth DeviceAccount::split(Interval window, IntervalSet& busy) const {
  IntervalSet const compute = unite_ops(OpClass::kCompute);
  IntervalSet const comm = unite_ops(OpClass::kComm);
  IntervalSet const copy = unite_ops(OpClass::kCopy);
  IntervalSet const compute_or_comm = model::unite(compute, comm);
  IntervalSet const exposed_comm = model::subtract(comm, compute);
  busy = model::unite(compute_or_comm, copy);

  TimeTruth step;
  step.window = window;

  step.busy_ns = model::measure(busy);
  step.compute_ns = model::measure(compute);
  step.comm_ns = model::measure(comm);
  step.copy_ns = model::measure(copy);
  step.exposed_comm_ns = model::measure(exposed_comm);
  step.exposed_copy_ns = model::measure(model::subtract(copy, compute_or_comm));
  step.exposed_wait_ns = model::measure(model::intersect(exposed_comm, model::unite(waits_)));
  return step;
}

DeviceAccount::NextOp DeviceAccount::op_at(int64_t instant) {
  NextOp next;

  for (Stream& stream : streams_) {
    while (stream.next_op < stream.ops.size() && stream.ops[stream.next_op].when.begin < instant)
      ++stream.next_op;
    if (stream.next_op == stream.ops.size() || stream.ops[stream.next_op].when.begin != instant)
      continue;

    OpRecord const& op = stream.ops[stream.next_op];
    if (next.op == nullptr || op.launch_end < next.op->launch_end) next = {&op, &stream};
  }

  return next;
}

bool DeviceAccount::is_start_latency(Interval gap, NextOp const& next) const {
  auto const touches = [&](IntervalSet const& set, size_t first) {
    return first < set.size() && set[first].begin < gap.end;
  };
  return gap.length() < kLaunchLatencyLimitNs && next.op->launch_end <= gap.begin &&
         next.op->peers_launched <= gap.begin && !touches(allocations_, next_allocation_) &&
         !touches(next.stream->holds, next.stream->next_hold);
}

void DeviceAccount::explain(Interval gap, TimeTruth& step) {
  NextOp const next = op_at(gap.end);
  STEPSCOPE_CHECK(next.op != nullptr);

  while (next_allocation_ < allocations_.size() && allocations_[next_allocation_].end <= gap.begin)
    ++next_allocation_;
  for (Stream& stream : streams_)
    while (stream.next_hold < stream.holds.size() &&
           stream.holds[stream.next_hold].end <= gap.begin)
      ++stream.next_hold;

  if (is_start_latency(gap, next)) {
    add_idle(IdleCause::kLaunchLatency, {gap}, step);
    return;
  }

  rest_.assign(1, gap);
  int64_t const launched = std::clamp(next.op->launch_end, gap.begin, gap.end);
  Interval const before{gap.begin, launched};
  Interval const after{launched, gap.end};

  take(IdleCause::kAllocation, allocations_, gap, step);
  take(IdleCause::kSync, syncs_, before, step);
  take(IdleCause::kInput, inputs_, before, step);
  take(IdleCause::kDependency, next.stream->holds, after, step);
  // One that began before its last peer was launched did not wait for it.
  if (next.op->peers_launched <= gap.end)
    take(IdleCause::kPeer, {{launched, std::max(launched, next.op->peers_launched)}}, after, step);
  take(IdleCause::kLaunchBound, {before}, before, step);

  for (Interval const& left : rest_)
    add_idle(
        left.length() < kLaunchLatencyLimitNs ? IdleCause::kLaunchLatency : IdleCause::kUnexplained,
        {left}, step);
}

void DeviceAccount::take(IdleCause cause, IntervalSet const& set, Interval bound, TimeTruth& step) {
  if (rest_.empty() || set.empty() || bound.begin >= bound.end) return;
  IntervalSet const taken = model::intersect(rest_, model::clip(set, bound));
  rest_ = model::subtract(rest_, taken);
  add_idle(cause, taken, step);
}

void DeviceAccount::add_idle(IdleCause cause, IntervalSet const& when, TimeTruth& step) {
  auto const index = static_cast<size_t>(cause);
  for (Interval const& part : when) {
    step.idle_ns[index] += std::max<int64_t>(0, part.end - std::max(part.begin, step.window.begin));
    total_.idle_ns[index] +=
        std::max<int64_t>(0, part.end - std::max(part.begin, total_.window.begin));
  }
}

void DeviceAccount::forget_step() {
  for (Stream& stream : streams_) {
    stream.ops.clear();
    stream.holds.clear();
    stream.next_op = stream.next_hold = 0;
  }
  waits_.clear();
  // The gap before the next step's first op began in the call that ended this one.
  auto const over = [&](Interval const& call) { return call.end <= covered_until_; };
  for (IntervalSet* const calls : {&allocations_, &syncs_, &inputs_}) std::erase_if(*calls, over);
  next_allocation_ = 0;
}

}  // namespace stepscope::synth
