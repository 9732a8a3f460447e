#include "analyzer/metrics/critical_path/dependency_graph_streams.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>

namespace stepscope::analyzer {

OpBuckets::OpBuckets(std::vector<uint32_t> const& ops, std::vector<uint32_t> const& bucket_of,
                     size_t count)
    : begins_(count + 2), ops_(ops.size()) {
  // begins_[b + 1] runs from the begin of bucket b to its end while the bucket is filled.
  for (uint32_t const op : ops) ++begins_[bucket_of[op] + 2];
  std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
  for (uint32_t const op : ops) ops_[begins_[bucket_of[op] + 1]++] = op;
}

StreamOps::StreamOps(std::span<DeviceOps const> devices, DependencyGraph const& graph)
    : devices_(devices), ops_(graph.ops) {
  auto const tracks = devices.front().trace().tracks();
  for (DeviceOps const& device : devices)
    for (model::TrackId const stream : device.streams)
      streams_.push_back({device.ref.device, tracks[stream.value].id, stream.value});
  std::sort(streams_.begin(), streams_.end());

  std::vector<uint32_t> device_of_op(ops_.size()), stream_of_op(ops_.size()), numbers(ops_.size());
  std::iota(numbers.begin(), numbers.end(), 0U);
  for (uint32_t const op : numbers) {
    stream_of_op[op] = ops_[op].stream;
    device_of_op[op] = graph.device_of_stream[ops_[op].stream];
  }

  order_by_end(device_of_op);
  in_order_.emplace(numbers, stream_of_op, tracks.size());
  of_device_.emplace(by_end_, device_of_op, devices.size());
  of_stream_.emplace(by_end_, stream_of_op, tracks.size());
  latest_calls_.resize(tracks.size());
}

/// Ops come by start, so that those which have ended when one starts end before all that follow:
/// only the open ones are sorted.
void StreamOps::order_by_end(std::vector<uint32_t> const& device_of_op) {
  using Ending = std::pair<int64_t, uint32_t>;
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> open;
  std::vector<uint32_t> last(devices_.size(), kNoNode);
  by_end_.reserve(ops_.size());
  ended_before_.reserve(ops_.size());

  auto const close_first = [&] {
    uint32_t const op = open.top().second;
    last[device_of_op[op]] = op;
    by_end_.push_back(op);
    open.pop();
  };

  for (uint32_t op = 0; op < ops_.size(); ++op) {
    while (!open.empty() && open.top().first <= ops_[op].start) close_first();
    ended_before_.push_back(last[device_of_op[op]]);
    if (ops_[op].start < ops_[op].end) open.push({ops_[op].end, op});
  }
  while (!open.empty()) close_first();
}

uint32_t StreamOps::last_ended(SyncScope scope, uint32_t scope_number, int64_t instant) const {
  std::span<uint32_t const> all = by_end_;
  if (scope == SyncScope::kDevice) all = of_device_->of(scope_number);
  if (scope == SyncScope::kStream) all = of_stream_->of(scope_number);
  auto const after = std::partition_point(all.begin(), all.end(),
                                          [&](uint32_t op) { return ops_[op].end <= instant; });
  return after == all.begin() ? kNoNode : *std::prev(after);
}

std::vector<uint64_t> const& StreamOps::latest_calls(uint32_t stream) {
  std::vector<uint64_t>& latest = latest_calls_[stream];
  std::span<uint32_t const> const all = in_order_->of(stream);
  if (latest.empty() && !all.empty()) {
    auto const& correlation = devices_.front().trace().columns().correlation;
    uint64_t highest = 0;
    for (uint32_t const op : all)
      latest.push_back(highest = std::max(highest, correlation[ops_[op].row]));
  }
  return latest;
}

uint32_t StreamOps::last_before_call(uint32_t stream, uint64_t correlation) {
  std::vector<uint64_t> const& latest = latest_calls(stream);
  auto const first = std::lower_bound(latest.begin(), latest.end(), correlation);
  return first == latest.begin()
             ? kNoNode
             : in_order_->of(stream)[static_cast<size_t>(first - latest.begin() - 1)];
}

uint32_t StreamOps::first_after_call(uint32_t stream, uint64_t correlation) {
  std::vector<uint64_t> const& latest = latest_calls(stream);
  auto const first = std::upper_bound(latest.begin(), latest.end(), correlation);
  return first == latest.end() ? kNoNode
                               : in_order_->of(stream)[static_cast<size_t>(first - latest.begin())];
}

uint32_t StreamOps::first_behind(uint32_t stream, uint32_t row) const {
  std::span<uint32_t const> const all = in_order_->of(stream);
  auto const first =
      std::partition_point(all.begin(), all.end(), [&](uint32_t op) { return ops_[op].row < row; });
  return first == all.end() ? kNoNode : *first;
}

std::optional<uint32_t> StreamOps::stream(int32_t device, int64_t id) const {
  auto const at = std::lower_bound(streams_.begin(), streams_.end(), Named{device, id, 0});
  return at != streams_.end() && at->device == device && at->id == id ? std::optional(at->track)
                                                                      : std::nullopt;
}

std::optional<uint32_t> StreamOps::device(int32_t id) const {
  auto const at = std::lower_bound(devices_.begin(), devices_.end(), id,
                                   [](DeviceOps const& d, int32_t i) { return d.ref.device < i; });
  if (at == devices_.end() || at->ref.device != id) return std::nullopt;
  return static_cast<uint32_t>(at - devices_.begin());
}

namespace {

/// A wait whose calls are known holds the ops launched behind it. It ends when the ops launched
/// before the event was recorded are over. Any other wait has only its end.
PathWait resolve_wait(DeviceOps const& device, uint32_t row, StreamOps& streams) {
  model::Trace const& trace = device.trace();
  auto const& detail = trace.detail<model::StreamWaitDetail>(row);
  uint32_t const waiting_stream = trace.columns().track[row].value;
  uint64_t const call = trace.columns().correlation[row];

  PathWait wait{kNoNode, kNoNode};
  auto const source = streams.stream(detail.source_device, detail.source_stream);

  if (call != 0 && detail.source_correlation != 0) {
    wait.op = streams.first_after_call(waiting_stream, call);
    if (source) wait.source = streams.last_before_call(*source, detail.source_correlation);
    return wait;
  }

  wait.op = streams.first_behind(waiting_stream, row);
  auto const source_device = streams.device(detail.source_device);
  if (source && detail.source_stream >= 0)
    wait.source = streams.last_ended(SyncScope::kStream, *source, device.end(row));
  else if (source_device && detail.source_stream < 0)
    wait.source = streams.last_ended(SyncScope::kDevice, *source_device, device.end(row));
  return wait;
}

}  // namespace

std::vector<PathWait> find_stream_waits(std::span<DeviceOps const> devices, StreamOps& streams,
                                        std::vector<GraphOp> const& ops) {
  std::vector<PathWait> waits;
  for (DeviceOps const& device : devices) {
    for (model::TrackId const stream : device.streams) {
      model::Trace::Rows const rows = device.trace().rows_of(stream);
      for (uint32_t row = rows.first; row < rows.last; ++row) {
        if (device.trace().kind(row) != model::EventKind::kStreamWait) continue;
        PathWait const wait = resolve_wait(device, row, streams);
        if (wait.op == kNoNode || wait.source == kNoNode) continue;

        // What still ran, or had not begun, held nothing.
        if (ops[wait.source].start < ops[wait.op].start &&
            ops[wait.source].end <= ops[wait.op].start)
          waits.push_back(wait);
      }
    }
  }

  std::sort(waits.begin(), waits.end(), [](PathWait const& a, PathWait const& b) {
    return std::pair(a.op, a.source) < std::pair(b.op, b.source);
  });
  return waits;
}

}  // namespace stepscope::analyzer
