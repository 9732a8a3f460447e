// How work got to the devices: launches and queues, CUDA graphs, copies, and the phases of the
// program that launched it.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "analyzer/metrics/work/totals_over_devices.h"
#include "reports/html/bars.h"
#include "reports/html/page.h"
#include "reports/html/table.h"
#include "reports/words/language.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

/// Devices shown at once; those of a job are mostly alike.
constexpr size_t kLaunchDevices = 16;
constexpr size_t kGraphRows = 100, kPhaseRows = 40;
/// Rows by device and stream, or phase: the JSON has all.
constexpr size_t kDetailRows = 200;

Cell queue_cell(std::optional<analyzer::QueueStats> const& queue) {
  return queue ? measure_cell(queue->mean_depth, "") : none_cell();
}

std::string launches_table(Page const& page) {
  Table table("launches-table", "Launches of each device's operations");
  table.text("Device").number("Calls").number("Calls a step").if_known();

  table.number(
      "Latency",
      "Median of start of the operation − end of the call; includes waiting in a full queue");
  table.number("p95").number("Max").number("Launch call", "Median host time of one call");
  table
      .number("Kernel",
              "Median time of a kernel; "
              "if it is below that of a launch call, the host cannot keep up")
      .if_known();

  table.number("Queue",
               "Mean number of launched operations that have not started, over the window");
  table.number("Longest queue")
      .number("Queue empty", "Share of the window in which nothing waits to run");
  table.number("Before its call", "Operations that start before their call has returned")
      .if_known();
  table.number("By CUDA graphs", "Share of the device's summed operation time").if_known();

  size_t devices = 0;
  for (analyzer::DeviceStats const& device : page.analysis.devices) {
    analyzer::LaunchStats const& launch = device.launch;
    if (launch.calls == 0 || ++devices > kLaunchDevices) continue;

    Cell early = count_cell(launch.negative_latencies);
    early.is_known = launch.negative_latencies > 0;
    table.row({label_cell(device_label(page.run, device.ref)), count_cell(launch.calls),
               measure_cell(launch.calls_per_step, ""), ns_cell(launch.latency_median_ns),
               ns_cell(launch.latency_p95_ns), ns_cell(launch.latency_max_ns),
               ns_cell(launch.call_median_ns), ns_cell(launch.kernel_median_ns),
               queue_cell(launch.queue),
               launch.queue ? count_cell(launch.queue->max_depth) : none_cell(),
               launch.queue ? meter_cell("launch_starved", launch.queue->empty_share) : none_cell(),
               early, share_cell(launch.graph_share)});
  }

  return table.size() == 0 ? "" : table.html() + and_more(table.size(), devices, "device");
}

std::string queues_table(Page const& page) {
  Table table("queues-table", "Queues by stream");
  table.text("Device")
      .number("Stream")
      .number("Launches")
      .number("Queue", "Mean over the window's time");
  table.number("Longest queue").number("Queue empty");

  size_t all = 0;
  for (analyzer::DeviceStats const& device : page.analysis.devices)
    for (analyzer::StreamQueue const& stream : device.launch.streams) {
      if (++all > kDetailRows) continue;

      table.row({label_cell(device_label(page.run, device.ref)),
                 number_cell(std::to_string(stream.stream), static_cast<double>(stream.stream)),
                 count_cell(stream.launches), measure_cell(stream.queue.mean_depth, ""),
                 count_cell(stream.queue.max_depth), share_cell(stream.queue.empty_share)});
    }

  if (table.size() == 0) return {};
  return folded(tr("Table by stream ({})", all),
                table.html() + and_more(table.size(), all, "stream"));
}

std::string graphs_table(Page const& page) {
  if (page.analysis.graphs.empty()) return {};

  Table table("graphs-table", "What CUDA graphs launched");
  table.text("Device")
      .text("Graph")
      .number("Launches")
      .number("Operations")
      .number("Nodes", "Different ones")
      .if_known();
  table.number("Operation time", "Sum of durations");
  table.number("A launch", "Operation time / launches")
      .number("Gaps", "Time within single launches in which no operation of the launch ran");

  for (analyzer::GraphStats const& graph : page.analysis.graphs) {
    if (table.size() == kGraphRows) break;
    auto const launches = static_cast<int64_t>(std::max<uint64_t>(graph.launches, 1));

    table.row({label_cell(device_label(page.run, graph.ref)),
               graph.graph == 0 ? text_cell(tr("further ones"))
                                : number_cell(std::to_string(graph.graph), graph.graph),
               count_cell(graph.launches), count_cell(graph.ops),
               graph.nodes ? count_cell(*graph.nodes) : none_cell(), ns_cell(graph.total_ns),
               graph.launches > 0 ? ns_cell(graph.total_ns / launches) : none_cell(),
               ns_cell(graph.gap_ns)});
  }

  return subheading("CUDA graphs") + table.html() +
         and_more(table.size(), page.analysis.graphs.size(), "row");
}

