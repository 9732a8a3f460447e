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
  /// Whether the first op of the call is a copy that ends before the call returns. These runs do
  /// not record where a copy reads from.
  bool waits_for_copy(uint32_t call) const;

  /// The op for which `holds` that ended last until the instant; ops of length 0 do not count.
  template <class Holds>
  std::optional<size_t> last_ended(int64_t instant, Holds holds) const {
    std::optional<size_t> best;
    for (size_t i = 0; i < ops.size(); ++i)
      if (ops[i].start < ops[i].end && ops[i].end <= instant && holds(i) &&
          (!best || ops[i].end >= ops[*best].end))
        best = i;
    return best;
  }
  std::optional<uint32_t> stream_of(int32_t device, int32_t id) const;
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
  std::optional<size_t> launched_before(uint32_t stream, uint64_t correlation) const;

  void connect(size_t i);
  static void take(Op& op, int64_t ready, std::optional<size_t> source) {
    if (op.ready && ready <= *op.ready) return;
    op.ready = ready;
    op.waited_for = source;
  }
  void add_source(size_t i, uint32_t wait);

  void find_syncs();
  void add_wait_for_op(uint32_t row, size_t op) {
    if (ops[op].end > end(row) || ops[op].start == ops[op].end) return;
    add(row, [op](size_t u) { return u == op; });
  }
  void add_sync(uint32_t row);
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
  /// The event of the thread that began last among the events open in the ns from `ns` on, and its
  /// class.
  std::pair<std::optional<uint32_t>, PathClass> innermost(uint32_t thread, int64_t ns,
                                                          uint32_t before_row = UINT32_MAX) const;
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
  std::vector<Interval> busy(uint32_t thread) const;
  size_t launches(uint32_t thread) const {
    std::set<uint32_t> rows;
    for (Op const& op : ops)
      if (op.launch && track(*op.launch) == thread) rows.insert(*op.launch);
    return rows.size();
  }
  std::optional<uint32_t> busiest(bool has_steps) const;
  struct Exit {
    int64_t from, to;
    std::optional<size_t> op;
    uint32_t thread;
    std::tuple<int64_t, bool, size_t> key() const { return {from, op.has_value(), op.value_or(0)}; }
  };
  /// What the position on the thread waited for last.
  std::optional<Exit> exit_of(uint32_t thread, int64_t position) const;
  void add_ways_back(uint32_t thread, uint32_t home, std::vector<Exit>& all) const;
  void add_ways_to_helper(uint32_t home, uint32_t helper, std::vector<Exit>& all) const;
};

}  // namespace stepscope::analyzer
