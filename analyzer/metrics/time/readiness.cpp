#include "analyzer/metrics/time/readiness.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "analyzer/metrics/core/add_interval.h"
#include "trace/model/kind_scan.h"

namespace stepscope::analyzer {
namespace {

using model::EventKind;

constexpr int64_t kLongAgo = std::numeric_limits<int64_t>::min();

/// A stream's ops in the order in which they were launched.
struct LaunchOrder {
  std::vector<uint64_t> latest;  ///< the highest correlation up to each op
  std::vector<int64_t> ends;     ///< beside it: the latest end up to it
  LaunchOrder(DeviceOps const& device, model::TrackId stream) {
    model::Trace const& trace = device.trace();
    model::Trace::Rows const rows = trace.rows_of(stream);
    uint64_t highest = 0;
    int64_t end = kLongAgo;
    for (uint32_t row = rows.first; row < rows.last; ++row) {
      if (!model::is_device_op(trace.kind(row))) continue;
      latest.push_back(highest = std::max(highest, trace.columns().correlation[row]));
      ends.push_back(end = std::max(end, device.end(row)));
    }
  }
  /// When what was launched before this call was over.
  [[nodiscard]] int64_t end_before(uint64_t call) const {
    auto const first = std::lower_bound(latest.begin(), latest.end(), call);
    return first == latest.begin() ? kLongAgo
                                   : ends[static_cast<size_t>(first - latest.begin() - 1)];
  }
};

/// A wait of a stream that names its calls: what is launched after `call` is blocked until `until`.
struct CalledWait {
  uint64_t call;
  int64_t until;
};

/// As add_interval().
void add_late(std::vector<LateLaunch>& to, Interval when, uint32_t row) {
  LateLaunch& added = to.emplace_back();
  added.when.begin = when.begin;
  added.when.end = when.end;
  added.row = row;
}

class ReadyOps {
 public:
  explicit ReadyOps(DeviceOps const& device) : device_(device), rows_(device.rows()) {
    auto const tracks = device.trace().tracks();
    for (uint32_t t = 0; t < tracks.size(); ++t)
      if (tracks[t].kind == model::TrackKind::kStream)
        streams_.emplace(key(tracks[t].device, tracks[t].id), model::TrackId{t});
  }

  /// `comm`: exposed communication. `exposed`: with exposed copies.
  void find(model::IntervalSet const& comm, model::IntervalSet const& exposed) {
    for (model::TrackId const stream : device_.streams) add_stream(stream, comm, exposed);
  }
  /// Times from when an op that computes or copies was ready to its start, in any order; those that
  /// touch `comm`.
  [[nodiscard]] std::vector<Interval> take_ready() && { return std::move(ready_); }
  /// Times in which an op that computes waited for nothing but its launch, in any order,
  /// overlapping; those that touch `exposed`.
  [[nodiscard]] std::vector<LateLaunch>& late() { return late_; }
  [[nodiscard]] std::vector<ReadyCollective>& collectives() { return collectives_; }

 private:
  static uint64_t key(int32_t device, int64_t stream) {
    return static_cast<uint64_t>(static_cast<uint32_t>(device)) << 32 ^
           static_cast<uint64_t>(stream);
  }

  LaunchOrder const* order_of(model::StreamWaitDetail const& wait) {
    auto const source = streams_.find(key(wait.source_device, wait.source_stream));
    if (source == streams_.end()) return nullptr;
    return &orders_.try_emplace(source->second.value, device_, source->second).first->second;
  }

  /// Sorted by call.
  std::vector<CalledWait> called_waits(model::Trace::Rows rows) {
    std::vector<CalledWait> waits;
    model::Trace const& trace = device_.trace();
    model::for_each_row_of<EventKind::kStreamWait>(trace.columns(), rows, [&](uint32_t row) {
      if (!names_calls(row)) return;
      auto const& detail = trace.detail<model::StreamWaitDetail>(row);
      LaunchOrder const* const source = order_of(detail);
      if (source != nullptr)
        waits.push_back(
            {trace.columns().correlation[row], source->end_before(detail.source_correlation)});
    });

    std::sort(waits.begin(), waits.end(),
              [](CalledWait const& a, CalledWait const& b) { return a.call < b.call; });
    return waits;
  }
  [[nodiscard]] bool names_calls(uint32_t row) const {
    model::Trace const& trace = device_.trace();
    return trace.columns().correlation[row] != 0 &&
           trace.detail<model::StreamWaitDetail>(row).source_correlation != 0;
  }

  /// When the call returned that launched this op. None for a node of a CUDA graph: it waits for
  /// others, and no record says for which.
  [[nodiscard]] std::optional<int64_t> launched(uint32_t row) const {
    model::EventId const launch = rows_.link(row);
    if (!launch.valid() || rows_.link(launch.value).value != row || graph_of(row) != 0)
      return std::nullopt;
    return rows_.end(launch.value);
  }
  [[nodiscard]] uint32_t graph_of(uint32_t row) const {
    model::Trace const& trace = device_.trace();
    if (!trace.may_have_graphs()) return 0;
    if (trace.kind(row) == EventKind::kKernel) return trace.detail<model::KernelDetail>(row).graph;
    return trace.kind(row) == EventKind::kCollective
               ? trace.detail<model::CollectiveDetail>(row).graph
               : trace.detail<model::CopyDetail>(row).graph;
  }

