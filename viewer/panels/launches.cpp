#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>
#include <imgui.h>

#include "trace/base/format.h"
#include "trace/model/details.h"
#include "viewer/interaction/navigate.h"
#include "viewer/interaction/track_finder.h"
#include "viewer/panels/common/panel.h"
#include "viewer/queries/device_rows.h"
#include "viewer/timeline/describe.h"
#include "viewer/widgets/stat_table.h"
#include "viewer/widgets/text.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

enum LaunchColumn : size_t {
  kLaunchDevice,
  kCallsPerStep,
  kLatency,
  kLatencyP95,
  kLatencyMost,
  kCallTime,
  kKernelTime,
  kQueue,
  kQueueMost,
  kQueueEmpty,
  kEarly,
  kByGraphs,
  kLaunchColumns
};
constexpr std::array<FactColumn, kLaunchColumns> kLaunchTable = {
    {{"Device", "", 0, 0},
     {"A step", "Launch calls a step", 52, 0},
     {"Latency",
      "Median: start of the operation − end of its launch call; with waiting in a full queue", 62,
      0},
     {"95 %", "95th percentile of the latency", 62, 2},
     {"Longest", "Longest latency", 62, 6},
     {"Call", "Median time that the host is in one launch call", 62, 5},
     {"Kernel", "Median time of a kernel: below that of a launch call the host cannot keep up", 62,
      3},
     {"Queue", "Launched operations that have not started: mean over the time", 48, 1},
     {"Most", "Most launched operations that have not started, at any time", 48, 7},
     {"Empty", "Share of the time in which nothing waits to run: the host is hardly ahead", 56, 0},
     {"Early", "Operations that start before their call has returned", 52, 8},
     {"Graphs", "Share of the device's summed operation time that CUDA graphs launched", 56, 4}}};

double launch_value(analyzer::LaunchStats const& launch, size_t column) {
  auto const of_queue = [&](auto const& value) {
    return launch.queue ? static_cast<double>(value(*launch.queue)) : std::nan("");
  };
  switch (column) {
    case kCallsPerStep:
      return value_of(launch.calls_per_step);
    case kLatency:
      return value_of(launch.latency_median_ns);
    case kLatencyP95:
      return value_of(launch.latency_p95_ns);
    case kLatencyMost:
      return value_of(launch.latency_max_ns);
    case kCallTime:
      return value_of(launch.call_median_ns);
    case kKernelTime:
      return value_of(launch.kernel_median_ns);
    case kQueue:
      return of_queue([](auto const& queue) { return queue.mean_depth; });
    case kQueueMost:
      return of_queue([](auto const& queue) { return queue.max_depth; });
    case kQueueEmpty:
      return of_queue([](auto const& queue) { return queue.empty_share; });
    case kEarly:
      return launch.negative_latencies > 0 ? static_cast<double>(launch.negative_latencies)
                                           : std::nan("");
    case kByGraphs:
      return value_of(launch.graph_share);
    default:
      return 0;
  }
}

std::string launch_text(double value, size_t column) {
  switch (column) {
    case kCallsPerStep:
    case kQueue:
      return mean_words(value);
    case kQueueMost:
    case kEarly:
      return count_words(value);
    case kQueueEmpty:
    case kByGraphs:
      return base::format_share(value);
    default:
      return duration_words(value);
  }
}

