// The first screen: verdict, key numbers, and the findings with what to do about each.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "reports/html/bars.h"
#include "reports/html/escape.h"
#include "reports/html/page.h"
#include "reports/words/findings/places.h"
#include "reports/words/host_words.h"
#include "reports/words/language.h"
#include "reports/words/run_notes.h"
#include "reports/words/wording.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

std::string key_number(std::string_view value, std::string_view label, std::string_view hint) {
  return fmt::format("<div class=\"tile\" title=\"{}\"><b>{}</b><span>{}</span></div>",
                     escape(tr(hint)), escape(value), escape(tr(label)));
}

std::string key_numbers(Page const& page) {
  Summary const& summary = page.summary;
  std::string tiles;
  if (summary.median_ns)
    tiles += key_number(
        base::format_duration(std::llround(summary.mean_of_all_ns)), "step, mean",
        tr("A step on its device with the idle time before it; median {}, p95 {}",
           base::format_duration(*summary.median_ns), base::format_duration(*summary.p95_ns)));
  if (summary.has_steps && summary.mean_of_all_ns > 0)
    tiles += key_number(base::format_significant(1e9 / summary.mean_of_all_ns, 3) + " / s",
                        "steps a device", "1 / mean length of a step");

  if (summary.has_steps)
    tiles += key_number(base::format_share(summary.share(0)), "of a steady step: compute",
                        "Union of compute / length of the step");
  else
    tiles += key_number(base::format_share(summary.share(0)), "of the time: compute",
                        "Union of compute / window");

  if (summary.utilization)
    tiles += key_number(base::format_share(*summary.utilization),
                        "devices busy, first to last operation",
                        "Union of all device operations / window, whole run");
  if (summary.overlap)
    tiles += key_number(base::format_share(*summary.overlap), "communication hidden, whole run",
                        "Communication that runs while compute runs / all communication");
  if (summary.peak_reserved_bytes)
    tiles += key_number(base::format_bytes(*summary.peak_reserved_bytes), "peak reserved memory",
                        "On the device with most");

  return fmt::format("<div class=\"tiles\">{}</div>\n", tiles);
}

/// For programs without a device.
std::string host_numbers(Page const& page) {
  HostSummary const summary = summarize_hosts(page.analysis);
  if (!summary.mean_ns) return {};

  auto const share = [&](int64_t ns) {
    return *summary.mean_ns > 0
               ? base::format_share(static_cast<double>(ns) / static_cast<double>(*summary.mean_ns))
               : "–";
  };

  std::string tiles = key_number(base::format_duration(*summary.mean_ns), "step, mean",
                                 tr("Median {}, p95 {}", base::format_duration(*summary.median_ns),
                                    base::format_duration(*summary.p95_ns)));
  tiles += key_number(base::format_count(summary.steps), "steps", "Without warm-up");
  tiles += key_number(share(*summary.input_ns), "of a step: waiting for data",
                      "Union of the waits / time of the steps");

  return fmt::format("<div class=\"tiles\">{}</div>\n", tiles);
}

/// A place's picture, of the first places of the first findings.
std::string picture_of(Page const& page, size_t finding, size_t place) {
  auto const& pictures = page.timeline.pictures;
  return finding < pictures.size() && place < pictures[finding].size() ? pictures[finding][place]
                                                                       : "";
}

std::string evidence_list(Page const& page, size_t index) {
  analyzer::Finding const& finding = page.analysis.findings[index];
  if (finding.evidence.empty()) return {};

  std::string items;
  for (size_t i = 0; i < finding.evidence.size(); ++i) {
    auto const& place = finding.evidence[i];
    std::string track;

    auto const rank = static_cast<size_t>(place.ref.rank_index);
    if (place.track && rank < page.run.ranks.size() &&
        *place.track < page.run.ranks[rank].trace.tracks().size())
      track = ", " + escape(page.run.ranks[rank].trace.tracks()[*place.track].name, 80);

    items += fmt::format(
        "<li>{}{}{}{}</li>",
        tr("{} ({}) on {}",
           format_range(place.when.begin - page.range.begin, place.when.end - page.range.begin),
           base::format_duration(place.when.length()), escape(device_label(page.run, place.ref))),
        escape(steps_of_place(page.analysis, place)), track,
        i == 0 ? "" : picture_of(page, index, i));
  }

  std::string const id = evidence_view_id(index);
  bool const has_view = std::any_of(page.views.begin(), page.views.end(),
                                    [&](TimelineView const& view) { return view.id == id; });
  std::string const jump =
      has_view ? fmt::format("<button type=\"button\" class=\"jump\" data-view=\"{}\">{}</button>",
                             id, tr("Show in the timeline"))
               : "";

  std::string const in_viewer =
      tr("In the viewer, RUN is the run's folder: {}",
         fmt::format("<code>stepscope view RUN --finding {}</code>", index + 1));
  return fmt::format(
      "{}<div class=\"evidence\">{}<details><summary>{}</summary><ol>{}</ol><p>{}</p></details>"
      "</div>",
      picture_of(page, index, 0), jump, tr("Where to look ({})", finding.evidence.size()), items,
      in_viewer);
}

/// Without a measured step the time of all that was recorded stands in a step's place: what is
/// counted by step says nothing.
bool is_about_steps(analyzer::Finding const& finding) {
  auto const& metrics = finding.metrics;
  auto const steps = std::find_if(metrics.begin(), metrics.end(),
                                  [](auto const& metric) { return metric.first == "steps"; });
  return steps == metrics.end() || steps->second > 0;
}

