// Devices that wait for each other: who made whom wait and why, and the stages of pipelines.
#include <algorithm>

#include <fmt/format.h>

#include "analyzer/metrics/communication/late_devices.h"
#include "analyzer/metrics/communication/wait_matrix.h"
#include "reports/html/bars.h"
#include "reports/html/escape.h"
#include "reports/html/page.h"
#include "reports/html/page_data.h"
#include "reports/html/table.h"
#include "reports/text/waits.h"
#include "reports/words/language.h"
#include "reports/words/slowdown_words.h"
#include "reports/words/summary.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

/// Devices shown at once, the ones most waited for; of a large job few make the others wait.
constexpr size_t kLateDevices = 12;
/// Reasons in the table of all: most are many and small.
constexpr size_t kWaitRows = 60;
/// Pipelines that run at the same time are alike; deeper ones than this are not expected.
constexpr size_t kPipelines = 8, kStages = 64;

/// A device that made the others wait, and the parts of its bar.
struct Late {
  analyzer::LateDevice device;
  std::vector<BarPart> parts;  ///< of exposed_ns, by cause
};

void add_part(std::vector<BarPart>& parts, BarPart const& more) {
  auto const known = std::find_if(parts.begin(), parts.end(),
                                  [&](BarPart const& each) { return each.part == more.part; });
  if (known == parts.end())
    parts.push_back(more);
  else
    known->ns = saturated_sum(known->ns, more.ns);
}

/// Order: exposed time, descending.
std::vector<Late> late_rows(analyzer::Analysis const& analysis) {
  std::vector<Late> rows;
  for (analyzer::LateDevice& device : analyzer::late_devices(analysis)) {
    Late& late = rows.emplace_back();
    for (analyzer::LateDevice::Part const& part : device.parts)
      add_part(late.parts, {&wait_part(*part.first), part.exposed_ns});
    late.device = std::move(device);
  }
  return rows;
}

/// All devices' causes, the largest first; puts each device's in the same order, so that bars
/// compare.
std::vector<BarPart> ordered_causes(std::vector<Late>& late) {
  std::vector<BarPart> causes;
  for (Late const& device : late)
    for (BarPart const& each : device.parts) add_part(causes, each);

  std::stable_sort(causes.begin(), causes.end(),
                   [](BarPart const& a, BarPart const& b) { return a.ns > b.ns; });

  for (Late& device : late) {
    std::vector<BarPart> parts;
    for (BarPart const& cause : causes)
      for (BarPart const& each : device.parts)
        if (each.part == cause.part) parts.push_back(each);
    device.parts = std::move(parts);
  }

  return causes;
}

std::string late_table(Page const& page, std::vector<Late> const& late, size_t from, size_t to) {
  Table table(from == 0 ? "late-table" : "more-late-table",
              "Late devices that others waited for, by cause");
  table.text("Late device").text("Exposed waiting by cause", "Time that others waited for it");
  table.number("Not hidden",
               "Device time in which the others waited and did not compute, without what "
               "collectives that queued behind lost");
  table.number("Share", "Share of all such waiting")
      .number("Waiting in all", "Hidden behind compute or not");
  table.text("Mostly because of").text("Its host was in").if_known();

  for (size_t i = from; i < std::min(to, late.size()); ++i) {
    analyzer::LateDevice const& device = late[i].device;
    table.row({label_cell(device_label(page.run, device.ref)),
               bar_cell_of(late[i].parts, late[0].device.exposed_ns), ns_cell(device.exposed_ns),
               share_cell(device.share), ns_cell(device.gpu_ns), part_cell(wait_part(*device.most)),
               device.most->host_op.empty() ? none_cell() : name_cell(device.most->host_op)});
  }

  return table.html();
}

std::string causes_table(Page const& page) {
  Table table("wait-causes-table", "Waiting for other devices, by late device and cause");
  table.text("Late device").text("Cause").text("Its host was in").if_known();

  table
      .number("Not hidden",
              "Device time in which the others waited and did not compute, without what "
              "collectives that queued behind lost")
      .number("Waiting in all");
  table.number(
      "Collectives",
      "Collectives in which others waited for this device, or for a device that it delayed");

  for (size_t i = 0; i < std::min(page.analysis.waits.size(), kWaitRows); ++i) {
    analyzer::WaitStats const& row = page.analysis.waits[i];
    table.row({label_cell(device_label(page.run, row.ref)), part_cell(wait_part(row)),
               row.host_op.empty() ? none_cell() : name_cell(row.host_op), ns_cell(row.exposed_ns),
               ns_cell(row.gpu_ns), count_cell(row.collectives)});
  }

  return table.html() + and_more(table.size(), page.analysis.waits.size(), "row");
}

