#include "analyzer/metrics/host/sync_lead.h"

#include <algorithm>

namespace stepscope::analyzer {
namespace {

bool is_in_a_sync(model::IntervalSet const& set, Interval when) {
  auto const at = std::partition_point(set.begin(), set.end(),
                                       [&](Interval const& i) { return i.end <= when.begin; });
  return at != set.end() && at->begin < when.end;
}

}  // namespace

SyncLead::SyncLead(DeviceOps const& device)
    : rows_(device.rows()), ops_(device.ops), threads_(device.trace().tracks().size()) {}

void SyncLead::enter(Interval gap, uint32_t launch, model::IntervalSet const& syncs,
                     std::vector<HostStep> const& steps) {
  thread_ = rows_.track(launch);
  syncs_ = &syncs;
  OfThread& thread = threads_[thread_.value];
  lead_ = &thread.lead_ns;
  is_behind_sync_ = is_past_sync_ = false;
  blocked_ns_ = 0;

  int64_t const called = rows_.start(launch);
  bool is_new_step = false;
  for (; thread.steps < steps.size() && steps[thread.steps].when.begin <= called; ++thread.steps) {
    thread.since = steps[thread.steps].when.begin;
    is_new_step = true;
  }
  since_ = thread.since;
  if (is_new_step) {
    // Syncs of this step may have been over before the last gap was, which was of the step before.
    thread.lead_ns = 0;
    for (size_t passed = thread.syncs; passed-- > 0 && syncs[passed].begin >= since_;)
      thread.lead_ns += syncs[passed].length();
  }

  for (; thread.syncs < syncs.size() && syncs[thread.syncs].end <= gap.end; ++thread.syncs) {
    Interval const& sync = syncs[thread.syncs];
    if (sync.begin >= since_) thread.lead_ns += sync.length();
    if (sync.end <= gap.begin) continue;
    blocked_ns_ += sync.length();
    is_behind_sync_ = is_behind_sync_ || sync.end <= called;
  }
}

void SyncLead::add_held_up(Interval busy, size_t last) {
  for (size_t place = last; place-- > 0 && rows_.start(ops_[place]) >= busy.begin;) {
    uint32_t const op = ops_[place];
    model::EventId const launch = rows_.link(op);
    Interval const when = rows_.when(op);
    bool const is_first = launch.valid() && rows_.link(launch.value).value == op;
    // A call that waits for its copy is one of the syncs.
    if (!is_first || when.end > busy.end || rows_.op_class(op) == model::OpClass::kCopy) continue;

    Interval const call = rows_.when(launch.value);
    bool const is_in_call = call.begin >= since_ && call.begin <= when.begin &&
                            when.end <= call.end && rows_.track(launch.value) == thread_;
    if (is_in_call && !is_in_a_sync(*syncs_, when)) *lead_ += when.length();
  }
}

void SyncLead::pass_sync(Interval idle) {
  blocked_ns_ -= idle.length();
  is_past_sync_ = true;
}

int64_t SyncLead::pass_late(Interval late, bool is_apart) {
  int64_t const ns = late.length(), lead = std::max<int64_t>(*lead_, 0);
  int64_t const of_this_sync = is_past_sync_ ? std::max<int64_t>(blocked_ns_, 0) : 0;
  int64_t const of_lead = is_behind_sync_ && ns <= kLongestExposedLaunchNs ? lead : 0;
  int64_t const cost = is_apart ? 0 : std::min(ns, std::max(of_this_sync, of_lead));
  blocked_ns_ -= cost;
  *lead_ -= std::min(ns, lead);
  return cost;
}

}  // namespace stepscope::analyzer
