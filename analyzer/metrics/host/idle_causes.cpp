#include "analyzer/metrics/host/idle_causes.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "analyzer/metrics/core/add_interval.h"
#include "analyzer/metrics/core/quantile.h"
#include "analyzer/metrics/host/sync_lead.h"
#include "analyzer/metrics/work/copies.h"
#include "analyzer/metrics/work/kernels.h"
#include "trace/model/derive/pipeline_place.h"
#include "trace/model/kind_scan.h"

namespace stepscope::analyzer {
namespace {

using model::EventId;
using model::EventKind;
using model::IntervalSet;

/// Times at which a stream was held by events.
struct StreamHolds {
  IntervalSet by_this_device, by_others;
};

/// Indexed by track.
std::vector<StreamHolds> find_holds(DeviceOps const& device) {
  model::Trace const& trace = device.trace();
  std::vector<StreamHolds> result(trace.tracks().size());

  for (model::TrackId const stream : device.streams) {
    std::vector<Interval> own, others;
    model::for_each_row_of<EventKind::kStreamWait>(
        trace.columns(), trace.rows_of(stream), [&](uint32_t row) {
          int32_t const source = trace.detail<model::StreamWaitDetail>(row).source_device;
          (source < 0 || source == device.ref.device ? own : others).push_back(device.when(row));
        });
    if (!own.empty() || !others.empty())
      result[stream.value] = {model::unite(std::move(own)), model::unite(std::move(others))};
  }

  return result;
}

/// A thread of the host runs its ops: what was launched and nothing holds waits for that thread to
/// run.
bool is_executed_by_host(DeviceOps const& device) {
  model::Device const* const described = described_device(device);
  return described != nullptr && is_host_device(described->name);
}

/// What the device did until a gap began: it was busy for so long, with ops before place `last` in
/// DeviceOps::ops.
struct WorkBefore {
  Interval busy{};
  size_t last = 0;
};

class GapExplainer {
 public:
  GapExplainer(DeviceOps const& device, HostActivity& host, std::vector<PeerLaunch> const& peers,
               int64_t limit_ns)
      : device_(device),
        rows_(device.rows()),
        host_(host),
        peers_(peers),
        limit_ns_(is_executed_by_host(device) ? std::numeric_limits<int64_t>::max() : limit_ns),
        holds_(find_holds(device)),
        cursors_(device.trace().tracks().size()),
        first_op_begin_(device.ops.empty() ? 0 : rows_.start(device.ops.front())),
        lead_(device),
        is_graph_launch_(device.trace().strings().size(), -1),
        is_pipeline_worker_(model::pipeline_place_of(device.name).has_value()) {}

  /// Gaps must come in order of time. `next_op` = the row that ends the gap, if an op does. (Ids
  /// and not optionals of rows, here and below: those are written in two pieces and read in one,
  /// for which a processor waits.)
  void explain(Interval gap, EventId next_op, WorkBefore const& before = {}) {
    gap_ = gap;
    next_op_ = next_op;
    launch_ = next_op.valid() ? rows_.link(next_op.value) : EventId();
    // Before this instant the host is late; after it the device holds the op.
    launched_ =
        launch_.valid() ? std::clamp(rows_.end(launch_.value), gap.begin, gap.end) : gap.begin;
    is_whole_ = true;

    take(kOverhead, IdleCause::kProfiler, host_.overhead(), gap);
    if (launch_.valid())
      take_host_causes({gap.begin, launched_}, gap);
    else if (next_op.valid())
      take(kStepInputs, IdleCause::kInput, host_.input_of_step_threads(), gap);
    take_device_causes({launched_, gap.end});
    if (launch_.valid()) take_all(IdleCause::kLaunchBound, {gap.begin, launched_});

    // Mostly nothing explains any of it: the op was launched long before, and starts a moment after
    // the last.
    if (is_whole_) return emit({gap, cause_of_rest(gap)});

    for (Interval const& left : rest_) add_piece(left, cause_of_rest(left));
    if (pieces_.size() > 1)
      std::sort(pieces_.begin(), pieces_.end(),
                [](Piece const& a, Piece const& b) { return a.when.begin < b.when.begin; });

    if (launch_.valid()) enter_lead(before);
    for (Piece const& piece : pieces_) emit_piece(piece);
  }
  /// About so many gaps will come.
  void expect(size_t gaps) { gaps_.reserve(gaps + gaps / 4); }
  std::vector<IdleGap> finish() && { return std::move(gaps_); }