void launch_table(Scene const& scene, ViewState& state, float rows_height) {
  auto const& devices = scene.analysis.devices;
  bool const any = std::any_of(devices.begin(), devices.end(),
                               [](auto const& device) { return device.launch.calls > 0; });
  if (!any) {
    heading("Launches");
    empty_state(
        "The recording has no launch calls of device operations. Record with stepscope record, "
        "with PyTorch's profiler and activities=[CPU, CUDA], or with nsys profile "
        "--trace=cuda,nvtx.",
        state.theme);
    return;
  }

  FactTable table;
  table.id = "launches";
  table.columns = kLaunchTable;
  table.rows = devices.size();

  table.name = [&](size_t row) { return describe(scene, devices[row].ref); };
  table.value = [&](size_t row, size_t column) {
    return launch_value(devices[row].launch, column);
  };
  table.text = [&](size_t row, size_t column) {
    return launch_text(launch_value(devices[row].launch, column), column);
  };
  table.more = [&](size_t row) {
    return base::format_count(devices[row].launch.calls, "launch call");
  };

  table.chosen = state.device;
  if (auto const clicked = fact_table(table, state.theme))
    go_to_device(state, scene, static_cast<uint32_t>(*clicked), rows_height);
}

enum CopyColumn : size_t {
  kDirection,
  kCopies,
  kBytes,
  kCopyTime,
  kBandwidth,
  kSmall,
  kPageable,
  kBlocking,
  kBothWays,
  kCopyColumns
};
constexpr std::array<FactColumn, kCopyColumns> kCopyTable = {
    {{"Copies", "", 0, 0},
     {"Count", "", 52, 0},
     {"Bytes", "", 66, 0},
     {"Time", "Sum of their durations", 62, 2},
     {"Rate", "Bytes / time; GB = 1e9 bytes", 72, 0},
     {"Small", "Copies of fewer than 64 KiB: they cost their start, not their bytes", 52, 1},
     {"Pageable", "Copies of host memory that is not page-locked, where it was recorded", 60, 0},
     {"Blocking", "The host waited for them", 60, 0},
     {"Both ways", "Time in which the other direction between host and device was copied, too", 66,
      3}}};

double copy_value(analyzer::CopyStats const& copies, size_t column) {
  switch (column) {
    case kCopies:
      return static_cast<double>(copies.count);
    case kBytes:
      return static_cast<double>(copies.bytes);
    case kCopyTime:
      return static_cast<double>(copies.total_ns);
    case kBandwidth:
      return value_of(copies.gbps);
    case kSmall:
      return static_cast<double>(copies.small_count);
    case kPageable:
      return value_of(copies.pageable_count);
    case kBlocking:
      return static_cast<double>(copies.blocking_count);
    case kBothWays:
      return copies.both_ways_ns > 0 ? static_cast<double>(copies.both_ways_ns) : std::nan("");
    default:
      return 0;
  }
}

std::string copy_text(analyzer::CopyStats const& copies, size_t column) {
  double const value = copy_value(copies, column);
  switch (column) {
    case kBytes:
      return base::format_bytes(copies.bytes);
    case kBandwidth:
      return base::format_bandwidth(value * 1e9);
    case kCopyTime:
    case kBothWays:
      return duration_words(value);
    default:
      return count_words(value);
  }
}

/// The job's number of a device's process, as the search has it.
int32_t rank_of(Scene const& scene, analyzer::DeviceRef ref) {
  return scene.trace(static_cast<uint32_t>(ref.rank_index)).info().rank;
}

void copy_table(Scene const& scene, ViewState& state, analyzer::DeviceRef ref) {
  auto const rows = facts_of(scene.analysis.copies, ref);
  if (rows.empty()) {
    heading("Copies");
    empty_state("No copies of this device were recorded.", state.theme);
    return;
  }

  FactTable table;
  table.id = "copies";
  table.columns = kCopyTable;
  table.rows = rows.size();
  table.name = [&](size_t row) { return std::string(model::to_string(rows[row].direction)); };
  table.value = [&](size_t row, size_t column) { return copy_value(rows[row], column); };
  table.text = [&](size_t row, size_t column) { return copy_text(rows[row], column); };

  table.more = [&](size_t row) {
    analyzer::CopyStats const& copies = rows[row];
    std::string words =
        fmt::format("{} small", count_words(static_cast<double>(copies.small_count)));
    if (copies.pageable_bytes)
      words += fmt::format(", {} of pageable memory", base::format_bytes(*copies.pageable_bytes));
    return words + "\nclick: search for the copies of this rank";
  };

  table.height = -1;
  if (fact_table(table, state.theme))
    search_for(state, fmt::format("kind:memcpy rank:{}", rank_of(scene, ref)));
}

