#include "analyzer/facts/blocking_comm.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace stepscope::analyzer {
namespace {

using model::EventKind;

constexpr int64_t kLongAgo = std::numeric_limits<int64_t>::min();

/// A stream's ops in the order in which they were launched.
struct LaunchOrder {
  std::vector<uint64_t> latest;  ///< the highest correlation up to each op
  std::vector<int64_t> ends;     ///< beside it: the latest end up to it
  LaunchOrder(DeviceIndex const& device, model::TrackId stream) {
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
    return first == latest.begin() ? kLongAgo : ends[static_cast<size_t>(first - latest.begin() - 1)];
  }
};

/// A wait of a stream that names its calls: what is launched after `call` is held until `until`.
struct CalledWait {
  uint64_t call;
  int64_t until;
};

class ReadyOps {
 public:
  explicit ReadyOps(DeviceIndex const& device) : device_(device) {
    auto const tracks = device.trace().tracks();
    for (uint32_t t = 0; t < tracks.size(); ++t)
      if (tracks[t].kind == model::TrackKind::kStream) streams_.emplace(key(tracks[t].device, tracks[t].id), model::TrackId{t});
  }

  /// Times from when an op that computes or copies was ready to its start, in any order; those that touch one of `where`.
  std::vector<Interval> find(model::IntervalSet const& where) {
    std::vector<Interval> result;
    for (model::TrackId const stream : device_.streams) add_stream(stream, where, result);
    return result;
  }

 private:
  static uint64_t key(int32_t device, int64_t stream) {
    return static_cast<uint64_t>(static_cast<uint32_t>(device)) << 32 ^ static_cast<uint64_t>(stream);
  }

  LaunchOrder const* order_of(model::StreamWaitDetail const& wait) {
    auto const source = streams_.find(key(wait.source_device, wait.source_stream));
    if (source == streams_.end()) return nullptr;
    return &orders_.try_emplace(source->second.value, device_, source->second).first->second;
  }

  /// By call.
  std::vector<CalledWait> called_waits(model::Trace::Rows rows) {
    std::vector<CalledWait> waits;
    model::Trace const& trace = device_.trace();
    for (uint32_t row = rows.first; row < rows.last; ++row) {
      if (trace.kind(row) != EventKind::kStreamWait || !names_calls(row)) continue;
      auto const& detail = trace.detail<model::StreamWaitDetail>(row);
      LaunchOrder const* const source = order_of(detail);
      if (source != nullptr) waits.push_back({trace.columns().correlation[row], source->end_before(detail.source_correlation)});
    }
    std::sort(waits.begin(), waits.end(), [](CalledWait const& a, CalledWait const& b) { return a.call < b.call; });
    return waits;
  }
  [[nodiscard]] bool names_calls(uint32_t row) const {
    model::Trace const& trace = device_.trace();
    return trace.columns().correlation[row] != 0 && trace.detail<model::StreamWaitDetail>(row).source_correlation != 0;
  }

  /// When the call returned that launched this op; none where that does not say when it could start: a node of a CUDA graph waits
  /// for others, and which is not recorded.
  [[nodiscard]] std::optional<int64_t> launched(uint32_t row) const {
    auto const launch = device_.launch_of(row);
    if (!launch || graph_of(row) != 0 || device_.trace().columns().link[*launch].value != row) return std::nullopt;
    return device_.end(*launch);
  }
  [[nodiscard]] uint32_t graph_of(uint32_t row) const {
    model::Trace const& trace = device_.trace();
    if (trace.kind(row) == EventKind::kKernel) return trace.detail<model::KernelDetail>(row).graph;
    return trace.kind(row) == EventKind::kCollective ? 0 : trace.detail<model::CopyDetail>(row).graph;
  }

  void add_stream(model::TrackId stream, model::IntervalSet const& where, std::vector<Interval>& result) {
    model::Trace const& trace = device_.trace();
    model::Trace::Rows const rows = trace.rows_of(stream);
    std::vector<CalledWait> const waits = called_waits(rows);
    size_t next_wait = 0;
    auto at = where.begin();
    int64_t free = kLongAgo;  // when the stream is over with all that came before
    for (uint32_t row = rows.first; row < rows.last; ++row) {
      EventKind const kind = trace.kind(row);
      if (kind == EventKind::kStreamWait && !names_calls(row)) free = std::max(free, device_.end(row));
      if (!model::is_device_op(kind)) continue;
      uint64_t const call = trace.columns().correlation[row];
      for (; next_wait < waits.size() && waits[next_wait].call < call; ++next_wait) {
        // What still ran when the op started did not hold it.
        if (waits[next_wait].until <= device_.start(row)) free = std::max(free, waits[next_wait].until);
      }
      auto const launch_end = launched(row);
      bool const is_other = model::kind_info(kind).op_class != model::OpClass::kComm;
      Interval const waiting{std::max(free, launch_end.value_or(device_.end(row))), device_.start(row)};
      if (is_other && waiting.begin < waiting.end) {
        // On one stream these times follow one another.
        while (at != where.end() && at->end <= waiting.begin) ++at;
        if (at != where.end() && at->begin < waiting.end) result.push_back(waiting);
      }
      free = std::max(free, device_.end(row));
    }
  }

  DeviceIndex const& device_;
  std::unordered_map<uint64_t, model::TrackId> streams_;
  std::unordered_map<uint32_t, LaunchOrder> orders_;
};

/// Whether it can be known what streams waited for.
bool tells_of_waits(DeviceIndex const& device) {
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

std::optional<model::IntervalSet> find_blocking_comm(DeviceIndex const& device, model::IntervalSet const& exposed_comm) {
  if (exposed_comm.empty()) return model::IntervalSet{};
  if (!tells_of_waits(device)) return std::nullopt;
  return model::subtract(exposed_comm, model::unite(ReadyOps(device).find(exposed_comm)));
}

}  // namespace stepscope::analyzer