std::string waiting_table(Page const& page) {
  Table table("waits-table", "Waiting for other ranks inside collectives");
  table.text("Device")
      .number(page.summary.has_steps ? "Lost a step" : "Lost",
              "What late peers cost where no compute hides it")
      .number(page.summary.has_steps ? "Wait a step" : "Wait", "Hidden by compute or not")
      .number("Collectives")
      .number("Arrived last");

  auto const waits = analyzer::waits_by_device(page.analysis);
  for (analyzer::DeviceWait const& wait : waits) {
    if (table.size() == kMaxTableRows) break;

    double const per =
        page.summary.has_steps ? static_cast<double>(std::max<size_t>(wait.steps, 1)) : 1.0;
    table.row({label_cell(device_label(page.run, wait.ref)),
               wait.lost_ns ? ns_cell(*wait.lost_ns) : none_cell(),
               duration_cell(static_cast<double>(wait.wait_ns) / per), count_cell(wait.collectives),
               count_cell(wait.last)});
  }

  return table.html() + and_more(table.size(), waits.size(), "device");
}

std::string late_part(Page const& page) {
  std::vector<Late> late = late_rows(page.analysis);
  std::vector<BarPart> const causes = ordered_causes(late);
  if (late.empty()) return empty_note("No device waited for another.");

  std::string const sentence = waits_sentence(page.run, page.analysis);

  int64_t all = 0;
  for (BarPart const& cause : causes) all = saturated_sum(all, cause.ns);
  std::string const most = bar_key(causes, all, false) + late_table(page, late, 0, kLateDevices);

  // What costs next to nothing need not be looked at.
  std::string body =
      sentence.empty()
          ? fmt::format("<p>{}</p>\n{}",
                        tr("Waiting for other devices costs less than 1 % of the time."),
                        folded("Late devices that others waited for", most))
          : fmt::format("<p>{}</p>\n{}{}", escape(with_joined_units(sentence), 2000),
                        subheading("Late devices that others waited for"), most);

  if (late.size() > kLateDevices)
    body += folded(counted(late.size() - kLateDevices, "more device"),
                   late_table(page, late, kLateDevices, kMaxDeviceRows) +
                       and_more(kMaxDeviceRows, late.size(), "device"));

  body += folded(tr("Table by cause and host operation ({})", page.analysis.waits.size()),
                 causes_table(page));

  return body +
         how_computed(
             "In every collective the other devices wait for the last one. "
             "Since all devices were last level, it spent more time than they did computing, "
             "communicating, copying, or idle for a cause. "
             "The waiting is split between these causes in proportion. "
             "A device that was late because it waited itself passes its share on to the device "
             "it waited for. Waiting is hidden while the waiting device computes. "
             "Numbers are device time, summed over the devices that waited, in the measured "
             "steps.");
}

// A pipeline's bars, where the classes of a step are too many.
constexpr Part kStageComputes = {"compute", "compute", "The stage computes.", false};
constexpr Part kStageWaits = {"peer", "waiting for another stage (bubble)",
                              "The stage waits for another one.", true};
constexpr Part kStageElse = {"unknown", "anything else",
                             "Exposed communication, copies and other idle time.", false};

std::string pipeline_sentence(analyzer::PipelineStats const& pipeline) {
  std::string text = tr("{} stages", pipeline.stages.size());

  if (pipeline.schedule == analyzer::PipelineSchedule::kGpipe)
    text += tr(", GPipe (all forward, then all backward)");
  if (pipeline.schedule == analyzer::PipelineSchedule::kOneForwardOneBackward)
    text += tr(", 1F1B (one forward, one backward)");

  text +=
      tr(", {} a step. The stages wait for each other {} of the time; "
         "equal stages with instant messages would wait {}.",
         pipeline.micro_batches == 1 ? tr("{} micro-batch", 1)
                                     : tr("{} micro-batches", pipeline.micro_batches),
         base::format_share(pipeline.bubble_share), base::format_share(pipeline.ideal_share));

  if (pipeline.imbalance > 1.005)
    text += tr(" The stage with most compute takes {:.2f} × the mean.", pipeline.imbalance);

  return fmt::format("<p>{}</p>\n", escape(with_joined_units(text), 2000));
}