std::string facts_of(analyzer::Finding const& finding) {
  bool const by_step = is_about_steps(finding);
  std::string items;

  if (finding.gain_alone && std::isfinite(*finding.gain_alone))
    items += fmt::format("<div title=\"{}\"><dt>{}</dt><dd>{}</dd></div>",
                         tr("The step of a replay of the run without it, against the recorded one"),
                         tr("gain, by replay"), replayed_gain_text(*finding.gain_alone));
  else if (finding.gain_ceiling && std::isfinite(*finding.gain_ceiling))
    items += fmt::format("<div title=\"{}\"><dt>{}</dt><dd>{}</dd></div>",
                         finding.rule == "pipeline-bubble"
                             ? tr("Gain of the remedies: twice the micro-batches, and equal stages "
                                  "if they are unequal")
                             : tr("T / (T − cost) − 1: the largest gain if all of it were removed"),
                         tr("gain, at most"), gain_text(*finding.gain_ceiling));
  if (!finding.gain_alone && finding.gain_if_hidden && std::isfinite(*finding.gain_if_hidden))
    items += fmt::format("<div title=\"{}\"><dt>{}</dt><dd>{}</dd></div>",
                         tr("The same, limited by the work that the device has to hide it behind"),
                         tr("gain when hidden, at most"), gain_text(*finding.gain_if_hidden));

  bool const are_faults =
      finding.rule == "trace-quality";  // those that it does not have say nothing
  for (auto const& [key, value] : finding.metrics) {
    if (are_faults && value == 0) continue;
    if (!by_step && (key == "steps" || key == "step_ns" || key.ends_with("per_step"))) continue;

    MetricWords words = metric_words(key, value);
    if (!by_step && key == "share") words.label = tr("share of the time");
    items +=
        fmt::format("<div><dt>{}</dt><dd>{}</dd></div>", escape(words.label), escape(words.value));
  }

  return items.empty() ? "" : fmt::format("<dl class=\"facts\">{}</dl>", items);
}

std::string finding_card(Page const& page, size_t index) {
  analyzer::Finding const& finding = page.analysis.findings[index];
  FindingWords const words = words_of(page.run, page.analysis, finding);
  std::string_view const severity = analyzer::to_string(finding.severity);

  std::string cost;
  if (finding.cost_ns_per_step)
    cost = fmt::format("<span class=\"cost\">{}</span>",
                       page.summary.has_steps || summarize_hosts(page.analysis).mean_ns
                           ? tr("{} a step", base::format_duration(*finding.cost_ns_per_step))
                           : base::format_duration(*finding.cost_ns_per_step));

  return fmt::format(
      "<article class=\"finding s-{0}\"><header><span "
      "class=\"badge\">{8}</span><h3>{1}</h3>{2}</header><p>{3}</p>"
      "<p class=\"advice\">{4}</p>{5}{6}<footer>{9} <code>{7}</code></footer></article>\n",
      severity, escape(words.title), cost, escape(with_joined_units(words.explanation), 2000),
      escape(words.advice, 2000), facts_of(finding), evidence_list(page, index),
      escape(finding.rule), tr(severity), tr("rule"));
}

/// What is left of the step with the fix of each finding and of those above it, as far as a replay
/// shows it. Empty where that is all of it.
std::string gains_waterfall(Page const& page) {
  constexpr double kLeastSaving = 0.01;
  double left = 1;
  std::string rows = waterfall_row(tr("as recorded"), 1, 1);

  for (analyzer::Finding const& finding : page.analysis.findings) {
    if (!finding.gain_after_above || !std::isfinite(*finding.gain_after_above)) continue;
    double const after = left / (1 + *finding.gain_after_above);
    rows += waterfall_row(words_of(page.run, page.analysis, finding).title, left, after);
    left = after;
  }
  if (1 - left < kLeastSaving) return {};

  return waterfall("What the fixes give, one after the other", tr("fix of"),
                   tr("step that is left"), tr("change"), rows) +
         note(
             "Replays of the run with each fix and those above it. Numbers are shares of the "
             "recorded step.");
}

std::string_view mean_bar_title(Summary const& summary) {
  if (!summary.has_steps) return tr("The average device");
  return tr(summary.unusual_steps > 0 ? "The average steady step" : "The average step");
}

}  // namespace

SectionHtml summary_section(Page const& page) {
  RunVerdict const found = verdict(page.run, page.analysis, page.summary);
  std::string body =
      fmt::format("<p class=\"verdict\">{}{}</p>\n",
                  found.to_do.empty() ? "" : "<strong>" + escape(found.to_do, 2000) + "</strong> ",
                  escape(with_joined_units(found.numbers), 2000));
  if (std::string const why = why_written(page.run); !why.empty())
    body += fmt::format("<p>{}</p>\n", escape(with_joined_units(why), 500));

  if (is_about_host(page)) return section("summary", "Verdict", body + host_numbers(page));
  if (page.analysis.devices.empty())
    return section("summary", "Verdict",
                   body + empty_note("Without device operations there is no breakdown of time. "
                                     "Did the program train while it was recorded?"));

  body += key_numbers(page);
  if (page.summary.mean_ns > 0) {
    body += fmt::format("<div class=\"mean\"><span>{}</span>{}</div>\n",
                        mean_bar_title(page.summary), split_bar(mean_split(page.summary)));
    body += split_key(page.summary);
  }

  return section("summary", "Verdict", body);
}

SectionHtml findings_section(Page const& page) {
  std::string body;
  if (page.analysis.findings.empty())
    body = empty_note("No rule found anything worth changing.");
  else
    body = note(
               "The most severe finding comes first. "
               "Costs of overlapping causes overlap, so do not add them.") +
           gains_waterfall(page);

  for (size_t i = 0; i < page.analysis.findings.size(); ++i) body += finding_card(page, i);
  return section("findings", tr("Findings ({})", page.analysis.findings.size()), body);
}

}  // namespace stepscope::reports
