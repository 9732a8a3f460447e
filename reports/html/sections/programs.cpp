// Programs without a device: steps, time by range, threads, and who came last to negotiations of
// collectives.
#include <algorithm>

#include <fmt/format.h>

#include "analyzer/metrics/host/main_range.h"
#include "reports/html/bars.h"
#include "reports/html/escape.h"
#include "reports/html/page.h"
#include "reports/html/table.h"
#include "reports/words/host_words.h"
#include "reports/words/language.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

double fraction_of(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

std::string_view kind_words(analyzer::HostRangeKind kind) {
  switch (kind) {
    case analyzer::HostRangeKind::kPhase:
      return tr("phase");
    case analyzer::HostRangeKind::kInput:
      return tr("wait for data");
    case analyzer::HostRangeKind::kRange:
      break;
  }
  return tr("range");
}

/// The part whose colour stands for a kind of range.
std::string_view kind_colour(analyzer::HostRangeKind kind) {
  return kind == analyzer::HostRangeKind::kInput ? "input" : "compute";
}

std::string_view step_note(analyzer::HostStepStats const& step) {
  if (step.warmup) return tr("warm-up");
  return step.outlier ? tr("much longer") : "";
}

std::string host_steps_table(Page const& page, analyzer::HostStats const& host, size_t number) {
  if (host.steps.empty()) return {};

  int64_t longest = 0;
  for (analyzer::HostStepStats const& step : host.steps)
    longest = std::max(longest, step.period.length());

  Table table(fmt::format("host-steps-{}", number), "Steps of the program");
  table.number("Step").number("Begin", "Since the first event of the run");
  table.number(
      "Time",
      "From the end of the previous step (if its number is the previous one) to the step's "
      "end");
  table.text("Share of the longest").number("Waits for data").text("Notes");

  for (analyzer::HostStepStats const& step : host.steps) {
    if (table.size() == kMaxTableRows) break;
    int64_t const begin = step.range.begin - page.range.begin;
    table.row({number_cell(fmt::format("{}", step.step), static_cast<double>(step.step)),
               number_cell(format_instant(begin), static_cast<double>(begin)),
               ns_cell(step.period.length()),
               meter_cell("compute", fraction_of(step.period.length(), longest)),
               ns_cell(step.input_ns), text_cell(step_note(step))});
  }

  return folded(tr("Each step ({})", host.steps.size()),
                table.html() + and_more(table.size(), host.steps.size(), "step"));
}

std::string host_ranges_table(analyzer::HostStats const& host, size_t number) {
  if (host.ranges.empty()) return {};

  bool const per_step = host.mean_ns.has_value();
  int64_t const whole = per_step ? *host.mean_ns : analyzer::busy_time(host);
  Table table(fmt::format("host-ranges-{}", number), "Time by range");

  table.text("Range").text("Kind").number(per_step ? "Own time, a step" : "Own time",
                                          "Time in the range outside of its inner ranges");
  table.text(per_step ? "Share of the step" : "Share of busy time");
  table.number(per_step ? "With inner ranges, a step" : "With inner ranges",
               "Union per thread, summed over the threads");
  table.number("Longest", "Per occurrence").number("Count", "How often it ran");

  for (analyzer::HostRangeStats const& range : host.ranges) {
    if (table.size() == kMaxTableRows) break;
    if (range.inclusive_ns == 0) continue;  // instants
    int64_t const own = per_step ? range.step_exclusive_ns.value_or(0) : range.exclusive_ns;
    int64_t const all = per_step ? range.step_inclusive_ns.value_or(0) : range.inclusive_ns;

    table.row(
        {range.names == 1 ? name_cell(range.name) : text_cell(tr("{} further names", range.names)),
         text_cell(kind_words(range.kind)), ns_cell(own),
         meter_cell(kind_colour(range.kind), std::min(fraction_of(own, whole), 1.0)), ns_cell(all),
         ns_cell(range.longest_ns), count_cell(range.count)});
  }

  std::string const more = and_more(table.size(), host.ranges.size(), "range");
  if (auto const unnamed = analyzer::unnamed_time(host))
    table.row({text_cell(tr("in no range")), none_cell(), ns_cell(*unnamed),
               meter_cell(kind_colour(analyzer::HostRangeKind::kRange),
                          std::min(fraction_of(*unnamed, whole), 1.0)),
               none_cell(), none_cell(), none_cell()});

  table.searchable();
  return table.html() + more;
}

std::string host_threads_table(analyzer::HostStats const& host, size_t number) {
  Table table(fmt::format("host-threads-{}", number), "Threads");
  table.text("Thread")
      .number("In ranges", "Union of its ranges, calls and steps, waiting included")
      .text("Share of the recording");
  table.number("Waits for data").number("Events").number("Steps");

  for (analyzer::HostThreadStats const& thread : host.threads) {
    if (table.size() == kMaxDeviceRows) break;
    table.row({name_cell(thread.name), ns_cell(thread.busy_ns),
               meter_cell("compute", fraction_of(thread.busy_ns, host.window.length())),
               ns_cell(thread.input_ns), count_cell(thread.events), count_cell(thread.steps)});
  }

  return table.html() + and_more(table.size(), host.threads.size(), "thread");
}

std::string negotiations_table(analyzer::NegotiationStats const& facts) {
  Table table("negotiations-table", "Ranks that were ready last for collectives");
  table.text("Rank")
      .number("Came last")
      .number("Negotiations")
      .number("Late on average", "After the last but one");
  table.number("At most").number("Others waited",
                                 "Union over the negotiations in which it was last");

  for (analyzer::NegotiationStats::Rank const& rank : facts.ranks) {
    if (table.size() == kMaxDeviceRows) break;
    table.row({number_cell(tr("rank {}", rank.rank), static_cast<double>(rank.rank)),
               count_cell(rank.last), count_cell(facts.count), ns_cell(rank.mean_ns),
               ns_cell(rank.longest_ns), ns_cell(rank.late_ns)});
  }

  return table.html() + and_more(table.size(), facts.ranks.size(), "rank");
}

std::string host_block(Page const& page, analyzer::HostStats const& host, size_t number) {
  std::string body;
  if (page.analysis.hosts.size() > 1)
    body += subheading(device_label(page.run, {host.rank_index, analyzer::kHostDevice}));

  if (host.mean_ns)
    body += fmt::format(
        "<p>{}</p>\n",
        escape(with_joined_units(
                   tr("A step takes {} on average, median {}, p95 {}; {} of it is waiting for data "
                      "({}). {}",
                      base::format_duration(*host.mean_ns), base::format_duration(*host.median_ns),
                      base::format_duration(*host.p95_ns), base::format_duration(*host.input_ns),
                      base::format_share(fraction_of(*host.input_ns, *host.mean_ns)),
                      slow_step_words(host))),
               2000));

  return body + host_ranges_table(host, number) + host_threads_table(host, number) +
         host_steps_table(page, host, number);
}

}  // namespace

SectionHtml programs_section(Page const& page) {
  analyzer::Analysis const& analysis = page.analysis;
  if (analysis.hosts.empty() && analysis.negotiations.empty()) return {};

  std::string body;
  for (analyzer::NegotiationStats const& facts : analysis.negotiations)
    body += negotiations_table(facts);
  size_t const shown_hosts = std::min(analysis.hosts.size(), kMostHosts);
  for (size_t i = 0; i < shown_hosts; ++i) body += host_block(page, analysis.hosts[i], i);
  body += and_more(shown_hosts, analysis.hosts.size(), "process");

  body += how_computed(
      "These processes used no device. "
      "Own time is the time in a range outside of its inner ranges; "
      "overlapping ranges of one name on a thread count once. "
      "Means per step are over all steps but the warm-up.");

  return section("program", "Program", body);
}

bool is_about_host(Page const& page) {
  analyzer::Analysis const& analysis = page.analysis;
  bool const is_known = !analysis.hosts.empty() || !analysis.negotiations.empty();
  return is_known && !has_device_work(analysis) && analysis.collectives.empty();
}

}  // namespace stepscope::reports
