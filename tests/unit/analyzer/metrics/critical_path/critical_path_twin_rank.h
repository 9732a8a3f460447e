// One rank of the critical path's twin: what its events waited for, read word by word from
// DEFINITIONS, without any index.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "analyzer/metrics/host/host_activity.h"
#include "analyzer/results/analysis.h"

namespace stepscope::analyzer {

inline constexpr int64_t kTwinLimit = 12;  // least launch latency limit of these tests, ns
inline constexpr int64_t kFar = INT64_MAX / 4;

/// Does not move: its syncs refer to it.
struct TwinRank {
  struct Op {
    uint32_t row;
    int64_t start, end;
    std::optional<size_t> before, waited_for;
    std::vector<size_t> sources;  // of events, and guessed
    std::optional<uint32_t> launch;
    std::optional<int64_t> ready;
    bool is_guess = false, is_on_path = false;
    std::optional<uint32_t> collective;
    int64_t wait = 0, lead = 0;
  };
  struct Sync {
    uint32_t row;
    std::function<bool(size_t)> waits_for;
    int64_t ready;
    std::optional<size_t> released_by;
  };

  model::RankTrace const& rank;
  model::Trace const& trace;
  std::vector<std::vector<HostStep>> const& steps;
  std::vector<Op> ops;
  std::vector<Sync> syncs;

  std::map<int32_t, int64_t> limits;  // launch latency limit by device

  TwinRank(model::RankTrace const& of, std::vector<std::vector<HostStep>> const& host_steps,
           std::map<int32_t, int64_t> const& of_devices)
      : rank(of), trace(of.trace), steps(host_steps), limits(of_devices) {
    for (uint32_t row = 0; row < trace.event_count(); ++row)
      if (model::is_device_op(trace.kind(row))) ops.push_back(op_of(row));
    std::sort(ops.begin(), ops.end(), [&](Op const& a, Op const& b) { return key(a) < key(b); });
    for (size_t i = 0; i < ops.size(); ++i) connect(i);
    find_syncs();
  }
  std::tuple<int64_t, int32_t, int64_t, uint32_t> key(Op const& op) const {
    return {op.start, trace.track(op.row).device, trace.track(op.row).id, op.row};
  }
  Op op_of(uint32_t row) const {
    Op op{};
    op.row = row;
    op.start = start(row);
    op.end = end(row);
    return op;
  }
  int64_t limit(Op const& op) const { return limits.at(trace.track(op.row).device); }
  int64_t start(uint32_t row) const { return trace.start(row) + rank.offset_ns; }
  int64_t end(uint32_t row) const { return trace.end(row) + rank.offset_ns; }
  uint32_t track(uint32_t row) const { return trace.columns().track[row].value; }
  uint64_t call(uint32_t row) const { return trace.columns().correlation[row]; }
  int64_t launched(Op const& op) const {
    return waits_for_copy(*op.launch) ? start(*op.launch) : std::min(end(*op.launch), op.start);
  }
  /// The first op of the call is a copy, and over before the call is. (Of the runs' copies it is
  /// not known where they copy from.)
  bool waits_for_copy(uint32_t call) const {
    if (trace.name(call).find("Async") != std::string_view::npos) return false;
    for (Op const& op : ops) {
      model::EventId const link = trace.columns().link[op.row];
      if (!link.valid() || link.value != call || start(call) > op.start) continue;
      return trace.kind(op.row) == model::EventKind::kMemcpy && op.end <= end(call);
    }
    return false;
  }

  /// Of the ops that took time and for which `holds`, the one that ended last until the instant.
  template <class Holds>
  std::optional<size_t> last_ended(int64_t instant, Holds holds) const {
    std::optional<size_t> best;
    for (size_t i = 0; i < ops.size(); ++i)
      if (ops[i].start < ops[i].end && ops[i].end <= instant && holds(i) &&
          (!best || ops[i].end >= ops[*best].end))
        best = i;
    return best;
  }
  std::optional<uint32_t> stream_of(int32_t device, int32_t id) const {
    for (uint32_t t = 0; t < trace.tracks().size(); ++t)
      if (trace.tracks()[t].kind == model::TrackKind::kStream &&
          trace.tracks()[t].device == device && trace.tracks()[t].id == id)
        return t;
    return std::nullopt;
  }
  bool has_device(int32_t device) const {
    for (model::Track const& t : trace.tracks())
      if (t.kind == model::TrackKind::kStream && t.device == device) return true;
    return false;
  }
  std::vector<size_t> in_stream(uint32_t stream) const {
    std::vector<size_t> result;
    for (size_t i = 0; i < ops.size(); ++i)
      if (track(ops[i].row) == stream) result.push_back(i);
    return result;
  }
  std::optional<size_t> launched_before(uint32_t stream, uint64_t correlation) const {
    std::optional<size_t> last;
    for (size_t const i : in_stream(stream)) {
      if (call(ops[i].row) >= correlation) return last;
      last = i;
    }
    return last;
  }

