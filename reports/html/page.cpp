#include "reports/html/page.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "analyzer/metrics/steps/step_lengths.h"
#include "reports/html/bars.h"
#include "reports/html/escape.h"
#include "reports/words/language.h"

namespace stepscope::reports {

std::string section(std::string_view id, std::string_view title, std::string_view body) {
  return fmt::format(
      "<section id=\"{0}\" aria-labelledby=\"{0}-title\"><h2 "
      "id=\"{0}-title\">{1}</h2>\n{2}</section>\n",
      id, escape(tr(title)), body);
}

std::string folded(std::string_view title, std::string_view body) {
  return fmt::format("<details><summary>{}</summary>{}</details>\n", escape(tr(title)), body);
}

std::string tabbed(std::string_view label, std::vector<Tab> const& tabs) {
  if (tabs.size() == 1) return tabs[0].body;
  std::string out;
  for (Tab const& tab : tabs)
    out += fmt::format("<div id=\"{}\" data-tab=\"{}\"><h3>{}</h3>\n{}</div>\n", tab.id,
                       escape(tr(tab.title)), escape(tr(tab.title)), tab.body);
  return fmt::format("<div data-tabs=\"{}\">{}</div>\n", escape(tr(label)), out);
}

std::string how_computed(std::string_view text) {
  return fmt::format("<details class=\"how\"><summary>{}</summary><p>{}</p></details>\n",
                     tr("How computed"), escape(tr(text), 2000));
}

std::string chart(std::string_view name, std::string_view title, std::string_view how) {
  return fmt::format(
      "<figure class=\"chart\"><figcaption>{0}</figcaption><div class=\"plot\" data-chart=\"{1}\" "
      "role=\"img\" aria-label=\"{2}\"></div></figure>\n{3}",
      escape(tr(title)), name, tr("Chart: {}. Its data follow as a table.", escape(tr(title))),
      how_computed(how));
}

std::string empty_note(std::string_view text) {
  return fmt::format("<p class=\"empty\">{}</p>\n", escape(tr(text), 2000));
}

std::string subheading(std::string_view title) {
  return fmt::format("<h3>{}</h3>\n", escape(tr(title)));
}

std::string paragraph(std::string_view text) {
  return fmt::format("<p>{}</p>\n", escape(with_joined_units(text), 4000));
}

std::string key_tile(std::string_view value, std::string_view label, std::string_view hint) {
  return fmt::format("<div class=\"tile\" title=\"{}\"><b>{}</b><span>{}</span></div>",
                     escape(tr(hint)), escape(value), escape(tr(label)));
}

std::string note(std::string_view text) {
  return fmt::format("<p class=\"note\">{}</p>\n", escape(tr(text), 2000));
}

std::string split_bar(analyzer::TimeSplit const& split) {
  std::vector<BarPart> parts;
  for (int i = 0; i < kPartCount; ++i) parts.push_back({&part(i), part_ns(split, i)});
  return html_bar(parts, split.window_ns);
}

std::string split_key(Summary const& summary) {
  std::string items;
  for (int i = 0; i < kPartCount; ++i)
    if (summary.share(i) >= kLeastShownShare)
      items +=
          fmt::format("<li title=\"{}\"><i class=\"p p-{}\"></i>{}{}</li>", escape(part(i).meaning),
                      part(i).key, part(i).idle ? tr("idle: ") : "", escape(part(i).label));
  return fmt::format("<ul class=\"key\">{}</ul>\n", items);
}

analyzer::TimeSplit mean_split(Summary const& summary) {
  analyzer::TimeSplit split;
  auto const rounded = [&](size_t i) {
    return static_cast<int64_t>(std::llround(summary.parts_ns[i]));
  };

  split.compute_ns = rounded(0);
  split.exposed_comm_ns = rounded(1);
  split.exposed_copy_ns = rounded(2);
  for (size_t i = 0; i < split.idle_by_cause.size(); ++i) split.idle_by_cause[i] = rounded(3 + i);

  for (int i = 0; i < kPartCount; ++i) split.window_ns += part_ns(split, i);
  return split;
}

std::string evidence_view_id(size_t finding) { return fmt::format("finding-{}", finding + 1); }

model::Interval widened(model::Interval when, double share, int64_t at_least_ns,
                        model::Interval limit) {
  int64_t const margin =
      std::max(static_cast<int64_t>(static_cast<double>(when.length()) * share), at_least_ns);
  return {std::max(when.begin - margin, limit.begin), std::min(when.end + margin, limit.end)};
}

std::vector<TimelineView> timeline_views(model::Run const& run, analyzer::Analysis const& analysis,
                                         model::Interval range) {
  std::vector<TimelineView> views;
  if (range.length() <= 0) return views;
  views.push_back({"run", std::string(tr("Whole run")), range, std::nullopt});

  if (auto const examples = analyzer::example_steps(analysis)) {
    auto const& [typical, slowest] = *examples;
    views.push_back({"typical", tr("Typical step ({}, of median length)", typical.step),
                     widened(typical.when, 0.05, 0, range), std::nullopt});
    if (slowest.step != typical.step)
      views.push_back({"slowest", tr("Slowest step ({})", slowest.step),
                       widened(slowest.when, 0.05, 0, range), std::nullopt});
  }

  for (size_t i = 0; i < std::min(analysis.findings.size(), kMaxEvidenceViews); ++i) {
    if (analysis.findings[i].evidence.empty()) continue;
    auto const& place = analysis.findings[i].evidence.front();
    // A gap alone says little: show as much again on both sides, and at least 50 µs.
    model::Interval const when = widened(place.when, 1.0, 50'000, range);
    if (when.length() <= 0) continue;
    views.push_back({evidence_view_id(i),
                     tr("Finding {}: {}", i + 1, shown(analysis.findings[i].rule, 60)), when,
                     run.ranks.size() > 1 ? std::optional(place.ref.rank_index) : std::nullopt});
  }

  std::erase_if(views, [](TimelineView const& view) { return view.when.length() <= 0; });
  return views;
}

}  // namespace stepscope::reports
