#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>
#include <utility>

#include "viewer/event_store/in_memory/in_memory_questions.h"
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

RangeStatistics statistics_in_memory(Scene const& scene, TimeWindow range,
                                     std::stop_token const& stop) {
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
  return result;
}

std::vector<int64_t> durations_in_memory(Scene const& scene, HistogramKey const& key,
                                         std::stop_token const& stop) {
  std::vector<int64_t> durations;
  if (key.ref.rank_index < 0 || static_cast<size_t>(key.ref.rank_index) >= scene.run.ranks.size())
    return durations;

  model::Trace const& trace = scene.trace(static_cast<uint32_t>(key.ref.rank_index));
  std::vector<char> wanted(trace.strings().size());
  for (uint32_t id = 0; id < wanted.size(); ++id)
    wanted[id] = printable_name(trace.text(model::StringId{id})) == key.name ? 1 : 0;

  auto const& columns = trace.columns();
  for (uint32_t t = 0; t < trace.tracks().size(); ++t) {
    if (trace.tracks()[t].kind != model::TrackKind::kStream ||
        trace.tracks()[t].device != key.ref.device)
      continue;
    if (stop.stop_requested()) return {};
    auto const rows = trace.rows_of(model::TrackId{t});
    for (uint32_t row = rows.first; row < rows.last; ++row)
      if (wanted[columns.name[row].value] != 0 && model::is_device_op(columns.kind[row]))
        durations.push_back(columns.dur[row]);
  }
  return durations;
}

}  // namespace stepscope::viewer
