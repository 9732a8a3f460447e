// What was recorded, on which machine, and how far it can be trusted.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "reports/html/escape.h"
#include "reports/html/page.h"
#include "reports/html/table.h"
#include "reports/words/language.h"
#include "reports/words/run_notes.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

std::string fact(std::string_view key, std::string_view value) {
  return value.empty()
             ? ""
             : fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", escape(key), escape(value, 600));
}

std::string run_facts(Page const& page) {
  std::set<std::string> hosts, tools, commands;
  // Facts that all ranks share are shown once; the others with all their values.
  std::map<std::string, std::set<std::string>> facts;
  uint64_t events = 0;

  for (model::RankTrace const& rank : page.run.ranks) {
    model::TraceInfo const& info = rank.trace.info();
    hosts.insert(info.host);
    tools.insert(info.tool);
    commands.insert(info.command);
    events += rank.trace.whole_event_count();
    for (auto const& [key, value] : info.facts) facts[key].insert(value);
  }

  auto const joined = [](std::set<std::string> const& values) {
    std::string text;
    size_t count = 0;
    for (std::string const& value : values) {
      if (value.empty()) continue;
      if (++count > 4) return text + tr(" and {} more", values.size() - 4);
      text += (text.empty() ? "" : "; ") + value;
    }
    return text;
  };

  std::string items = fact(tr("Run"), page.run.name) + fact(tr("Command"), joined(commands)) +
                      fact(tr("Recorded by"), joined(tools));
  items += fact(tr("Hosts"), joined(hosts)) +
           fact(tr("Processes"), std::to_string(page.run.ranks.size()));
  items += fact(tr("Devices"), std::to_string(page.analysis.devices.size())) +
           fact(tr("Events"), base::format_count(events));
  items += fact(tr("Recorded time"), base::format_duration(page.range.length())) +
           fact(tr("Clock"), tr(page.run.clock.method));

  if (model::ClockFit const& clock = page.run.clock;
      clock.residual_median_ns && clock.residual_p95_ns)
    items += fact(tr("Clock uncertainty"),
                  tr("{} (median), {} (p95): spread of the ends of {} on different hosts",
                     base::format_duration(*clock.residual_median_ns),
                     base::format_duration(*clock.residual_p95_ns),
                     counted(clock.collectives, "collective")));
  for (auto const& [key, values] : facts) items += fact(key, joined(values));

  return fmt::format("<dl class=\"facts wide\">{}</dl>\n", items);
}

std::string device_list(Page const& page) {
  Table table("machine-table", "Devices as described by the recorder");
  table.text("Process")
      .text("Host")
      .number("Process id")
      .text("Device")
      .text("Name")
      .number("Memory")
      .number("Threads or SMs")
      .number("Peak rate");

  for (model::RankTrace const& rank : page.run.ranks) {
    model::TraceInfo const& info = rank.trace.info();
    for (model::Device const& device : rank.trace.devices()) {
      if (table.size() == kMaxTableRows) break;

      table.row({text_cell(tr("rank {}", info.rank)), text_cell(info.host),
                 number_cell(std::to_string(info.process_id), static_cast<double>(info.process_id)),
                 text_cell(tr("device {}", device.id)), text_cell(device.name),
                 device.capacity_bytes > 0 ? bytes_cell(device.capacity_bytes) : none_cell(),
                 device.threads > 0 ? count_cell(device.threads) : none_cell(),
                 device.peak_flops > 0
                     ? number_cell(fmt::format("{:.3g} GFLOP/s", device.peak_flops / 1e9),
                                   device.peak_flops)
                     : none_cell()});
    }
  }

  if (table.size() == 0 && is_about_host(page)) return {};
  return table.size() == 0 ? empty_note("The recorder described no device.") : table.html();
}

std::string notes_list(std::vector<std::string> const& notes) {
  std::string items;
  for (size_t i = 0; i < std::min(notes.size(), size_t{50}); ++i)
    items += fmt::format("<li>{}</li>", escape(notes[i], 600));
  return items.empty() ? "" : fmt::format("<ul class=\"notes\">{}</ul>\n", items);
}

}  // namespace

SectionHtml facts_section(Page const& page) {
  return section("facts", "Run and machine",
                 run_facts(page) + device_list(page) + notes_list(page.run.notes));
}

SectionHtml trace_integrity_section(Page const& page) {
  analyzer::TraceIntegrity const& integrity = page.analysis.integrity;
  Table table("quality-table", "Faults of the recording");
  table.text("Check").number("Count").text("What it means");

  auto const count = [&](std::string_view check, uint64_t number, std::string_view meaning) {
    table.row({text_cell(tr(check)), count_cell(number), text_cell(tr(meaning))});
  };

  count("Dropped events", integrity.dropped,
        "Lost while recording because the buffers were full. Times and counts are too low.");
  count("Launches without operation", integrity.unmatched_launches,
        "The device operation is not in the trace.");
  count("Operations without launch", integrity.unmatched_ops,
        "The call that launched them is not in the trace.");
  count("Operations before their launch", integrity.negative_latencies,
        "The clocks of host and device disagree, so causes of gaps may be wrong.");
  count("Operations that overlap on a stream", integrity.overlapping_slices,
        "A stream runs one operation at a time, so the timestamps are not exact.");
  count("Damaged blocks", integrity.lost_blocks,
        "Parts of the file could not be read and were left out.");
  count("Missing ranks", integrity.missing_ranks.size(),
        "Processes of the job without a trace. Every number lacks their share.");
  count("Cut off", integrity.truncated ? 1 : 0,
        "The process was killed or is still running, so the end is missing.");

  std::string body = fmt::format("<p class=\"score\">{}{}</p>\n",
                                 tr("{} of 100 points.", fmt::format("<b>{}</b>", integrity.score)),
                                 integrity.score >= 100 ? tr(" The recording has no faults.") : "");
  for (std::string const& note : run_notes(page.run, page.analysis))
    body += fmt::format("<p>{}</p>\n", escape(note, 2000));

  return section("quality", "Quality of the recording",
                 body + table.html() + notes_list(integrity.notes));
}

}  // namespace stepscope::reports