 private:
  struct Piece {
    Interval when;
    IdleCause cause = IdleCause::kUnexplained;
  };

  [[nodiscard]] IdleCause cause_of_rest(Interval left) const {
    return launch_.valid() && left.length() < limit_ns_ ? IdleCause::kLaunchLatency
                                                        : IdleCause::kUnexplained;
  }

  void add_piece(Interval when, IdleCause cause) {
    Piece& piece = pieces_.emplace_back();
    piece.when.begin = when.begin;
    piece.when.end = when.end;
    piece.cause = cause;
  }

  void take_host_causes(Interval before_launched, Interval gap) {
    model::TrackId const thread = rows_.track(launch_.value);
    if (thread != thread_) {
      sets_of_thread_ = &host_.thread(thread_ = thread);
      steps_of_thread_ = &host_.steps_for(thread);
    }

    ThreadSets const& sets = *sets_of_thread_;
    if (place_in(kHostCauses, sets.any)) {
      take(kAllocations, IdleCause::kAllocation, sets.allocation, gap);
      take(kSyncs, IdleCause::kSync, sets.sync, before_launched);
      take(kInputs, IdleCause::kInput, sets.input, before_launched);
    }

    if (!host_.has_steps(thread))
      take(kStepInputs, IdleCause::kInput, host_.input_of_step_threads(), before_launched);
  }

  void take_device_causes(Interval after_launched) {
    if (!next_op_.valid() || after_launched.begin >= after_launched.end) return;
    StreamHolds const& holds = holds_[rows_.track(next_op_.value).value];
    take(kOwnHolds, IdleCause::kDependency, holds.by_this_device, after_launched);
    take(kOtherHolds, IdleCause::kPeer, holds.by_others, after_launched);
    take_all(IdleCause::kPeer, {after_launched.begin, peer_launched(after_launched)});
    if (launch_.valid() && is_later_graph_node()) take_all(IdleCause::kGraph, after_launched);
    take(kCopies, IdleCause::kSync, host_.unrecorded_copies(), after_launched);
  }

  /// When the last peer of the next op was launched; the window's begin if that is no reason to
  /// wait.
  int64_t peer_launched(Interval after_launched) const {
    uint32_t const op = next_op_.value;
    if (rows_.kind(op) != EventKind::kCollective) return after_launched.begin;
    if (waits_for_workers(op)) return after_launched.end;

    auto const peer =
        std::lower_bound(peers_.begin(), peers_.end(), op,
                         [](PeerLaunch const& p, uint32_t row) { return p.row < row; });
    if (peer == peers_.end() || peer->row != op) return after_launched.begin;
    // An op that starts before its last peer is launched does not wait for it with its start.
    return peer->last_launch_end > after_launched.end
               ? after_launched.begin
               : std::max(after_launched.begin, peer->last_launch_end);
  }

  /// Timelines of pipelines tell no launches, and a worker's collectives begin when all are there.
  /// The gathering of weights begins a step: before it lies what the timeline left out.
  [[nodiscard]] bool waits_for_workers(uint32_t op) const {
    if (!is_pipeline_worker_) return false;
    auto const& detail = device_.trace().detail<model::CollectiveDetail>(op);
    return detail.participants > 1 && detail.op != model::CollectiveOp::kAllGather;
  }

  bool is_later_graph_node() {
    uint32_t const launch = launch_.value;
    int8_t& known = is_graph_launch_[rows_.name(launch).value];
    if (known < 0)
      known = device_.trace().name(launch).find("GraphLaunch") == std::string_view::npos ? 0 : 1;
    return known == 1 && rows_.link(launch) != next_op_;
  }

  /// The sets that are looked through from gap to gap. As gaps come by time, what one has passed no
  /// later one asks for.
  enum SetPlace : size_t {
    kOverhead,
    kHostCauses,
    kAllocations,
    kSyncs,
    kInputs,
    kStepInputs,
    kOwnHolds,
    kOtherHolds,
    kCopies,
    kSetPlaces
  };
  struct Passed {
    IntervalSet const* set = nullptr;  ///< of another thread or stream it is another one
    size_t count = 0;                  ///< of its intervals: they end before the gap
  };

