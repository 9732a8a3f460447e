// Where device time goes: by step, by device, by cause of idleness, and the timeline.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "analyzer/metrics/time/idle_totals.h"
#include "reports/html/bars.h"
#include "reports/html/escape.h"
#include "reports/html/page.h"
#include "reports/html/table.h"
#include "reports/words/language.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

/// Gaps listed one by one: the longest, which are the ones to look at.
constexpr size_t kLongestGaps = 20;

/// Parts that occur in any step, compute and communication always: columns of zeros say nothing.
std::vector<int> parts_in(std::vector<StepPeriod> const& steps) {
  std::vector<int> present;
  for (int i = 0; i < kPartCount; ++i)
    if (i < 2 || std::any_of(steps.begin(), steps.end(), [&](StepPeriod const& step) {
          return step.parts_ns[static_cast<size_t>(i)] > 0;
        }))
      present.push_back(i);
  return present;
}

std::string part_title(int index) {
  return fmt::format("{}{}", part(index).idle ? tr("idle: ") : "", part(index).label);
}

std::string steps_table(Page const& page) {
  Table table("steps-table", "Steps: exact breakdown of the time of each step on its device");
  table.number("Step")
      .text("Device")
      .number("Begin", "Since the first event of the run")
      .number("Length");

  std::vector<StepPeriod> const steps = step_periods(page.analysis);
  std::vector<int> const parts = parts_in(steps);
  for (int const i : parts) table.number(part_title(i), part(i).meaning);

  for (StepPeriod const& period : steps) {
    if (table.size() == kMaxTableRows) break;
    analyzer::StepStats const& step = *period.step;

    std::vector<Cell> cells = {
        number_cell(fmt::format("{}{}", step.step, step.warmup ? tr(" (warm-up)") : ""),
                    static_cast<double>(step.step)),
        label_cell(device_label(page.run, step.ref)),
        number_cell(format_instant(period.when.begin - page.range.begin),
                    static_cast<double>(period.when.begin)),
        duration_cell(static_cast<double>(period.when.length()))};

    for (int const i : parts)
      cells.push_back(duration_cell(static_cast<double>(period.parts_ns[static_cast<size_t>(i)])));
    table.row(std::move(cells));
  }

  std::string note;
  if (page.analysis.steps.size() > kMaxTableRows)
    note = fmt::format("<p class=\"note\">{}</p>",
                       tr("The first {} of {} rows; {} has all.", kMaxTableRows,
                          base::format_count(page.analysis.steps.size()),
                          "<code>stepscope analyze --json</code>"));

  return table.html() + note;
}

std::string steps_sentence(Page const& page) {
  Summary const& summary = page.summary;
  std::string text = tr("{}, {}.", counted(summary.steps + summary.warmup_steps, "step"),
                        step_source_label(page.analysis));

  if (summary.warmup_steps == 1)
    text +=
        tr(" The first step is warm-up; the chart, the averages and the findings leave it out.");
  else if (summary.warmup_steps > 1)
    text +=
        tr(" The first {} steps are warm-up; "
           "the chart, the averages and the findings leave them out.",
           summary.warmup_steps);

  if (summary.unusual_steps == 1)
    text +=
        tr(" One step is much longer than the others; "
           "the averages and the findings about steady steps leave it out.");
  else if (summary.unusual_steps > 1)
    text +=
        tr(" {} steps are much longer than the others; "
           "the averages and the findings about steady steps leave them out.",
           summary.unusual_steps);

  if (summary.median_ns)
    text += tr(" Median {}, p95 {}.", base::format_duration(*summary.median_ns),
               base::format_duration(*summary.p95_ns));

  if (page.analysis.ops_outside_steps > 0)
    text += page.analysis.ops_outside_steps == 1
                ? tr(" {} belongs to no step.", counted(1, "device operation"))
                : tr(" {} belong to no step.",
                     counted(page.analysis.ops_outside_steps, "device operation"));

  return fmt::format("<p>{}</p>\n", escape(with_joined_units(text), 2000));
}

Cell bar_cell(analyzer::TimeSplit const& split) {
  return {split_bar(split), split.window_ns > 0 ? static_cast<double>(split.busy_ns) /
                                                      static_cast<double>(split.window_ns)
                                                : 0};
}

