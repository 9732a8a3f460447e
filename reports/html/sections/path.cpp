// The critical path: what made the run as long as it is, and how much longer the work outside of
// it could take.
#include <algorithm>

#include <fmt/format.h>

#include "reports/html/bars.h"
#include "reports/html/escape.h"
#include "reports/html/page.h"
#include "reports/html/table.h"
#include "reports/words/kernel_label.h"
#include "reports/words/language.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

/// Names shown at once; the rest of the analyzer's list opens on demand.
constexpr size_t kPathNames = 8;
/// Places and steps in tables; a job has a thousand places, and neighbouring steps are alike.
constexpr size_t kPathPlaces = 64, kPathSteps = 200;
/// A contradiction of clocks below this is what clocks always do; above, the path may name the
/// wrong rank.
constexpr int64_t kClockWorthSaying = 50'000;
/// Guessed waits below this share of the path's operations change nothing.
constexpr double kGuessWorthSaying = 0.01;

int64_t path_length(analyzer::PathSplit const& split) {
  int64_t sum = 0;
  for (int64_t const ns : split) sum = saturated_sum(sum, ns);
  return sum;
}

std::vector<BarPart> path_bar(analyzer::PathSplit const& split) {
  std::vector<BarPart> parts;
  for (size_t i = 0; i < split.size(); ++i)
    parts.push_back({&path_part(static_cast<analyzer::PathClass>(i)), split[i]});
  return parts;
}

std::string place_label(Page const& page, analyzer::PathPlace const& place) {
  analyzer::DeviceRef const ref{place.rank_index, place.device.value_or(0)};
  std::string label = device_label(page.run, ref);
  if (place.device)
    return label.find(tr("device")) == std::string::npos ? tr("the device of {}", label) : label;
  bool const one_process = page.run.ranks.size() <= 1;
  return one_process ? std::string(tr("the host"))
                     : tr("the host of rank {}", rank_of(page.run, ref));
}

/// Who and what most of the path is.
std::string path_sentence(Page const& page, analyzer::CriticalPathStats const& path) {
  auto const length = static_cast<double>(std::max<int64_t>(path_length(path.by_class), 1));
  auto const worst = static_cast<size_t>(
      std::max_element(path.by_class.begin(), path.by_class.end()) - path.by_class.begin());

  std::string text =
      tr("The critical path takes {}, from the first device operation to the end of the last: "
         "{} makes up {}.",
         base::format_duration(path.window.length()),
         path_part(static_cast<analyzer::PathClass>(worst)).label,
         base::format_share(static_cast<double>(path.by_class[worst]) / length));

  auto const where =
      std::max_element(path.places.begin(), path.places.end(), [](auto const& a, auto const& b) {
        return path_length(a.by_class) < path_length(b.by_class);
      });
  bool const all_there = where == path.places.end() ||
                         static_cast<double>(path_length(where->by_class)) >= 0.995 * length;
  if (!all_there)
    text += tr(" The place with the largest part of the path is {}, with {}.",
               place_label(page, *where),
               base::format_share(static_cast<double>(path_length(where->by_class)) / length));

  if (!path.contributors.empty() && path.contributors[0].name)
    text += tr(" Longest on it: “{}”, {}.", kernel_label(*path.contributors[0].name, 80),
               base::format_share(path.contributors[0].share));

  return fmt::format("<p>{}</p>\n", escape(with_joined_units(text), 2000));
}