  /// The first interval of the set that overlaps the gap, if one does.
  std::optional<size_t> place_in(SetPlace place, IntervalSet const& set) {
    if (set.empty()) return std::nullopt;
    Passed& passed = passed_[place];
    if (passed.set != &set) {
      auto const first = std::partition_point(
          set.begin(), set.end(), [&](Interval const& i) { return i.end <= gap_.begin; });
      passed = {&set, static_cast<size_t>(first - set.begin())};
    }

    while (passed.count < set.size() && set[passed.count].end <= gap_.begin) ++passed.count;
    if (passed.count == set.size() || set[passed.count].begin >= gap_.end) return std::nullopt;
    return passed.count;
  }
  /// Gives what is left of set ∩ bound to the cause.
  void take(SetPlace place, IdleCause cause, IntervalSet const& set, Interval bound) {
    if (bound.begin >= bound.end) return;
    if (auto const first = place_in(place, set)) take_from(cause, set, *first, bound);
  }
  /// The gap is whole no longer.
  void cut() {
    if (!std::exchange(is_whole_, false)) return;
    pieces_.clear();
    rest_.clear();
    add_interval(rest_, gap_);
  }
  void take_from(IdleCause cause, IntervalSet const& set, size_t first, Interval bound) {
    cut();
    auto at = set.begin() + static_cast<ptrdiff_t>(first);
    left_.clear();

    for (Interval rest : rest_) {
      while (at != set.end() && at->end <= rest.begin) ++at;
      for (auto cut = at; cut != set.end() && cut->begin < rest.end; ++cut) {
        Interval const taken{std::max({rest.begin, cut->begin, bound.begin}),
                             std::min({rest.end, cut->end, bound.end})};
        if (taken.begin >= taken.end) continue;
        add_piece(taken, cause);
        if (rest.begin < taken.begin) add_interval(left_, rest.begin, taken.begin);
        rest.begin = taken.end;
      }
      if (rest.begin < rest.end) add_interval(left_, rest);
    }

    rest_.swap(left_);
  }
  void take_all(IdleCause cause, Interval bound) {
    if (bound.begin >= bound.end) return;
    cut();
    left_.clear();

    for (Interval const& rest : rest_) {
      Interval const taken{std::max(rest.begin, bound.begin), std::min(rest.end, bound.end)};
      if (taken.begin >= taken.end) {
        add_interval(left_, rest);
        continue;
      }

      add_piece(taken, cause);
      if (rest.begin < taken.begin) add_interval(left_, rest.begin, taken.begin);
      if (taken.end < rest.end) add_interval(left_, taken.end, rest.end);
    }

    rest_.swap(left_);
  }

  void emit(Piece const& piece) {
    IdleGap& gap = gaps_.emplace_back();
    gap.ref = device_.ref;
    gap.when.begin = piece.when.begin;
    gap.when.end = piece.when.end;
    gap.cause = piece.cause;
    gap.next_op_row = next_op_;
    if (next_op_.valid()) gap.next_op_name = rows_.name(next_op_.value);
    if (piece.cause == IdleCause::kUnexplained) gap.why_not = why_not_explained();
    if (EventId const row = host_row(piece); row.valid()) blame(row.value, gap);
  }

  void enter_lead(WorkBefore const& before) {
    lead_.enter(gap_, launch_.value, sets_of_thread_->sync, *steps_of_thread_);
    if (lead_.is_behind_sync()) lead_.add_held_up(before.busy, before.last);
    for (Piece const& piece : pieces_)
      if (piece.cause == IdleCause::kSync) lead_.pay(piece.when);
  }

  /// The part of a late launch in which its call copies pageable memory; empty = none.
  [[nodiscard]] Interval staging_in(Piece const& piece) const {
    if (piece.cause != IdleCause::kLaunchBound || !is_staged_copy(device_.trace(), next_op_.value))
      return {piece.when.end, piece.when.end};
    return {std::clamp(rows_.start(launch_.value), piece.when.begin, piece.when.end),
            piece.when.end};
  }

  void emit_piece(Piece piece) {
    Interval const staging =
        launch_.valid() ? staging_in(piece) : Interval{piece.when.end, piece.when.end};
    piece.when.end = staging.begin;
    if (piece.when.begin < piece.when.end) emit_unstaged(piece);

    if (staging.begin == staging.end) return;
    emit({staging, IdleCause::kSync});
    gaps_.back().is_staging = true;
  }