  void connect(size_t i);
  static void take(Op& op, int64_t ready, std::optional<size_t> source) {
    if (op.ready && ready <= *op.ready) return;
    op.ready = ready;
    op.waited_for = source;
  }
  void add_source(size_t i, uint32_t wait) {
    auto const& detail = trace.detail<model::StreamWaitDetail>(wait);
    auto const source_stream = stream_of(detail.source_device, detail.source_stream);
    std::optional<size_t> source, held;
    if (call(wait) != 0 && detail.source_correlation != 0) {
      for (size_t const j : in_stream(track(wait)))
        if (!held && call(ops[j].row) > call(wait)) held = j;
      if (source_stream) source = launched_before(*source_stream, detail.source_correlation);
    } else {
      for (size_t const j : in_stream(track(wait)))
        if (!held && ops[j].row > wait) held = j;
      if (detail.source_stream < 0 && has_device(detail.source_device))
        source = last_ended(end(wait), [&](size_t u) {
          return trace.track(ops[u].row).device == detail.source_device;
        });
      if (detail.source_stream >= 0 && source_stream)
        source =
            last_ended(end(wait), [&](size_t u) { return track(ops[u].row) == *source_stream; });
    }
    if (held == i && source && ops[*source].start < ops[i].start &&
        ops[*source].end <= ops[i].start)
      ops[i].sources.push_back(*source);
  }

  void find_syncs() {
    for (uint32_t row = 0; row < trace.event_count(); ++row) {
      if (trace.kind(row) == model::EventKind::kSync) add_sync(row);
      if (trace.kind(row) != model::EventKind::kLaunch ||
          trace.name(row).find("Async") != std::string_view::npos)
        continue;
      for (size_t i = 0; i < ops.size(); ++i) {
        if (ops[i].launch != row) continue;
        if (trace.kind(ops[i].row) == model::EventKind::kMemcpy) add_wait_for_op(row, i);
        break;  // the first op of the launch
      }
    }
  }
  void add_wait_for_op(uint32_t row, size_t op) {
    if (ops[op].end > end(row) || ops[op].start == ops[op].end) return;
    add(row, [op](size_t u) { return u == op; });
  }
  void add_sync(uint32_t row) {
    auto const& detail = trace.detail<model::SyncDetail>(row);
    auto const stream = stream_of(detail.device, detail.stream);
    if (detail.sync == model::SyncKind::kEvent && detail.source_correlation != 0) {
      auto const op = stream ? launched_before(*stream, detail.source_correlation) : std::nullopt;
      if (op) add_wait_for_op(row, *op);
    } else if ((detail.sync == model::SyncKind::kEvent ||
                detail.sync == model::SyncKind::kStream) &&
               stream && detail.stream >= 0) {
      add(row, [this, stream](size_t u) { return track(ops[u].row) == *stream; });
    } else if (detail.sync != model::SyncKind::kEvent && has_device(detail.device)) {
      add(row, [this, device = detail.device](size_t u) {
        return trace.track(ops[u].row).device == device;
      });
    } else if (detail.sync == model::SyncKind::kDevice || end(row) - start(row) >= kTwinLimit) {
      add(row, [](size_t) { return true; });
    }
  }
  void add(uint32_t row, std::function<bool(size_t)> const& waits_for) {
    Sync sync{row, waits_for, start(row), {}};
    auto const op = last_ended(end(row), waits_for);
    if (op && ops[*op].end > start(row)) {
      sync.ready = ops[*op].end;
      sync.released_by = op;
    }
    syncs.push_back(sync);
  }

  static bool is_activity(model::EventKind kind) {
    return kind == model::EventKind::kRange || kind == model::EventKind::kStep ||
           kind == model::EventKind::kInputWait || kind == model::EventKind::kLaunch ||
           kind == model::EventKind::kSync || kind == model::EventKind::kMemory;
  }
  /// The event of the thread that was begun last of those open in the ns from `ns` on, and its
  /// class.
  std::pair<std::optional<uint32_t>, PathClass> innermost(uint32_t thread, int64_t ns,
                                                          uint32_t before_row = UINT32_MAX) const {
    std::optional<uint32_t> best;
    for (uint32_t row = 0; row < std::min(before_row, trace.event_count()); ++row)
      if (track(row) == thread && is_activity(trace.kind(row)) && start(row) <= ns && ns < end(row))
        best = row;
    if (!best) return {std::nullopt, PathClass::kHost};
    switch (trace.kind(*best)) {
      case model::EventKind::kLaunch:
        return {best, PathClass::kLaunch};
      case model::EventKind::kSync:
        return {best, PathClass::kSync};
      case model::EventKind::kMemory:
        return {best, PathClass::kAllocation};
      case model::EventKind::kInputWait:
        return {best, PathClass::kInput};
      default:
        return {best, innermost(thread, start(*best), *best).second};
    }
  }
  std::optional<int64_t> first_activity(uint32_t thread) const {
    std::optional<int64_t> first;
    for (uint32_t row = 0; row < trace.event_count(); ++row)
      if (track(row) == thread && is_activity(trace.kind(row)) && (!first || start(row) < *first))
        first = start(row);
    return first;
  }