enum LongestColumn : size_t { kLongestTrack, kLongestBegin, kLongestTime, kLongestColumns };
constexpr std::array<FactColumn, kLongestColumns> kLongestTable = {
    {{"Longest copies", "", 0, 0},
     {"Begin", "Since the begin of the run", 90, 0},
     {"Time", "", 66, 0}}};

void longest_table(Scene const& scene, ViewState& state, analyzer::DeviceStats const& device,
                   float rows_height) {
  auto const& copies = device.longest_copies;
  if (copies.empty()) return;
  auto const rank = static_cast<uint32_t>(device.ref.rank_index);

  FactTable table;
  table.id = "longest copies";
  table.columns = kLongestTable;
  table.rows = copies.size();

  table.name = [&](size_t row) {
    auto const node = scene.node_of_track(rank, copies[row].track);
    return node ? scene.nodes[*node].label : std::string("copy");
  };
  table.value = [&](size_t row, size_t column) {
    analyzer::Interval const when = copies[row].when;
    return static_cast<double>(column == kLongestBegin ? scene.to_view(when.begin) : when.length());
  };
  table.text = [&](size_t row, size_t column) {
    analyzer::Interval const when = copies[row].when;
    if (column == kLongestTime) return base::format_duration(when.length());
    return format_time(static_cast<double>(scene.to_view(when.begin)), 1000);
  };

  table.height = -1;
  if (auto const clicked = fact_table(table, state.theme))
    show_place(state, scene, {device.ref, copies[*clicked].when, copies[*clicked].track},
               rows_height);
}

enum GraphColumn : size_t {
  kGraphName,
  kGraphLaunches,
  kGraphOps,
  kGraphNodes,
  kGraphTime,
  kGraphLaunchTime,
  kGraphGaps,
  kGraphColumns
};
constexpr std::array<FactColumn, kGraphColumns> kGraphTable = {
    {{"CUDA graphs", "", 0, 0},
     {"Launches", "", 60, 0},
     {"Ops", "Device operations", 56, 0},
     {"Nodes", "Different ones among them", 52, 2},
     {"Time", "Sum of the operations' durations", 66, 0},
     {"A launch", "Time / launches", 66, 1},
     {"Gaps", "Time within launches in which no operation of the launch ran", 66, 0}}};

double graph_value(analyzer::GraphStats const& graph, size_t column) {
  switch (column) {
    case kGraphLaunches:
      return static_cast<double>(graph.launches);
    case kGraphOps:
      return static_cast<double>(graph.ops);
    case kGraphNodes:
      return value_of(graph.nodes);
    case kGraphTime:
      return static_cast<double>(graph.total_ns);
    case kGraphLaunchTime:
      return graph.launches > 0
                 ? static_cast<double>(graph.total_ns) / static_cast<double>(graph.launches)
                 : std::nan("");
    case kGraphGaps:
      return static_cast<double>(graph.gap_ns);
    default:
      return 0;
  }
}

void graph_table(Scene const& scene, ViewState const& state, analyzer::DeviceRef ref) {
  auto const rows = facts_of(scene.analysis.graphs, ref);
  if (rows.empty()) {
    text_coloured("No CUDA graph launched anything here.", surface(state.theme).text_dim);
    return;
  }

  FactTable table;
  table.id = "graphs";
  table.columns = kGraphTable;
  table.rows = rows.size();
  table.name = [&](size_t row) {
    return rows[row].graph == 0 ? "further ones" : fmt::format("graph {}", rows[row].graph);
  };

  table.value = [&](size_t row, size_t column) { return graph_value(rows[row], column); };
  table.text = [&](size_t row, size_t column) {
    double const value = graph_value(rows[row], column);
    return column >= kGraphTime ? duration_words(value) : count_words(value);
  };
  table.can_click = false;
  table.height = -1;
  fact_table(table, state.theme);
}