  void emit_unstaged(Piece const& piece) {
    emit(piece);
    if (!launch_.valid()) return;
    if (piece.cause == IdleCause::kSync) lead_.pass_sync(piece.when);
    if (piece.cause == IdleCause::kInput) lead_.pass_input();
    if (piece.cause == IdleCause::kLaunchBound) mark_way_from_sync();
  }

  /// Marks what the syncs cost of the late launch that was emitted last.
  void mark_way_from_sync() {
    IdleGap& whole = gaps_.back();
    int64_t const way = lead_.pass_late(whole.when, whole.host_is_apart);
    if (way <= 0) return;
    whole.is_way_from_sync = true;
    if (way == whole.when.length()) return;
    IdleGap rest = whole;
    whole.when.end = rest.when.begin = whole.when.begin + way;
    rest.is_way_from_sync = false;
    gaps_.push_back(rest);
  }

  void blame(uint32_t row, IdleGap& gap) {
    gap.host_row = EventId{row};
    gap.host_name = rows_.name(row);
    gap.host_track = rows_.track(row);
    gap.caller = host_.callers().caller_of(row);
    Interval const host = rows_.when(row);
    gap.host_is_apart = model::is_range(rows_.kind(row)) && host.begin >= gap.when.begin &&
                        host.end <= gap.when.end && 2 * host.length() >= gap.when.length();
  }

  [[nodiscard]] NotExplained why_not_explained() const {
    if (next_op_.valid() && gap_.end == first_op_begin_) return NotExplained::kFirst;
    return launch_.valid() ? NotExplained::kQueued : NotExplained::kOther;
  }

  EventId host_row(Piece const& piece) {
    if (!launch_.valid() || piece.cause == IdleCause::kDependency ||
        piece.cause == IdleCause::kPeer || piece.cause == IdleCause::kLaunchLatency ||
        piece.cause == IdleCause::kGraph)
      return {};
    model::TrackId const thread = rows_.track(launch_.value);
    std::optional<HostCursor>& cursor = cursors_[thread.value];
    if (!cursor) cursor.emplace(*device_.rank, thread);
    return cursor->dominant(piece.when);
  }