std::string path_classes_table(analyzer::CriticalPathStats const& path) {
  auto const length = static_cast<double>(std::max<int64_t>(path_length(path.by_class), 1));
  Table table("path-table",
              "The critical path by activity, and the device operations outside of it");

  table.text("Activity").number("On the path").number("Share", "Share of the path");
  table
      .number("Operations off the path", "Device operations of this class that are not on the path")
      .if_known();
  table.number("Time off the path", "Sum of their durations").if_known();

  table.number("Nearly critical",
               tr("Share of the time off the path in operations with less than {} of slack",
                  base::format_duration(path.nearly_critical_below_ns)));
  table.if_known()
      .number("Least slack",
              "Smallest delay of a single operation that would not lengthen the run: "
              "it may end this much later")
      .if_known();
  table.number("Median slack").if_known();

  for (size_t i = 0; i < path.by_class.size(); ++i) {
    auto const path_class = static_cast<analyzer::PathClass>(i);
    auto const slack =
        std::find_if(path.slack_by_class.begin(), path.slack_by_class.end(),
                     [&](analyzer::PathSlack const& row) { return row.path_class == path_class; });
    bool const beside = slack != path.slack_by_class.end();
    if (path.by_class[i] <= 0 && !beside) continue;

    Part const& words = path_part(path_class);
    std::vector<Cell> cells = {
        part_cell(words), ns_cell(path.by_class[i]),
        meter_cell(words.key, static_cast<double>(path.by_class[i]) / length)};

    if (beside)
      cells.insert(cells.end(), {count_cell(slack->ops), ns_cell(slack->total_ns),
                                 ns_cell(slack->nearly_critical_ns), ns_cell(slack->min_ns),
                                 ns_cell(slack->median_ns)});
    cells.resize(8, none_cell());
    table.row(std::move(cells));
  }

  return table.html();
}

std::string contributors_table(analyzer::CriticalPathStats const& path, size_t from, size_t to) {
  Table table(from == 0 ? "path-names-table" : "path-more-names-table",
              "Names with most of the path");
  table.text("Name").text("Part").number("On the path").number("Share", "Share of the path");
  table.number("Occurrences", "How often the path is in it");

  for (size_t i = from; i < std::min(to, path.contributors.size()); ++i) {
    analyzer::PathContributor const& row = path.contributors[i];
    table.row({row.name ? name_cell(*row.name) : text_cell(tr("no event was open")),
               part_cell(path_part(row.path_class)), ns_cell(row.ns),
               meter_cell(path_part(row.path_class).key, row.share), count_cell(row.count)});
  }

  return table.html();
}

std::string slack_table(analyzer::CriticalPathStats const& path) {
  if (path.slack_by_name.empty()) return {};

  Table table("path-slack-table",
              "Device operations outside of the path: how much later each could end");
  table.text("Name").text("Part").number("Operations").number("Time", "Sum of durations");
  table.number("Nearly critical", "Share of that time")
      .number("Least slack")
      .number("Median slack");

  for (analyzer::PathSlack const& row : path.slack_by_name)
    table.row({row.name ? name_cell(*row.name) : none_cell(), part_cell(path_part(row.path_class)),
               count_cell(row.ops), ns_cell(row.total_ns), ns_cell(row.nearly_critical_ns),
               ns_cell(row.min_ns), ns_cell(row.median_ns)});
  return folded("Operations off the path: how much later each could end", table.html());
}

std::string places_table(Page const& page, analyzer::CriticalPathStats const& path) {
  if (path.places.size() < 2) return {};

  std::vector<analyzer::PathPlace const*> places;
  for (analyzer::PathPlace const& place : path.places) places.push_back(&place);
  std::stable_sort(places.begin(), places.end(), [](auto const* a, auto const* b) {
    return path_length(a->by_class) > path_length(b->by_class);
  });

  Table table("path-places-table", "The critical path by place");
  table.text("Place")
      .text("Activity there")
      .number("On the path")
      .number("Share", "Share of the path");
  auto const length = static_cast<double>(std::max<int64_t>(path_length(path.by_class), 1));
  int64_t const longest = path_length(places[0]->by_class);

  for (size_t i = 0; i < std::min(places.size(), kPathPlaces); ++i) {
    int64_t const ns = path_length(places[i]->by_class);
    table.row({label_cell(place_label(page, *places[i])),
               bar_cell_of(path_bar(places[i]->by_class), longest), ns_cell(ns),
               share_cell(static_cast<double>(ns) / length)});
  }

  return folded(tr("Table by device and host ({})", places.size()),
                table.html() + and_more(table.size(), places.size(), "place"));
}