  // Handovers between threads.
  std::vector<Interval> events(uint32_t thread) const {
    std::vector<Interval> result;
    for (uint32_t row = 0; row < trace.event_count(); ++row)
      if (track(row) == thread && is_activity(trace.kind(row)))
        result.push_back({start(row), end(row)});
    return result;
  }
  std::vector<Interval> busy(uint32_t thread) const {
    std::vector<Interval> result = events(thread);
    for (size_t i = 0; i < result.size(); ++i) {
      for (size_t j = 0; j < result.size(); ++j) {
        if (i == j || result[i].end < result[j].begin || result[j].end < result[i].begin) continue;
        result[i] = {std::min(result[i].begin, result[j].begin),
                     std::max(result[i].end, result[j].end)};
        result.erase(result.begin() + static_cast<ptrdiff_t>(j));
        i = static_cast<size_t>(-1);
        break;
      }
    }
    std::sort(result.begin(), result.end(),
              [](Interval a, Interval b) { return a.begin < b.begin; });
    return result;
  }
  size_t launches(uint32_t thread) const {
    std::set<uint32_t> rows;
    for (Op const& op : ops)
      if (op.launch && track(*op.launch) == thread) rows.insert(*op.launch);
    return rows.size();
  }
  std::optional<uint32_t> busiest(bool has_steps) const {
    std::optional<uint32_t> best;
    for (uint32_t t = 0; t < trace.tracks().size(); ++t) {
      if (trace.tracks()[t].kind != model::TrackKind::kThread || steps[t].empty() == has_steps)
        continue;
      if (!best || std::pair(launches(t), -trace.tracks()[t].id) >
                       std::pair(launches(*best), -trace.tracks()[*best].id))
        best = t;
    }
    return best;
  }
  struct Exit {
    int64_t from, to;
    std::optional<size_t> op;
    uint32_t thread;
    std::tuple<int64_t, bool, size_t> key() const { return {from, op.has_value(), op.value_or(0)}; }
  };
  /// What the position on the thread waited for last.
  std::optional<Exit> exit_of(uint32_t thread, int64_t position) const {
    std::vector<Exit> all;
    for (Sync const& sync : syncs)
      if (track(sync.row) == thread && sync.released_by)
        all.push_back({sync.ready, sync.ready, sync.released_by, 0});
    auto const home = busiest(true), helper = busiest(false);
    if (home && helper && launches(*helper) > 0) {
      if (thread == *home && launches(*helper) >= launches(*home) / 10)
        add_ways_to_helper(*home, *helper, all);
      if (steps[thread].empty() && launches(thread) > 0) add_ways_back(thread, *home, all);
    }
    std::optional<Exit> best;
    for (Exit const& exit : all)
      if (exit.from <= position && (!best || exit.key() > best->key())) best = exit;
    return best;
  }
  void add_ways_back(uint32_t thread, uint32_t home, std::vector<Exit>& all) const;
  void add_ways_to_helper(uint32_t home, uint32_t helper, std::vector<Exit>& all) const {
    std::vector<Interval> const of_home = events(home);
    std::vector<Interval> quiet;
    for (size_t i = 0; i < of_home.size(); ++i) {
      int64_t const next = i + 1 < of_home.size() ? of_home[i + 1].begin : kFar;
      quiet.push_back({of_home[i].begin, std::min(of_home[i].end, next)});
      if (of_home[i].end < next) quiet.push_back({of_home[i].end, next});
    }
    for (auto const [from, until] : quiet) {
      std::optional<int64_t> last;
      bool is_busy = false;
      for (Interval const when : busy(helper)) {
        if (when.end <= until) last = when.end;
        is_busy = is_busy || (when.begin < until && until < when.end);
      }
      if (last && *last > from && !is_busy) all.push_back({*last, *last, std::nullopt, helper});
    }
  }
};

}  // namespace stepscope::analyzer