std::string stages_table(Page const& page, analyzer::PipelineStats const& pipeline, size_t number) {
  Table table(fmt::format("pipeline-{}-table", number),
              "Stages of the pipeline, the first one first");

  table.number("Stage")
      .text("Device")
      .text("A step of the stage")
      .number("Step", "Mean over the steps that count");

  table.number("Compute", "A step")
      .number("Bubble", "A step: waiting for another stage")
      .number("Bubble share");

  int64_t longest = 0;
  for (auto const& stage : pipeline.stages)
    longest = std::max(longest, stage.per_step(stage.total_ns));

  for (size_t i = 0; i < std::min(pipeline.stages.size(), kStages); ++i) {
    auto const& stage = pipeline.stages[i];
    int64_t const compute = stage.per_step(stage.compute_ns),
                  bubble = stage.per_step(stage.bubble_ns);
    int64_t const total = stage.per_step(stage.total_ns);

    table.row({count_cell(i + 1), label_cell(device_label(page.run, stage.ref)),
               bar_cell_of({{&kStageComputes, compute},
                            {&kStageWaits, bubble},
                            {&kStageElse, std::max<int64_t>(total - compute - bubble, 0)}},
                           longest),
               ns_cell(total), ns_cell(compute), ns_cell(bubble),
               share_cell(stage.bubble_share())});
  }

  return table.html() + and_more(table.size(), pipeline.stages.size(), "stage");
}

/// The matrix of waits as a table.
std::string step_waits_table(Page const& page, analyzer::StepWaitMatrix const& matrix) {
  Table table("wait-map-table", "Waiting in each device's steps");
  table.text("Device")
      .number("Median step", "What late peers cost where no compute hides it")
      .number("p95")
      .number("Longest");
  table.number("Longest in step").number("Share of all steps", "Steps with any waiting");

  for (analyzer::StepWaitMatrix::Row const& row : matrix.rows) {
    std::optional<analyzer::StepWaits> const waits = analyzer::step_waits(matrix, row);
    if (!waits) continue;
    table.row({label_cell(device_label(page.run, row.ref)), ns_cell(waits->median_ns),
               ns_cell(waits->p95_ns), ns_cell(waits->longest_ns),
               count_cell(static_cast<uint64_t>(std::max<int64_t>(waits->longest_step, 0))),
               share_cell(waits->waiting_share)});
  }
  return table.html();
}

std::string step_waits_block(Page const& page) {
  analyzer::StepWaitMatrix const matrix = analyzer::step_wait_matrix(page.analysis);
  if (matrix.rows.empty()) return {};

  std::string body = chart("wait-map", "Waiting of each device in each step",
                           "Communication of a step that peers cause which come late, where no "
                           "compute hides it; for many steps the mean of neighbours. "
                           "A row without colour is a device that others wait for. "
                           "A coloured column is a step in which a device came late.");

  if (matrix.devices_left_out > 0)
    body += empty_note(tr("{} more; the map shows the devices that wait least and most.",
                          counted(matrix.devices_left_out, "device")));

  return body + folded("Data as a table", step_waits_table(page, matrix));
}

/// A colour for each stage and data-parallel rank: how much longer a step is for it alone.
std::string slowdown_map(analyzer::SlowdownStats const& slowdown) {
  constexpr double kFullColour = 0.5;  // a step half as long again
  size_t const columns = std::min(slowdown.data_ranks.size(), kStages);
  std::string head;
  for (size_t i = 0; i < columns; ++i)
    head +=
        fmt::format("<th scope=\"col\" class=\"num\">{}</th>", slowdown.data_ranks[i].data_rank);

  std::string body;
  for (size_t i = 0; i < std::min(slowdown.stages.size(), kStages); ++i) {
    auto const& stage = slowdown.stages[i];
    body += fmt::format("<tr><th scope=\"row\">{}</th>", stage.stage);
    size_t cells = 0;
    for (auto const& worker : slowdown.workers) {
      // Workers of one tensor group have the same number.
      if (worker.stage != stage.stage || cells == columns) continue;
      body += fmt::format("<td class=\"heat\" style=\"--heat:{:.0f}%\">{}</td>",
                          std::clamp((worker.s - 1) / kFullColour, 0.0, 1.0) * 100,
                          slowdown_text(worker.s));
      ++cells;
    }
    body += "</tr>\n";
  }

  std::string const caption(
      tr("Length of a step with one worker as recorded and all others equal, over that of equal "
         "workers"));
  return fmt::format(
      "<div class=\"table\" tabindex=\"0\" role=\"group\" aria-label=\"{0}\">"
      "<table id=\"slowdown-map\" class=\"heatmap\"><caption>{0}</caption>"
      "<thead><tr><th scope=\"col\">{1}</th>{2}</tr></thead>\n<tbody>{3}</tbody></table></div>\n",
      caption, tr("PP rank, by DP rank"), head, body);
}

