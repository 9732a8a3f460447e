#include "viewer/event_store/out_of_core/statistics.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <unordered_map>
#include <utility>

#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include "trace/model/intervals.h"
#include "viewer/event_store/out_of_core/block_scan.h"
#include "viewer/event_store/out_of_core/out_of_core_run.h"
#include "viewer/event_store/out_of_core/out_of_core_store.h"
#include "viewer/widgets/text.h"

namespace stepscope::viewer {
namespace {

uint64_t device_kinds() {
  uint64_t kinds = 0;
  for (int kind = 0; kind < model::kKindCount; ++kind)
    if (model::is_device_op(static_cast<model::EventKind>(kind))) kinds |= uint64_t{1} << kind;
  return kinds;
}

/// What the range has of one device.
struct DeviceSums {
  RangeStatistics::DeviceSplit split;
  std::unordered_map<uint32_t, RangeStatistics::Op>
      ops;  ///< by id of the file's texts; without names
  uint64_t op_count = 0;
};

void add_set(DeviceSums& sums, Paint paint, model::IntervalSet const& set) {
  int64_t const time = model::measure(set);
  sums.split.time[static_cast<size_t>(paint)] += time;
  sums.split.outside -= time;
}

/// Idle time by its causes; before the analysis is there, all that is not busy has none.
void add_idle(Scene const& scene, Node const& node, analyzer::Interval view,
              RangeStatistics::DeviceSplit& split) {
  if (!scene.has_analysis()) {
    split.time[static_cast<size_t>(Paint::kUnexplained)] = split.outside;
    split.idle = split.outside;
    split.outside = 0;
    return;
  }

  analyzer::DeviceGaps const* const gaps =
      node.device ? scene.analysis.gaps.of(scene.analysis.devices[*node.device].ref) : nullptr;
  if (gaps == nullptr) return;

  analyzer::Interval const range{add(view.begin, scene.origin), add(view.end, scene.origin)};
  for (size_t i = gaps->exponential_search(range.begin); i < gaps->size(); ++i) {
    analyzer::Interval const when = gaps->when(i);
    if (when.begin >= range.end) break;
    int64_t const inside = std::min(when.end, range.end) - std::max(when.begin, range.begin);
    split.time[static_cast<size_t>(paint_of(gaps->cause(i)))] += inside;
    split.idle += inside;
    split.outside -= inside;
  }
}

DeviceSums sums_of(Scene const& scene, uint32_t index, analyzer::Interval view,
                   ScanBuffers& buffers, std::stop_token const& stop) {
  Node const& node = scene.nodes[index];
  import::TraceSource const& source = out_of_core_run(scene).sources().ranks[node.rank].source;
  int64_t const back = add(~scene.shift(node.rank), 1);
  ScanWindow const window{add(view.begin, back), add(view.end, back), device_kinds()};

  DeviceSums sums;
  sums.split.node = index;
  sums.split.outside = view.length();
  BusyTimeBuilder ops;
  for (uint32_t const track : node.streams)
    for (file::IndexEntry const& block : blocks_of(source, track, window)) {
      if (stop.stop_requested()) return sums;
      scan_block(source, block, window, buffers, [&](ScannedEvent const& event) {
        model::Interval const inside{std::max(event.start, window.begin),
                                     std::min(event.start + event.dur, window.end)};
        ops.add(model::kind_info(event.kind).op_class, inside);

        RangeStatistics::Op& sum = sums.ops[event.name];
        sum.paint = paint_of(event.kind);
        ++sum.count;
        sum.total += inside.length();
        ++sums.op_count;
      });
    }

  BusyTime const busy = std::move(ops).finish();
  add_set(sums, Paint::kCompute, busy.compute);
  add_set(sums, Paint::kCommunication, busy.exposed_comm);
  add_set(sums, Paint::kCopy, busy.exposed_copy);
  add_idle(scene, node, view, sums.split);
  return sums;
}

}  // namespace

RangeStatistics statistics_of_files(Scene const& scene, TimeWindow range,
                                    std::stop_token const& stop) {
  RangeStatistics result;

  result.range = range;
  result.are_threads_known = false;
  auto const length = static_cast<double>(scene.length);
  analyzer::Interval const view{
      static_cast<int64_t>(std::clamp(std::round(range.begin), 0.0, length)),
      static_cast<int64_t>(std::clamp(std::round(range.end), 0.0, length))};

  std::vector<uint32_t> devices;
  for (uint32_t i = 0; i < scene.nodes.size(); ++i)
    if (scene.nodes[i].kind == NodeKind::kDevice) devices.push_back(i);

  std::vector<DeviceSums> sums(devices.size());
  tbb::enumerable_thread_specific<ScanBuffers> buffers;
  tbb::parallel_for(size_t{0}, devices.size(), [&](size_t i) {
    if (!stop.stop_requested()) sums[i] = sums_of(scene, devices[i], view, buffers.local(), stop);
  });

  // Names are numbered per file: joined by text.
  std::unordered_map<std::string, RangeStatistics::Op> joined;
  for (size_t i = 0; i < devices.size() && !stop.stop_requested(); ++i) {
    result.devices.push_back(sums[i].split);
    result.op_count += sums[i].op_count;
    auto const texts =
        out_of_core_run(scene).sources().ranks[scene.nodes[devices[i]].rank].source.file()->texts();

    for (auto const& [id, op] : sums[i].ops) {
      std::string name = printable_name(id < texts.size() ? texts[id] : std::string_view());
      RangeStatistics::Op& into = joined[name];
      into.name = std::move(name);
      into.paint = op.paint;
      into.count += op.count;
      into.total += op.total;
    }
  }

  for (auto& [name, op] : joined) result.ops.push_back(std::move(op));
  return result;
}

std::vector<int64_t> durations_in_files(Scene const& scene, HistogramKey const& key,
                                        std::stop_token const& stop) {
  std::vector<int64_t> durations;
  if (key.ref.rank_index < 0 || static_cast<size_t>(key.ref.rank_index) >= scene.run.ranks.size())
    return durations;

  auto const rank = static_cast<uint32_t>(key.ref.rank_index);
  import::TraceSource const& source = out_of_core_run(scene).sources().ranks[rank].source;
  auto const texts = source.file()->texts();
  std::vector<char> wanted(texts.size() + 1);  // the last: of names that are not known
  for (size_t id = 0; id < texts.size(); ++id)
    wanted[id] = printable_name(texts[id]) == key.name ? 1 : 0;

  ScanBuffers buffers;
  ScanWindow const window{.kinds = device_kinds()};
  for (uint32_t track = 0; track < source.tracks().size(); ++track) {
    model::Track const& of = source.tracks()[track];
    if (of.kind != model::TrackKind::kStream || of.device != key.ref.device) continue;
    for (file::IndexEntry const& block : blocks_of(source, track, window)) {
      if (stop.stop_requested()) return {};
      scan_named(
          source, block, window, {wanted}, buffers,
          [&](ScannedEvent const& event) { durations.push_back(event.dur); }, [](size_t) {});
    }
  }
  return durations;
}

}  // namespace stepscope::viewer