  DeviceOps const& device_;
  RowView rows_;
  HostActivity& host_;
  std::vector<PeerLaunch> const& peers_;
  int64_t limit_ns_;
  std::vector<StreamHolds> holds_;
  std::vector<std::optional<HostCursor>> cursors_;  ///< by track
  int64_t first_op_begin_;
  SyncLead lead_;
  Interval gap_{};
  EventId next_op_, launch_;
  int64_t launched_ = 0;
  model::TrackId thread_;  // the last one that was asked for
  ThreadSets const* sets_of_thread_ = nullptr;
  std::vector<HostStep> const* steps_of_thread_ = nullptr;
  std::array<Passed, kSetPlaces> passed_{};
  std::vector<int8_t> is_graph_launch_;  ///< by string; −1 = not asked
  bool is_pipeline_worker_ = false;
  bool is_whole_ = true;     // nothing explains any of the gap yet: what follows is not filled
  IntervalSet rest_, left_;  // reused from gap to gap
  std::vector<Piece> pieces_;
  std::vector<IdleGap> gaps_;
};

/// Among the ops from place `first` on that start at `instant`, the one launched first. Ops without
/// a launch, then ops that take no time, count only where there is no other. Advances `first` past
/// them.
EventId op_at(std::vector<uint32_t> const& ops, RowView const& rows, size_t& first,
              int64_t instant) {
  EventId best;
  auto const key = [&](uint32_t row) {
    EventId const launch = rows.link(row);
    return std::pair{rows.dur(row) == 0, launch.valid() ? rows.start(launch.value)
                                                        : std::numeric_limits<int64_t>::max()};
  };

  for (; first < ops.size(); ++first) {
    uint32_t const row = ops[first];
    int64_t const start = rows.start(row);
    if (start > instant) break;
    if (start == instant && (!best.valid() || key(row) < key(best.value))) best = EventId{row};
  }
  return best;
}

/// How long after its call an op started that was called on an idle device, which nothing but the
/// device held up. The device was idle from `idle_from` until the op started.
std::optional<int64_t> latency_of_late_launch(RowView const& rows, uint32_t op, int64_t idle_from) {
  EventId const launch = rows.link(op);
  bool const is_first = launch.valid() && rows.link(launch.value).value == op;
  if (!is_first || rows.op_class(op) == model::OpClass::kComm || rows.end(launch.value) < idle_from)
    return std::nullopt;
  // A stream's waits are just before the op that they hold.
  bool const was_blocked = op > 0 && rows.kind(op - 1) == EventKind::kStreamWait &&
                           rows.track(op - 1) == rows.track(op) &&
                           rows.end(op - 1) > rows.end(launch.value);
  if (was_blocked) return std::nullopt;
  return rows.start(op) - rows.end(launch.value);
}

}  // namespace

std::vector<IdleGap> explain_gaps(DeviceOps const& device, IntervalSet const& busy, Interval range,
                                  HostActivity& host, std::vector<PeerLaunch> const& peers,
                                  int64_t launch_latency_limit_ns) {
  GapExplainer explainer(device, host, peers, launch_latency_limit_ns);
  explainer.expect(busy.size());

  int64_t begin = range.begin;
  RowView const rows = device.rows();
  size_t op = 0;
  Interval before{};

  for (Interval const& work : busy) {
    if (work.begin >= range.end) break;
    EventId const next = op_at(device.ops, rows, op, work.begin);
    if (begin < work.begin) explainer.explain({begin, work.begin}, next, {before, op});
    begin = std::max(begin, work.end);
    before = work;
  }

  if (begin < range.end) explainer.explain({begin, range.end}, EventId());
  return std::move(explainer).finish();
}

UnexplainedStats unexplained_facts(DeviceOps const& device, std::vector<IdleGap> const& gaps) {
  UnexplainedStats facts;
  Interval longest{};
  for (IdleGap const& gap : gaps) {
    if (gap.cause != IdleCause::kUnexplained) continue;
    int64_t const ns = gap.when.length();
    if (gap.why_not == NotExplained::kFirst) {
      facts.first_ns += ns;
    } else if (gap.why_not == NotExplained::kQueued) {
      facts.queued_ns += ns;
      if (ns > longest.length()) longest = gap.when;
    } else {
      facts.other_ns += ns;
    }
  }
  if (longest.length() == 0) return facts;

  RowView const rows = device.rows();
  for (uint32_t const row : device.ops) {
    EventId const launch = rows.link(row);
    bool const is_queued =
        launch.valid() && rows.end(launch.value) <= longest.begin && rows.start(row) >= longest.end;
    facts.queued_ops += is_queued ? 1 : 0;
  }
  return facts;
}

int64_t launch_latency_limit(DeviceOps const& device, IntervalSet const& busy, int64_t least_ns) {
  if (is_executed_by_host(device)) return least_ns;
  // A median of thousands does not change with more; one of fewer than eight may be chance. Beyond
  // 50 µs no device is known to take so long to start: something else holds its ops.
  constexpr size_t kMostSamples = 4096, kFewestSamples = 8;
  constexpr int64_t kMostTimes = 5;

  RowView const rows = device.rows();
  std::vector<int64_t> latencies;
  size_t const stride = 1 + busy.size() / kMostSamples;
  for (size_t at = stride; at < busy.size(); at += stride) {
    auto const op =
        std::lower_bound(device.ops.begin(), device.ops.end(), busy[at].begin,
                         [&](uint32_t row, int64_t instant) { return rows.start(row) < instant; });
    if (op == device.ops.end()) break;
    if (auto const latency = latency_of_late_launch(rows, *op, busy[at - 1].end))
      latencies.push_back(*latency);
  }

  if (latencies.size() < kFewestSamples) return least_ns;
  int64_t const median = std::min(lower_median(latencies), kMostTimes * least_ns);
  return std::clamp(median + median / 2, least_ns, kMostTimes * least_ns);
}

std::vector<IdleGap> explain_late_launches(DeviceOps const& device,
                                           std::vector<LateLaunch> const& late, HostActivity& host,
                                           int64_t launch_latency_limit_ns) {
  std::vector<PeerLaunch> const no_peers;
  GapExplainer explainer(device, host, no_peers, launch_latency_limit_ns);
  explainer.expect(late.size());
  for (LateLaunch const& launch : late) explainer.explain(launch.when, EventId{launch.row});
  return std::move(explainer).finish();
}

}  // namespace stepscope::analyzer