class CopyTable {
 public:
  CopyTable(std::string_view id, std::string_view caption, bool with_device)
      : table_(id, caption), with_device_(with_device) {
    if (with_device) table_.text("Device");

    table_.text("Direction").number("Copies").number("Bytes").number("Time", "Sum of durations");
    table_.number("Bandwidth", "Bytes / time; GB = 1e9 bytes").if_known();
    table_.number("Small", "Copies below 64 KiB: their cost is the start, not the bytes");
    table_.number("Pageable", "Copies of host memory that is not page-locked").if_known();
    table_.number("Pageable bytes").if_known().number("Blocking", "The host waited for them");

    table_
        .number("Both ways",
                "Time in which a copy in the other direction between host and device ran, too")
        .if_known();
  }

  void add(Page const& page, analyzer::CopyStats const& copies) {
    std::vector<Cell> cells;
    if (with_device_) cells.push_back(label_cell(device_label(page.run, copies.ref)));

    Cell both = ns_cell(copies.both_ways_ns);
    both.is_known = copies.both_ways_ns > 0;

    auto const of_all = [&](uint64_t count) {
      double const share =
          copies.count > 0 ? static_cast<double>(count) / static_cast<double>(copies.count) : 0;
      return number_cell(
          count == 0 ? "0"
                     : fmt::format("{} ({})", base::format_count(count), base::format_share(share)),
          static_cast<double>(count));
    };

    for (Cell const& cell :
         {label_cell(tr(model::to_string(copies.direction))), count_cell(copies.count),
          bytes_cell(copies.bytes), ns_cell(copies.total_ns),
          copies.gbps && std::isfinite(*copies.gbps)
              ? number_cell(base::format_bandwidth(*copies.gbps * 1e9), *copies.gbps)
              : none_cell(),
          of_all(copies.small_count),
          copies.pageable_count ? of_all(*copies.pageable_count) : none_cell(),
          bytes_cell(copies.pageable_bytes), of_all(copies.blocking_count), both})
      cells.push_back(cell);

    table_.row(std::move(cells));
  }
  [[nodiscard]] size_t size() const { return table_.size(); }
  [[nodiscard]] std::string html() const { return table_.html(); }

 private:
  Table table_;
  bool with_device_;
};

/// What a phase's device time is made of, as a bar.
std::vector<BarPart> phase_bar(analyzer::PhaseStats const& phase) {
  static constexpr Part kRest = {"unknown", "anything else",
                                 "Copies, and communication that compute hides.", false};
  int64_t const compute = phase.compute_ns.value_or(0), comm = phase.exposed_comm_ns.value_or(0);
  int64_t const rest = std::max<int64_t>(phase.busy_ns.value_or(0) - compute - comm, 0);
  return {{&part(0), compute}, {&part(1), comm}, {&kRest, rest}};
}

std::string phases_table(std::vector<analyzer::PhaseStats> const& phases) {
  Table table("phases-table", "Phases of the program, over all devices");
  table.text("Phase")
      .text("Its device time")
      .number("Device time",
              "Union of the operations that it launched, over all occurrences and devices");

  table.number("An occurrence", "Mean device time")
      .number("Compute", "Union")
      .number("Exposed comm.", "No compute hides it");
  table.number("Host time", "Sum of its durations")
      .number("Occurrences")
      .number("Device operations");

  int64_t longest = 0;
  for (analyzer::PhaseStats const& phase : phases)
    longest = std::max(longest, phase.busy_ns.value_or(0));

  for (analyzer::PhaseStats const& phase : phases) {
    if (table.size() == kPhaseRows) break;
    auto const count = static_cast<int64_t>(std::max<uint64_t>(phase.count, 1));

    table.row(
        {phase.name.empty() ? text_cell(tr("further phases together")) : name_cell(phase.name),
         phase.busy_ns ? bar_cell_of(phase_bar(phase), longest) : none_cell(),
         ns_cell(phase.busy_ns), phase.busy_ns ? ns_cell(*phase.busy_ns / count) : none_cell(),
         ns_cell(phase.compute_ns), ns_cell(phase.exposed_comm_ns), ns_cell(phase.host_ns),
         count_cell(phase.count), count_cell(phase.ops)});
  }

  return table.html() + and_more(table.size(), phases.size(), "phase");
}

