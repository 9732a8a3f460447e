// Communication, memory and kernels.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "reports/html/escape.h"
#include "reports/html/page.h"
#include "reports/html/page_data.h"
#include "reports/html/table.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

std::string communicator_label(uint64_t communicator) {
  return communicator == 0 ? "unknown" : fmt::format("{:#x}", communicator);
}

/// Median of a group's values; sorts them.
template <class T>
T median(std::vector<T>& values) {
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) / 2];
}

std::string collectives_table(Page const& page) {
  struct Group {
    std::vector<int64_t> transfers, skews;
    std::vector<double> bandwidths;
    int64_t wait = 0;
    size_t participants = 0;
  };
  std::map<std::tuple<uint64_t, model::CollectiveOp, uint64_t>, Group> groups;
  for (analyzer::CollectiveFacts const& collective : page.analysis.collectives) {
    Group& group = groups[{collective.communicator, collective.op, collective.bytes}];
    group.transfers.push_back(collective.transfer_ns);
    group.skews.push_back(collective.skew_ns);
    if (collective.busbw_gbps) group.bandwidths.push_back(*collective.busbw_gbps);
    for (auto const& participant : collective.participants) group.wait += participant.wait_ns;
    group.participants += collective.participants.size();
  }
  Table table("collectives-table", "Collectives by communicator, operation and size");
  table.text("Operation")
      .number("Size", "Message bytes")
      .number("Count")
      .number("Ranks")
      .number("Transfer", "Median over the group of the shortest participant's duration");
  table.number("Bus bandwidth", "Median; GB = 1e9 bytes").number("Wait", "Mean per participant: its duration − transfer");
  table.number("Skew", "Median of last start − first start; needs aligned clocks").text("Communicator");
  for (auto& [key, group] : groups) {
    if (table.size() == kMaxTableRows) break;
    auto const count = static_cast<double>(group.transfers.size());
    auto const participants = static_cast<double>(std::max<size_t>(group.participants, 1));
    double const bandwidth = group.bandwidths.empty() ? 0 : median(group.bandwidths);
    table.row({text_cell(model::to_string(std::get<1>(key))), bytes_cell(std::get<2>(key)), count_cell(group.transfers.size()),
               number_cell(fmt::format("{:.3g}", participants / count), participants / count),
               duration_cell(static_cast<double>(median(group.transfers))),
               group.bandwidths.empty() ? none_cell() : number_cell(base::format_bandwidth(bandwidth * 1e9), bandwidth),
               duration_cell(static_cast<double>(group.wait) / participants),
               duration_cell(static_cast<double>(median(group.skews))), text_cell(communicator_label(std::get<0>(key)))});
  }
  return table.html();
}

std::string waits_table(Page const& page) {
  Table table("waits-table", "Waiting for other ranks inside collectives");
  table.text("Device").number("Wait").number("Collectives").number("Arrived last");
  for (DeviceWait const& wait : waits_by_device(page.analysis)) {
    double const per = page.summary.has_steps ? static_cast<double>(std::max<size_t>(wait.steps, 1)) : 1.0;
    table.row({label_cell(device_label(page.run, wait.ref)), duration_cell(static_cast<double>(wait.wait_ns) / per),
               count_cell(wait.collectives), count_cell(wait.last)});
  }
  return table.html();
}

std::string links_table(Page const& page) {
  if (page.analysis.links.empty()) return {};
  Table table("links-table", "Cost of a message: t = α + bytes / β");
  table.text("Operation").number("α", "Fixed cost").number("β", "Bandwidth of a long message, bytes / time");
  table.number("Half of β at", "Message size").number("Samples").text("Communicator");
  for (analyzer::LinkFit const& link : page.analysis.links)
    table.row({text_cell(model::to_string(link.op)), duration_cell(link.alpha_us * 1e3),
               number_cell(base::format_bandwidth(link.beta_gbps * 1e9), link.beta_gbps),
               std::isfinite(link.half_bandwidth_bytes) && link.half_bandwidth_bytes >= 0
                   ? bytes_cell(static_cast<uint64_t>(std::min(link.half_bandwidth_bytes, 1e18)))
                   : none_cell(),
               count_cell(link.samples), text_cell(communicator_label(link.communicator))});
  return table.html();
}

Cell optional_bytes(std::optional<uint64_t> bytes) { return bytes ? bytes_cell(*bytes) : none_cell(); }