enum StreamColumn : size_t {
  kStreamName,
  kStreamLaunches,
  kStreamQueue,
  kStreamMost,
  kStreamEmpty,
  kStreamColumns
};
constexpr std::array<FactColumn, kStreamColumns> kStreamTable = {
    {{"Queues by stream", "", 0, 0},
     {"Launches", "", 60, 0},
     {"Queue", "Launched operations that have not started: mean over the time", 56, 0},
     {"Most", "At any time", 52, 0},
     {"Empty", "Share of the time in which nothing waits to run", 60, 0}}};

double stream_value(analyzer::StreamQueue const& stream, size_t column) {
  switch (column) {
    case kStreamLaunches:
      return static_cast<double>(stream.launches);
    case kStreamQueue:
      return stream.queue.mean_depth;
    case kStreamMost:
      return static_cast<double>(stream.queue.max_depth);
    case kStreamEmpty:
      return stream.queue.empty_share;
    default:
      return 0;
  }
}

std::optional<uint32_t> node_of_stream(Scene const& scene, analyzer::DeviceRef ref,
                                       int64_t stream) {
  auto const rank = static_cast<uint32_t>(ref.rank_index);
  auto const tracks = scene.trace(rank).tracks();
  for (uint32_t t = 0; t < tracks.size(); ++t)
    if (tracks[t].kind == model::TrackKind::kStream && tracks[t].device == ref.device &&
        tracks[t].id == stream)
      return scene.node_of_track(rank, t);
  return std::nullopt;
}

void stream_table(Scene const& scene, ViewState& state, analyzer::DeviceStats const& device,
                  float rows_height) {
  auto const& streams = device.launch.streams;
  if (streams.empty()) return;

  FactTable table;
  table.id = "streams";
  table.columns = kStreamTable;
  table.rows = streams.size();

  table.name = [&](size_t row) { return fmt::format("stream {}", streams[row].stream); };
  table.value = [&](size_t row, size_t column) { return stream_value(streams[row], column); };
  table.text = [&](size_t row, size_t column) {
    double const value = stream_value(streams[row], column);
    if (column == kStreamEmpty) return base::format_share(value);
    return column == kStreamQueue ? mean_words(value) : count_words(value);
  };

  table.height = -1;
  if (auto const clicked = fact_table(table, state.theme))
    if (auto const node = node_of_stream(scene, device.ref, streams[*clicked].stream))
      go_to_track(state, scene, *node, rows_height);
}

}  // namespace

void launches_panel(PanelScope const& scope) {
  Scene const& scene = scope.scene;
  ViewState& state = scope.state;
  float const rows_height = scope.rows_height;
  if (state.device >= scene.analysis.devices.size()) {
    empty_state(
        without_device(scene, "This panel shows what the host launches on devices, and copies."),
        state.theme);
    return;
  }

  ImGui::BeginChild("launches", ImVec2(ImGui::GetContentRegionAvail().x * 0.52F, 0));
  launch_table(scene, state, rows_height);
  ImGui::EndChild();

  ImGui::SameLine(0, 18 * ui_scale());

  ImGui::BeginChild("of the device", ImVec2(0, 0));
  analyzer::DeviceStats const& device = scene.analysis.devices[state.device];
  if (scene.analysis.devices.size() > 1)
    text_coloured(describe(scene, device.ref), surface(state.theme).text_dim);
  copy_table(scene, state, device.ref);
  longest_table(scene, state, device, rows_height);
  graph_table(scene, state, device.ref);
  stream_table(scene, state, device, rows_height);
  ImGui::EndChild();
}

}  // namespace stepscope::viewer