std::string device_phases_table(Page const& page) {
  Table table("device-phases-table", "Phases of the program by device");
  table.text("Device")
      .text("Phase")
      .number("Device time")
      .number("Median", "Device time of an occurrence")
      .number("p95");
  table.number("Compute").number("Exposed comm.").number("Occurrences");

  for (analyzer::PhaseStats const& phase : page.analysis.phases) {
    if (table.size() == kDetailRows) break;
    table.row(
        {label_cell(device_label(page.run, phase.ref)),
         phase.name.empty() ? text_cell(tr("further phases together")) : name_cell(phase.name),
         ns_cell(phase.busy_ns), ns_cell(phase.median_ns), ns_cell(phase.p95_ns),
         ns_cell(phase.compute_ns), ns_cell(phase.exposed_comm_ns), count_cell(phase.count)});
  }

  return folded(tr("Table by device, with medians ({})", page.analysis.phases.size()),
                table.html() + and_more(table.size(), page.analysis.phases.size(), "row"));
}

}  // namespace

SectionHtml launches_section(Page const& page) {
  if (page.analysis.devices.empty()) return {};

  std::string const launches = launches_table(page);
  std::string const graphs = graphs_table(page);
  if (launches.empty() && graphs.empty())
    return lacks("The recording has no launch calls of device operations.");

  return section(
      "launches", "Launches",
      launches + queues_table(page) + graphs +
          how_computed(
              "A call counts once, with the first operation that it launched. "
              "Latency is the time from the end of the call to the start of its operation. "
              "An operation waits in its stream's queue from the begin of the call to its own "
              "start. "
              "If the queue is often empty, the host is hardly ahead of the device and any delay "
              "of the host delays the device. Kernels of a CUDA graph share one launch."));
}

SectionHtml copies_section(Page const& page) {
  if (page.analysis.copies.empty()) return {};

  CopyTable by_device("device-copies-table", "Copies by device and direction", true);
  for (analyzer::CopyStats const& row : page.analysis.copies)
    if (by_device.size() < kDetailRows) by_device.add(page, row);

  CopyTable all("copies-table", "Copies by direction, over all devices", false);
  for (analyzer::CopyStats const& sum : analyzer::copy_totals(page.analysis)) all.add(page, sum);
  std::string body = all.html();
  if (page.analysis.devices.size() > 1)
    body +=
        folded(tr("Table by device ({})", page.analysis.copies.size()),
               by_device.html() + and_more(by_device.size(), page.analysis.copies.size(), "row"));

  body += how_computed(
      "Times are sums of the copies' durations. "
      "Pageable memory is copied through a staging buffer while the host waits; "
      "it is known if the recording has the kind of memory. "
      "A copy between host and device is blocking if its call lasted until the copy ended.");

  return section("copies", "Copies", body);
}

SectionHtml phases_section(Page const& page) {
  if (page.analysis.phases.empty()) return {};
  std::vector<analyzer::PhaseStats> const phases = analyzer::phase_totals(page.analysis);

  analyzer::PhaseStats all;  // has some of each part
  all.busy_ns = 3;
  all.compute_ns = all.exposed_comm_ns = 1;
  std::vector<BarPart> const parts = phase_bar(all);

  return section(
      "phases", "Phases",
      bar_key(parts, 3, false) + phases_table(phases) + device_phases_table(page) +
          how_computed(
              "A phase is a range that the program marks as one, "
              "or a range with a name like forward, backward or optimizer. "
              "An operation belongs to every phase that is open on its thread at its launch, "
              "so nested phases share operations: do not add them. "
              "Device time is the union of a phase's operations, no matter when they ran."));
}

}  // namespace stepscope::reports