std::vector<Cell> idle_row(analyzer::IdleTotal const& cause, Part const& words) {
  return {{fmt::format("<i class=\"p p-{}\"></i> <span title=\"{}\">{}</span>", words.key,
                       escape(words.meaning), escape(words.label)),
           std::nullopt},
          duration_cell(static_cast<double>(cause.total_ns)),
          {fmt::format("<span class=\"meter\"><i class=\"p p-{}\" "
                       "style=\"width:{:.2f}%\"></i></span><span class=\"pct\">{}</span>",
                       words.key, cause.share * 100, base::format_share(cause.share)),
           cause.share},
          count_cell(cause.gaps),
          duration_cell(static_cast<double>(cause.longest_ns)),
          cause.host_op ? name_cell(*cause.host_op) : none_cell()};
}

std::string idle_table(Page const& page) {
  Table table("idle-table", "Idle time of the devices by cause, whole run");
  table.text("Cause")
      .number("Idle", "Sum over the devices")
      .number("Share of idle time")
      .number("Gaps")
      .number("Longest")
      .text("Host operation with most of it");

  auto const causes = analyzer::idle_totals(page.run, page.analysis);
  std::vector<size_t> order(causes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return causes[a].total_ns > causes[b].total_ns; });
  for (size_t const i : order)
    if (causes[i].total_ns > 0) table.row(idle_row(causes[i], part(static_cast<int>(i) + 3)));

  return table.size() == 0 ? empty_note("The devices are never idle.") : table.html();
}

std::string gaps_table(Page const& page) {
  std::vector<analyzer::IdleGap> const gaps =
      analyzer::longest_gaps(page.analysis.gaps, kLongestGaps);
  size_t const count = gaps.size();
  if (count == 0) return {};

  Table table("gaps-table", "The longest idle gaps");
  table.text("Device")
      .number("Begin", "Since the first event of the run")
      .number("Length")
      .text("Cause")
      .text("Host operation")
      .text("Ended by");

  for (size_t i = 0; i < count; ++i) {
    analyzer::IdleGap const& gap = gaps[i];
    auto const rank = static_cast<size_t>(gap.ref.rank_index);
    model::Trace const* const trace =
        rank < page.run.ranks.size() ? &page.run.ranks[rank].trace : nullptr;

    bool const has_host = trace != nullptr && gap.host_name.valid();
    bool const has_next = trace != nullptr && gap.next_op_name.valid();

    table.row({label_cell(device_label(page.run, gap.ref)),
               number_cell(format_instant(gap.when.begin - page.range.begin),
                           static_cast<double>(gap.when.begin)),
               duration_cell(static_cast<double>(gap.when.length())),
               text_cell(part(static_cast<int>(gap.cause) + 3).label),
               has_host ? name_cell(trace->text(gap.host_name)) : none_cell(),
               has_next ? name_cell(trace->text(gap.next_op_name)) : none_cell()});
  }

  return folded(tr("The {} longest gaps", count), table.html());
}

std::string streams_table(Page const& page) {
  Table table("streams-table", "Streams: the rows of the timeline");
  table.text("Device")
      .text("Stream")
      .number("Operations")
      .number("First", "Since the first event of the run")
      .number("Last end");

  for (Timeline::Stream const& stream : page.timeline.streams) {
    model::Interval const when{stream.when.begin - page.range.begin,
                               stream.when.end - page.range.begin};

    table.row({label_cell(device_label(page.run, stream.ref)), text_cell(stream.name),
               count_cell(stream.operations),
               number_cell(format_instant(when.begin), static_cast<double>(when.begin)),
               number_cell(format_instant(when.end), static_cast<double>(when.end))});
  }

  return table.html();
}

/// Columns of the device, its steps (if the run has steps) and its window.
Table device_columns(Page const& page, bool are_alike) {
  Table table("devices-table", "Device time over the whole run");
  table.text("Device");
  if (!are_alike) table.text("Name");
  if (page.summary.has_steps)
    table
        .number("Step", "Mean of the steady steps, on which the verdict and the findings are based")
        .number("Busy in a step", "1 - idle time / length, over the steady steps");

  table.text("Split of the window").number("Busy", "Union of all operations / window");
  table.number("Window", "First start to last end of its operations")
      .number("Compute")
      .number("Exposed comm.");
  table.number("Exposed copies")
      .number("Idle")
      .number("Overlap", "Communication hidden by compute / all communication");
  table.number("Kernels").number("Copies").number("Collectives");

  return table;
}

