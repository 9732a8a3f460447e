#include "reports/html/html.h"

#include <fmt/format.h>

#include "reports/html/assets.h"
#include "reports/html/escape.h"
#include "reports/html/page.h"
#include "reports/html/page_data.h"
#include "reports/html/timeline_data.h"

namespace stepscope::reports {
namespace {

/// Nothing may be loaded, sent or framed; the one script is named by its hash, so text of a trace can never become one. Styles
/// are inline because bars carry their widths.
std::string content_policy() {
  std::string const scripts = report_script_hash().empty() ? "'none'" : fmt::format("'{}'", report_script_hash());
  return fmt::format("default-src 'none'; script-src {}; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'",
                     scripts);
}

/// The page from the top: what decides first, what explains it after.
struct SectionOf {
  char const *id, *title;  ///< title: in the navigation
  std::string (*write)(Page const&);
};
constexpr SectionOf kSections[] = {{"summary", "Verdict", summary_section},
                                   {"findings", "Findings", findings_section},
                                   {"steps", "Steps", steps_section},
                                   {"path", "Critical path", path_section},
                                   {"devices", "Devices", devices_section},
                                   {"idle", "Idle time", idle_section},
                                   {"timeline", "Timeline", timeline_section},
                                   {"waiting", "Waiting", waiting_section},
                                   {"communication", "Communication", communication_section},
                                   {"pipelines", "Pipelines", pipelines_section},
                                   {"kernels", "Kernels", kernels_section},
                                   {"launches", "Launches", launches_section},
                                   {"copies", "Copies", copies_section},
                                   {"phases", "Phases", phases_section},
                                   {"memory", "Memory", memory_section},
                                   {"health", "Health", health_section},
                                   {"facts", "Run", facts_section},
                                   {"quality", "Quality", quality_section}};

/// All sections that say something, after the links to them.
std::string navigation_and_sections(Page const& page, std::string_view before_sections) {
  std::string items, sections;
  for (SectionOf const& each : kSections) {
    std::string const text = each.write(page);
    if (text.empty()) continue;
    items += fmt::format("<a href=\"#{}\">{}</a>", each.id, each.title);
    sections += text;
  }
  return fmt::format("<nav aria-label=\"Sections\">{}</nav>\n<main>\n{}{}</main>\n", items, before_sections, sections);
}

std::string head(std::string const& title) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light "
      "dark\">\n"
      "<title>{} · Stepscope</title>\n<style>{}</style></head>\n",
      content_policy(), title, report_style());
}

std::string document_of(Page const& page) {
  model::Run const& run = page.run;
  ReportOptions const& options = page.options;
  std::string const title = escape(!options.title.empty() ? options.title : run.name.empty() ? "Run" : run.name, 200);
  std::string out = head(title);
  out += fmt::format(
      "<body>\n<a class=\"skip\" href=\"#summary\">Skip to the verdict</a>\n<header class=\"top\"><span "
      "class=\"brand\">Stepscope</span><h1>{}</h1></header>\n",
      title);
  out += navigation_and_sections(
      page, report_has_charts()
                ? "<noscript><p class=\"empty\">Charts need JavaScript. Every number is in the tables.</p></noscript>\n"
                : "<p class=\"empty\">This program was built without its charts. Every number is in the tables.</p>\n");
  out += fmt::format(
      "<footer class=\"end\">Written by Stepscope{}. Times are integer nanoseconds, unions and never sums unless a "
      "table says so; "
      "instants count from the first event of the run.</footer>\n",
      options.version.empty() ? "" : " " + escape(options.version));
  if (report_has_charts()) {
    out += "<script type=\"application/json\" id=\"data\">" + script_safe(page_data(page)) + "</script>\n";
    out += fmt::format("<script>{}</script>\n", report_script());
  }
  return out + "</body></html>\n";
}

}  // namespace

bool report_has_charts() { return !report_script().empty(); }

std::string report_html(model::Run const& run, analyzer::Analysis const& analysis, ReportOptions const& options) {
  using Whole = std::shared_ptr<model::RankTrace const>;
  // What is in memory can be read.
  return *report_html(
      run, analysis, [&](size_t process) { return Whole(Whole(), &run.ranks[process]); }, options);
}

base::Expected<std::string> report_html(model::Run const& outline, analyzer::Analysis const& analysis, ReadProcess const& read,
                                        ReportOptions const& options) {
  model::Interval const range = run_range(outline);
  Page page{outline, analysis, options, summarize(analysis), range, timeline_views(outline, analysis, range), {}};
  auto timeline = make_timeline(page, read);
  if (!timeline) return base::fail_with(timeline);
  page.timeline = std::move(*timeline);
  return document_of(page);
}

}  // namespace stepscope::reports