std::string memory_table(Page const& page) {
  Table table("memory-table", "Memory of each device");
  table.text("Device").number("Capacity").number("Peak reserved", "Held from the system").number("Peak allocated", "Live bytes");
  table.number("Headroom", "Capacity − peak reserved").number("Fragmentation", "1 − largest free block / all free");
  table.number("Growth a step", "Slope of the least allocated in each step");
  for (size_t i = 0; i < 7; ++i) table.number(model::to_string(static_cast<model::MemoryPurpose>(i)), "Live bytes at the peak");
  for (analyzer::DeviceFacts const& device : page.analysis.devices) {
    analyzer::MemoryFacts const& memory = device.memory;
    std::vector<Cell> cells = {label_cell(device_label(page.run, device.ref)), optional_bytes(memory.capacity_bytes),
                               optional_bytes(memory.peak_reserved_bytes), optional_bytes(memory.peak_allocated_bytes)};
    bool const room =
        memory.capacity_bytes && memory.peak_reserved_bytes && *memory.capacity_bytes >= *memory.peak_reserved_bytes;
    cells.push_back(room ? bytes_cell(*memory.capacity_bytes - *memory.peak_reserved_bytes) : none_cell());
    cells.push_back(memory.fragmentation ? share_cell(*memory.fragmentation) : none_cell());
    if (memory.floor_growth_bytes_per_step && std::fabs(*memory.floor_growth_bytes_per_step) < 9e18) {
      double const growth = *memory.floor_growth_bytes_per_step;
      std::string const size = base::format_bytes(static_cast<uint64_t>(std::llround(std::fabs(growth))));
      cells.push_back(number_cell((growth < -0.5 ? "−" : "") + size, growth));
    } else {
      cells.push_back(none_cell());
    }
    for (uint64_t const bytes : memory.by_purpose_at_peak)
      cells.push_back(memory.peak_allocated_bytes ? bytes_cell(bytes) : none_cell());
    table.row(std::move(cells));
  }
  return table.html();
}

/// "×" and two digits: an estimate.
Cell factor_cell(std::optional<double> factor) {
  return factor ? number_cell(fmt::format("{:.2g} ×", *factor), *factor) : none_cell();
}

std::string memory_room_table(Page const& page) {
  Table table("memory-room-table", "Room for more, and what takes it");
  table.text("Device").number("Batch that fits", "× the present one: activations and all that is not known to stay grow with it");
  table.number("Worst fragmentation", "In measured steps, when most bytes are free outside of the largest gap");
  table.number("Free in holes", "These bytes");
  table.number("Taken for holes", "From the system, for allocations for which enough was free");
  table.number("Retries", "Allocations for which cached memory was given back first");
  table.number("Steps until full", "At the growth of the least allocated in each step");
  for (analyzer::DeviceFacts const& device : page.analysis.devices) {
    analyzer::MemoryFacts const& memory = device.memory;
    auto const& forecast = memory.floor_forecast;
    table.row({label_cell(device_label(page.run, device.ref)), factor_cell(memory.batch_factor),
               memory.worst_fragmentation ? share_cell(*memory.worst_fragmentation) : none_cell(),
               optional_bytes(memory.stranded_bytes), optional_bytes(memory.fragmented_growth_bytes),
               memory.retries ? count_cell(*memory.retries) : none_cell(),
               forecast ? number_cell(fmt::format("{:.0f}", forecast->steps), forecast->steps) : none_cell()});
  }
  return table.html();
}

std::string memory_owners_table(Page const& page) {
  Table table("memory-owners-table", "Who holds memory at the peak");
  table.text("Device").text("Owner", "The allocation's own name, else the range around it").number("Bytes").number("Share");
  for (analyzer::DeviceFacts const& device : page.analysis.devices) {
    auto const& owners = device.memory.peak_owners;
    if (!owners || !device.memory.peak_allocated_bytes) continue;
    auto const all = static_cast<double>(*device.memory.peak_allocated_bytes);
    auto const add = [&](std::string const& name, uint64_t bytes) {
      if (bytes == 0 || table.size() >= kMaxTableRows) return;
      table.row({label_cell(device_label(page.run, device.ref)), text_cell(name), bytes_cell(bytes),
                 share_cell(static_cast<double>(bytes) / all)});
    };
    for (auto const& owner : owners->owners) add(owner.name, owner.bytes);
    add("others", owners->other_bytes);
    add("before the recording", owners->before_recording_bytes);
  }
  return table.html();
}

/// Rows of the curve's own table; the chart has more points, the JSON of a run has none of them.
constexpr size_t kCurveRows = 60;

std::string memory_curve_table(Page const& page) {
  Table table("memory-curve-table", "Memory over time, thinned");
  table.text("Device").number("Time", "Since the first event of the run").number("Allocated").number("Reserved");
  for (analyzer::DeviceFacts const& device : page.analysis.devices)
    for (size_t const i : thinned_memory(device.memory.timeline, kCurveRows)) {
      if (table.size() >= kMaxTableRows) break;
      auto const& point = device.memory.timeline[i];
      table.row({label_cell(device_label(page.run, device.ref)),
                 number_cell(format_instant(point.time_ns - page.range.begin), static_cast<double>(point.time_ns)),
                 bytes_cell(point.allocated_bytes), bytes_cell(point.reserved_bytes)});
    }
  return table.html();
}