std::string slowdown_block(Page const& page) {
  if (!page.analysis.slowdown) return {};
  analyzer::SlowdownStats const& slowdown = *page.analysis.slowdown;
  std::string body = subheading(tr("Unequal workers"));
  body += fmt::format("<p>{}</p>\n", escape(with_joined_units(slowdown_sentence(slowdown)), 2000));
  body += slowdown_map(slowdown);
  body += and_more(std::min(slowdown.stages.size(), kStages), slowdown.stages.size(), "stage");

  return body + how_computed(
                    "Steps are evaluated without delays between operations. "
                    "Equal workers take the mean of each pass and the median of each transfer. "
                    "A worker's number is the lesser one of its stage and its data rank.");
}

bool has_waiting(analyzer::Analysis const& analysis) {
  return std::any_of(analysis.collectives.begin(), analysis.collectives.end(),
                     [](analyzer::CollectiveStats const& collective) {
                       return collective.participants.size() > 1;
                     });
}

}  // namespace

SectionHtml waiting_section(Page const& page) {
  if (page.analysis.waits.empty() && !has_waiting(page.analysis)) {
    auto const& collectives = page.analysis.collectives;
    bool const others_miss =
        std::any_of(collectives.begin(), collectives.end(),
                    [](auto const& collective) { return collective.expected_participants > 1; });
    if (!others_miss) return {};

    return lacks(
        "The other ranks of the collectives are not in this run, so it is not known which rank "
        "waited for which.");
  }

  std::string body = late_part(page);

  std::string const title = page.summary.has_steps ? "Who waits, a step" : "Who waits, whole run";
  body += chart("waits", title,
                "Communication that peers cause which come late, where no compute hides it: what "
                "the text calls waiting for peers. Shown are the devices that lose most. "
                "The table also has the whole waits: the sum over the collectives of "
                "(own duration − transfer). "
                "Transfer is the shortest participant's duration, so this needs no common clock. "
                "The rank that waits least arrives last: it is the straggler.");
  body += folded("Data as a table", waiting_table(page));

  body += step_waits_block(page);
  return section("waiting", "Waiting for each other", body);
}

SectionHtml pipelines_section(Page const& page) {
  auto const& pipelines = page.analysis.pipelines;
  if (pipelines.empty() && !page.analysis.slowdown) return {};
  if (pipelines.empty()) return section("pipelines", "Pipeline", slowdown_block(page));

  std::string body;
  for (size_t i = 0; i < std::min(pipelines.size(), kPipelines); ++i) {
    if (pipelines.size() > 1) body += subheading(tr("Pipeline {}", i + 1));
    body += pipeline_sentence(pipelines[i]);

    if (i == 0) {
      std::vector<BarPart> const parts = {
          {&kStageComputes, 1}, {&kStageWaits, 1}, {&kStageElse, 1}};
      body += bar_key(parts, 1, false);
    }

    body += stages_table(page, pipelines[i], i + 1);
  }
  body += and_more(std::min(pipelines.size(), kPipelines), pipelines.size(), "pipeline");

  body += how_computed(
      "A pipeline is a chain of devices whose neighbours exchange equally many messages in "
      "both directions in a step. "
      "Its bubble is the exposed waiting in messages and collectives with other stages, "
      "plus idle time that waits for them, over the measured steps. "
      "With p equal stages, m micro-batches and instant messages it would be (p − 1) / (m "
      "+ p − 1) of the time.");
  body += slowdown_block(page);

  return section("pipelines", pipelines.size() == 1 ? "Pipeline" : "Pipelines", body);
}

}  // namespace stepscope::reports