std::string path_steps_table(Page const& page, analyzer::CriticalPathStats const& path) {
  std::vector<size_t> present;
  for (size_t i = 0; i < path.by_class.size(); ++i)
    if (path.by_class[i] > 0) present.push_back(i);

  Table table("path-steps-table", "The critical path in each step");
  table.number("Step")
      .text("Most of it on", "The process with most of the path in this step")
      .number("On the path");

  for (size_t const i : present) {
    Part const& words = path_part(static_cast<analyzer::PathClass>(i));
    table.number(words.label, words.meaning);
  }

  for (size_t s = 0; s < std::min(path.steps.size(), kPathSteps); ++s) {
    analyzer::PathStep const& step = path.steps[s];
    std::vector<Cell> cells = {
        number_cell(std::to_string(step.step), static_cast<double>(step.step)),
        label_cell(tr("rank {}", rank_of(page.run, {step.rank_index, 0}))),
        ns_cell(path_length(step.by_class))};

    for (size_t const i : present) cells.push_back(ns_cell(step.by_class[i]));
    table.row(std::move(cells));
  }

  return table.html() + and_more(table.size(), path.steps.size(), "step");
}

/// What makes the path less sure, if anything does.
std::string path_doubts(analyzer::CriticalPathStats const& path, size_t processes) {
  std::string text;
  if (static_cast<double>(path.guessed_waits) >
      kGuessWorthSaying * static_cast<double>(std::max<uint64_t>(path.ops, 1)))
    text +=
        tr("The recording does not show what {} of the {} device operations on the path waited "
           "for; Stepscope assumes the last operation before each. ",
           base::format_count(path.guessed_waits), base::format_count(path.ops));

  int64_t const clocks =
      std::max({path.clock_disagreement_ns, path.clock_filled_ns, path.clock_cut_ns});
  // One process has one clock: its devices end a collective at different times.
  if (clocks > kClockWorthSaying && processes > 1)
    text +=
        tr("The ranks' clocks contradict each other by up to {}, "
           "so the path may be off by as much where it changes ranks. ",
           base::format_duration(clocks));

  if (!path.is_slack_exact)
    text +=
        tr("Slack may be less: "
           "chains of ranks that delay each other are longer than Stepscope follows. ");

  return text.empty() ? text : fmt::format("<p class=\"note\">{}</p>\n", escape(text, 2000));
}

}  // namespace

SectionHtml path_section(Page const& page) {
  auto const& path = page.analysis.critical_path;
  if (!path || path_length(path->by_class) <= 0) return {};

  int64_t const length = path_length(path->by_class);
  std::string body = path_sentence(page, *path);
  body += "<div class=\"mean\">" + html_bar(path_bar(path->by_class), length) + "</div>\n" +
          bar_key(path_bar(path->by_class), length, false);

  body += path_doubts(*path, page.run.ranks.size());
  body += subheading("By activity") + path_classes_table(*path);
  body += subheading("By name") + contributors_table(*path, 0, kPathNames);
  if (path->contributors.size() > kPathNames)
    body += folded(counted(path->contributors.size() - kPathNames, "more name"),
                   contributors_table(*path, kPathNames, path->contributors.size()));
  body += slack_table(*path) + places_table(page, *path);

  std::string const how =
      "Stepscope walks back from the end of the last device operation, "
      "always to the last thing that it waited for. "
      "This is the operation before it on its stream, the work behind an event, "
      "the end of its launch call, or in a collective the rank that came last. "
      "So the path is a chain of work over all ranks. "
      "Each nanosecond of it has exactly one class, and the parts sum to the run. "
      "Shortening work on the path shortens the run, until another chain is the longest; "
      "slack is the distance of other work from that point. "
      "Hatched parts are not on a device.";

  if (path->steps.size() > 1)
    body += chart("path", "The critical path in each step", how) +
            folded("Data as a table", path_steps_table(page, *path));
  else
    body += how_computed(how);

  return section("path", "Critical path", body);
}

}  // namespace stepscope::reports
