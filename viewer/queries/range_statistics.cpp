#include "viewer/queries/range_statistics.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "viewer/event_store/out_of_core/statistics.h"
#include "viewer/queries/host_activity.h"
#include "viewer/widgets/text.h"

namespace stepscope::viewer {
namespace {

RangeStatistics::DeviceSplit split_of(Scene const& scene, uint32_t index, int64_t begin,
                                      int64_t end) {
  auto const& segments = scene.nodes[index].segments;
  RangeStatistics::DeviceSplit split;
  split.node = index;
  split.outside = end - begin;
  auto segment = std::partition_point(segments.begin(), segments.end(),
                                      [&](Segment const& s) { return s.end <= begin; });
  for (; segment != segments.end() && segment->begin < end; ++segment) {
    int64_t const inside = std::min(segment->end, end) - std::max(segment->begin, begin);
    split.time[static_cast<size_t>(segment->paint)] += inside;
    split.outside -= inside;
    if (segment->gap) split.idle += inside;
  }
  return split;
}

/// Adds the ops of a rank's streams, by name.
void add_ops(Scene const& scene, Node const& node, int64_t begin, int64_t end,
             std::unordered_map<uint32_t, RangeStatistics::Op>& by_name, uint64_t& op_count) {
  model::Trace const& trace = scene.trace(node.rank);
  auto const& columns = trace.columns();
  int64_t const shift = scene.shift(node.rank);
  for (Lane const& lane : node.lanes) {
    auto row = std::partition_point(lane.rows.begin(), lane.rows.end(),
                                    [&](uint32_t r) { return trace.end(r) + shift <= begin; });
    for (; row != lane.rows.end() && columns.start[*row] + shift < end; ++row) {
      if (!model::is_device_op(columns.kind[*row])) continue;
      RangeStatistics::Op& op = by_name[columns.name[*row].value];
      op.paint = paint_of(columns.kind[*row]);
      op.count += 1;
      op.total +=
          std::min(trace.end(*row) + shift, end) - std::max(columns.start[*row] + shift, begin);
      ++op_count;
    }
  }
}

}  // namespace

RangeStatistics range_statistics(Scene const& scene, TimeWindow range,
                                 std::stop_token const& stop) {
  if (scene.far) return statistics_of_files(scene, range, stop);
  RangeStatistics result;
  result.range = range;
  auto const length = static_cast<double>(scene.length);
  auto const begin = static_cast<int64_t>(std::clamp(std::round(range.begin), 0.0, length));
  auto const end = static_cast<int64_t>(std::clamp(std::round(range.end), 0.0, length));
  // Names are interned per trace: joined by text over the ranks.
  std::unordered_map<std::string, RangeStatistics::Op> joined;
  std::unordered_map<uint32_t, RangeStatistics::Op> by_name;
  for (uint32_t i = 0; i < scene.nodes.size(); ++i) {
    if (stop.stop_requested()) break;
    Node const& node = scene.nodes[i];
    if (node.kind == NodeKind::kDevice) result.devices.push_back(split_of(scene, i, begin, end));
    if (node.kind == NodeKind::kStream) add_ops(scene, node, begin, end, by_name, result.op_count);
    bool const rank_ends = i + 1 == scene.nodes.size() || scene.nodes[i + 1].rank != node.rank;
    if (!rank_ends) continue;
    for (auto& [id, op] : by_name) {
      std::string name = printable_name(scene.trace(node.rank).text(model::StringId{id}));
      RangeStatistics::Op& into = joined[name];
      into.name = std::move(name);
      into.paint = op.paint;
      into.count += op.count;
      into.total += op.total;
    }
    by_name.clear();
  }
  for (auto& [name, op] : joined) result.ops.push_back(std::move(op));
  if (result.devices.empty()) add_host_statistics(scene, begin, end, result, stop);
  std::sort(result.ops.begin(), result.ops.end(), [](auto const& a, auto const& b) {
    return a.total != b.total ? a.total > b.total : a.name < b.name;
  });
  if (result.ops.size() > kMaxOps) result.ops.resize(kMaxOps);
  return result;
}

}  // namespace stepscope::viewer