  void add_stream(model::TrackId stream, model::IntervalSet const& comm,
                  model::IntervalSet const& exposed) {
    model::Trace const& trace = device_.trace();
    model::Trace::Rows const rows = trace.rows_of(stream);
    std::vector<CalledWait> const waits = called_waits(rows);
    size_t next_wait = 0;
    // On one stream these times follow one another.
    auto at_comm = comm.begin(), at_exposed = exposed.begin();
    int64_t free = kLongAgo;        // when the stream is over with all that came before
    int64_t waits_over = kLongAgo;  // when all that it waits for is over
    uint64_t const* const calls = trace.columns().correlation.data();

    for (uint32_t row = rows.first; row < rows.last; ++row) {
      Interval const when = rows_.when(row);
      if (rows_.kind(row) == EventKind::kStreamWait && !names_calls(row)) {
        free = std::max(free, when.end);
        // A wait that blocked nothing does not show since when what it waits for was over.
        if (when.length() > 0) waits_over = std::max(waits_over, when.end);
      }

      model::OpClass const op_class = rows_.op_class(row);
      if (op_class == model::OpClass::kNone) continue;
      for (; next_wait < waits.size() && waits[next_wait].call < calls[row]; ++next_wait) {
        // What still ran when the op started did not hold it.
        if (waits[next_wait].until <= when.begin)
          waits_over = std::max(waits_over, waits[next_wait].until);
      }
      free = std::max(free, waits_over);

      auto const launch_end = launched(row);
      Interval const waiting{std::max(free, launch_end.value_or(when.end)), when.begin};
      if (op_class == model::OpClass::kComm)
        collectives_.push_back(
            {when.begin, stream.value,
             std::min(when.begin, std::max(waits_over, launch_end.value_or(when.begin)))});
      if (op_class != model::OpClass::kComm && touches(waiting, at_comm, comm.end()))
        add_interval(ready_, waiting);

      Interval const unlaunched{free, std::min(launch_end.value_or(kLongAgo), when.begin)};
      if (op_class == model::OpClass::kCompute && free != kLongAgo &&
          touches(unlaunched, at_exposed, exposed.end()))
        add_late(late_, unlaunched, row);
      free = std::max(free, when.end);
    }
  }

  using Place = model::IntervalSet::const_iterator;
  /// Moves `at` to the first interval that ends behind the begin of `when`.
  static bool touches(Interval when, Place& at, Place end) {
    if (when.begin >= when.end) return false;
    while (at != end && at->end <= when.begin) ++at;
    return at != end && at->begin < when.end;
  }

  DeviceOps const& device_;
  RowView rows_;
  std::unordered_map<uint64_t, model::TrackId> streams_;
  std::unordered_map<uint32_t, LaunchOrder> orders_;
  std::vector<Interval> ready_;
  std::vector<LateLaunch> late_;
  std::vector<ReadyCollective> collectives_;
};

/// The parts of the late launches in `where`. Where several overlap, the first to begin counts, as
/// it would have hidden that time first.
std::vector<LateLaunch> pieces_in(model::IntervalSet const& where, std::vector<LateLaunch>& late) {
  auto const before = [](LateLaunch const& a, LateLaunch const& b) {
    return std::pair(a.when.begin, a.row) < std::pair(b.when.begin, b.row);
  };
  if (!std::is_sorted(late.begin(), late.end(), before))
    std::sort(late.begin(), late.end(), before);  // of one stream it is

  std::vector<LateLaunch> pieces;
  auto at = where.begin();
  int64_t taken = kLongAgo;
  for (LateLaunch const& launch : late) {
    Interval const rest{std::max(launch.when.begin, taken), launch.when.end};
    if (rest.begin >= rest.end) continue;
    while (at != where.end() && at->end <= rest.begin) ++at;
    for (auto cut = at; cut != where.end() && cut->begin < rest.end; ++cut)
      add_late(pieces, {std::max(rest.begin, cut->begin), std::min(rest.end, cut->end)},
               launch.row);
    taken = rest.end;
  }
  return pieces;
}

/// Whether the recording shows what streams waited for.
bool tells_of_waits(DeviceOps const& device) {
  model::Trace const& trace = device.trace();
  size_t working = 0;
  for (model::TrackId const stream : device.streams) {
    model::Trace::Rows const rows = trace.rows_of(stream);
    bool works = false;
    for (uint32_t row = rows.first; row < rows.last; ++row) {
      if (trace.kind(row) == EventKind::kStreamWait) return true;
      works = works || model::is_device_op(trace.kind(row));
    }
    working += works ? 1 : 0;
  }

  return working <= 1;
}

}  // namespace

Readiness find_readiness(DeviceOps const& device, DeviceSets const& sets) {
  Readiness result;
  if (sets.exposed_comm.empty()) result.blocking_comm.emplace();
  if ((sets.exposed_comm.empty() && sets.exposed_copy.empty()) || !tells_of_waits(device))
    return result;

  model::IntervalSet const exposed = model::unite(sets.exposed_comm, sets.exposed_copy);
  ReadyOps ops(device);
  ops.find(sets.exposed_comm, exposed);
  result.late_launches = pieces_in(exposed, ops.late());
  result.collectives = std::move(ops.collectives());
  std::sort(result.collectives.begin(), result.collectives.end());
  result.blocking_comm =
      model::subtract(sets.exposed_comm, model::unite(std::move(ops).take_ready()));
  return result;
}

}  // namespace stepscope::analyzer