std::vector<Cell> device_row(Page const& page, analyzer::DeviceStats const& device,
                             DeviceMean const& mean, bool are_alike) {
  std::vector<Cell> cells = {label_cell(device_label(page.run, device.ref))};
  if (!are_alike) cells.push_back(text_cell(device.name));
  if (page.summary.has_steps) {
    bool const is_known = mean.steps > 0 && mean.step_ns > 0;
    cells.push_back(is_known ? duration_cell(mean.step_ns) : none_cell());
    cells.push_back(is_known ? share_cell(1 - mean.idle_ns() / mean.step_ns) : none_cell());
  }

  analyzer::TimeSplit const& time = device.time;
  auto const optional_share = [](std::optional<double> value) {
    return value ? share_cell(*value) : none_cell();
  };
  cells.insert(cells.end(), {bar_cell(time), optional_share(time.utilization()),
                             duration_cell(static_cast<double>(time.window_ns)),
                             duration_cell(static_cast<double>(time.compute_ns)),
                             duration_cell(static_cast<double>(time.exposed_comm_ns)),
                             duration_cell(static_cast<double>(time.exposed_copy_ns)),
                             duration_cell(static_cast<double>(time.idle_ns)),
                             optional_share(time.overlap()), count_cell(device.kernels),
                             count_cell(device.copies), count_cell(device.collectives)});

  return cells;
}

}  // namespace

SectionHtml steps_section(Page const& page) {
  if (is_about_host(page)) return {};

  if (page.analysis.steps.empty() && page.analysis.layers) {
    std::string const text =
        tr("No whole step was recorded: the work {}. "
           "Record at least one step from begin to end, "
           "or mark steps in the program (a range or annotation named step).",
           layers_label(*page.analysis.layers));
    return section("steps", "Steps",
                   fmt::format("<p class=\"empty\">{}</p>\n", escape(text, 2000)));
  }

  if (page.analysis.steps.empty())
    return section(
        "steps", "Steps",
        empty_note("No steps were found. Mark them in the program (a range or annotation named "
                   "step); then every number is per step and comparable between runs."));

  std::string body = steps_sentence(page);
  body += chart("steps", "Time of each step",
                "A step lasts from the first launch inside it to the end of the last operation "
                "launched inside it. "
                "The idle time before it, such as waiting for a batch, belongs to it. "
                "Exposed communication is the time in which the device communicates and does not "
                "compute. Exposed copies are copies that neither compute nor communication hides. "
                "The rest is idle time by cause (hatched). "
                "The parts sum to the step, to the nanosecond.");

  return section("steps", "Steps", body + folded("Data as a table", steps_table(page)));
}

SectionHtml devices_section(Page const& page) {
  if (is_about_host(page)) return {};
  auto const& devices = page.analysis.devices;
  if (devices.empty()) return lacks("No device operation was recorded.");

  bool const are_alike =
      devices.size() > 1 && std::all_of(devices.begin(), devices.end(), [&](auto const& device) {
        return device.name == devices[0].name;
      });
  std::vector<DeviceMean> const means = device_means(page.analysis);
  Table table = device_columns(page, are_alike);
  for (size_t d = 0; d < std::min(devices.size(), kMaxDeviceRows); ++d)
    table.row(device_row(page, devices[d], means[d], are_alike));

  std::string const alike =
      are_alike
          ? fmt::format("<p class=\"note\">{}</p>",
                        tr("All {} devices are {}.", devices.size(), escape(devices[0].name, 120)))
          : "";
  std::string const how = how_computed(
      "Times are unions over all streams of a device, never sums of durations: "
      "two streams that work at the same time count once. "
      "Compute + exposed communication + exposed copies + idle = window. "
      "Start-up and warm-up are included.");
  return section("devices", "Devices",
                 alike + table.html() + and_more(table.size(), devices.size(), "device") + how);
}

SectionHtml idle_section(Page const& page) {
  if (is_about_host(page)) return {};
  if (page.analysis.devices.empty()) return lacks("No device operation was recorded.");

  std::string const how = how_computed(
      "Stepscope splits each gap between device operations where its cause changes. "
      "The first cause that applies counts, in this order: "
      "profiler, allocation, synchronization, input, another stream, another rank, "
      "CUDA graph, launch-bound, launch latency, unexplained. "
      "The table of causes begins with a device's first operation, as the window does. "
      "The tables below it also have the time of its steps before that.");

  return section(
      "idle", "Idle time",
      idle_table(page) + how + host_ops_block(page) + gaps_table(page) + unhidden_block(page));
}

SectionHtml timeline_section(Page const& page) {
  if (page.views.empty()) return lacks("The run has no events.");

  std::string const body =
      chart("timeline",
            is_about_host(page) ? "Threads of the program"
                                : "Device streams and the host threads that feed them",
            "A row is a stream of a device or a host thread. "
            "Neighbours that are too close together for the view's resolution are drawn as one "
            "block, in the colour of the class with most of its time. "
            "Choose a step or a finding to see single operations, "
            "or open the run with stepscope view.");

  return section("timeline", "Timeline", body + folded("Data as a table", streams_table(page)));
}

}  // namespace stepscope::reports