std::string rate_text(double flops) {
  if (flops >= 1e12) return fmt::format("{:.3g} TFLOP/s", flops / 1e12);
  return fmt::format("{:.3g} GFLOP/s", flops / 1e9);
}

}  // namespace

std::string communication_section(Page const& page) {
  if (page.analysis.collectives.empty())
    return section(
        "communication", "Communication",
        empty_note(page.analysis.devices.size() > 1    ? "No collective was recorded, although the run has several devices."
                   : page.analysis.devices.size() == 1 ? "The run has one device and no collective."
                                                       : "No device operation was recorded."));
  std::string body = collectives_table(page);
  body += how_computed(
      "The same collective on several ranks is matched by communicator and sequence number. Transfer is the shortest "
      "participant's "
      "duration; what a participant takes longer, it waited for others: this needs no common clock. Bus bandwidth is bytes / "
      "transfer, "
      "times 2(n−1)/n for all-reduce and (n−1)/n for reduce-scatter, all-gather and all-to-all.");
  body += chart("bandwidth", "Bus bandwidth by message size",
                "Each point is one collective. The line is the fit t = α + bytes / β over all of its kind, as bus bandwidth.");
  body += folded("Data as a table", links_table(page) + empty_note("Each group's median is in the table of collectives above."));
  body += chart(
      "waits", page.summary.has_steps ? "Waiting for other ranks, a step" : "Waiting for other ranks, whole run",
      "Sum over the collectives of (own duration − transfer), whether compute hides it or not. Who waits least arrives last: "
      "look there for the straggler.");
  body += folded("Data as a table", waits_table(page));
  return section("communication", "Communication", body);
}

std::string memory_section(Page const& page) {
  bool const any = std::any_of(page.analysis.devices.begin(), page.analysis.devices.end(), [](auto const& device) {
    return device.memory.peak_allocated_bytes || device.memory.peak_reserved_bytes || !device.memory.timeline.empty();
  });
  if (!any)
    return section("memory", "Memory",
                   empty_note("No allocation of device memory was recorded, so there is no curve and no peak."));
  std::string body =
      chart("memory", "Memory by purpose",
            "Live bytes after every allocation and free, stacked by the purpose that the program or its framework told; "
            "thinned so that every peak stays. The line is what is held from the system.");
  body += folded("Data as a table", memory_curve_table(page)) + memory_table(page) + memory_room_table(page);
  return section("memory", "Memory", body + folded("Who holds it at the peak", memory_owners_table(page)));
}

std::string kernels_section(Page const& page) {
  if (page.analysis.kernels.empty()) return section("kernels", "Kernels", empty_note("No device operation was recorded."));
  Table table("kernels-table", "Device operations by name");
  table.text("Name").text("Device").text("Kind").number("Calls").number("Total", "Sum of durations");
  table.number("Share", "Of the device's summed operation time").number("Median").number("p95").number("Max").number("Rate");
  for (analyzer::KernelFacts const& kernel : page.analysis.kernels) {
    if (table.size() == kMaxTableRows) break;
    table.row(
        {name_cell(kernel.name), label_cell(device_label(page.run, kernel.ref)), text_cell(model::kind_info(kernel.kind).name),
         count_cell(kernel.count), duration_cell(static_cast<double>(kernel.total_ns)), share_cell(kernel.share),
         duration_cell(static_cast<double>(kernel.median_ns)), duration_cell(static_cast<double>(kernel.p95_ns)),
         duration_cell(static_cast<double>(kernel.max_ns)),
         kernel.flops_rate && std::isfinite(*kernel.flops_rate) ? number_cell(rate_text(*kernel.flops_rate), *kernel.flops_rate)
                                                                : none_cell()});
  }
  table.searchable();
  table.filter_by(1);
  std::string body = table.html();
  if (page.analysis.kernels.size() > kMaxTableRows)
    body += fmt::format("<p class=\"note\">{} of {} rows; <code>stepscope analyze --json</code> has all.</p>\n", kMaxTableRows,
                        base::format_count(page.analysis.kernels.size()));
  body += how_computed(
      "Totals here are sums of durations, to rank kernels: streams that run at once are counted twice, so shares are of the "
      "summed "
      "time and not of the step. Rate is floating-point operations / time where the program told them.");
  return section("kernels", "Kernels", body);
}

}  // namespace stepscope::reports
