#include "reports/html/html.h"

#include <utility>

#include <fmt/format.h>

#include "reports/html/document.h"
#include "reports/html/escape.h"
#include "reports/html/page.h"
#include "reports/html/page_data.h"
#include "reports/html/timeline_data.h"

namespace stepscope::reports {

// THE list, in the order of the page. A section is sections/NAME.cpp with `SectionHtml NAME(Page
// const&)`, and its row here. NAME returns a whole <section>, or nothing where the run has nothing
// of the kind: one device never waits for another. Where the recording lacks what the section
// needs, NAME says what.
// clang-format off
#define STEPSCOPE_SECTIONS(X) \
  X("summary", "Verdict", summary_section) \
  X("findings", "Findings", findings_section) \
  X("program", "Program", programs_section) \
  X("steps", "Steps", steps_section) \
  X("path", "Critical path", path_section) \
  X("devices", "Devices", devices_section) \
  X("idle", "Idle time", idle_section) \
  X("timeline", "Timeline", timeline_section) \
  X("waiting", "Waiting", waiting_section) \
  X("communication", "Communication", communication_section) \
  X("pipelines", "Pipelines", pipelines_section) \
  X("kernels", "Kernels", kernels_section) \
  X("launches", "Launches", launches_section) \
  X("copies", "Copies", copies_section) \
  X("phases", "Phases", phases_section) \
  X("memory", "Memory", memory_section) \
  X("health", "Health", device_telemetry_section) \
  X("facts", "Run", facts_section) \
  X("quality", "Quality", trace_integrity_section)
// clang-format on

#define STEPSCOPE_DECLARE_SECTION(id, title, write) SectionHtml write(Page const& page);
STEPSCOPE_SECTIONS(STEPSCOPE_DECLARE_SECTION)
#undef STEPSCOPE_DECLARE_SECTION

namespace {

/// The page from the top: what decides first, what explains it after.
struct SectionOf {
  char const *id, *title;  ///< title: in the navigation
  SectionHtml (*write)(Page const&);
};
#define STEPSCOPE_SECTION_ROW(id, title, write) {id, title, write},
constexpr SectionOf kSections[] = {STEPSCOPE_SECTIONS(STEPSCOPE_SECTION_ROW)};
#undef STEPSCOPE_SECTION_ROW

std::string_view page_title(Page const& page) {
  if (!page.options.title.empty()) return page.options.title;
  return page.run.name.empty() ? tr("Run") : std::string_view(page.run.name);
}

std::string document_of(Page const& page) {
  Document document;
  document.title = page_title(page);
  document.version = page.options.version;
  std::string left_out;
  for (SectionOf const& each : kSections) {
    SectionHtml written = each.write(page);
    if (!written.lacking.empty())
      left_out +=
          fmt::format("<li>{}: {}</li>\n", escape(tr(each.title)), escape(tr(written.lacking)));
    document.sections.push_back({each.id, each.title, std::move(written.html)});
  }
  if (!left_out.empty())
    document.sections.push_back({"left-out", "Left out",
                                 section("left-out", "Sections that the recording has nothing for",
                                         fmt::format("<ul>{}</ul>\n", left_out))});

  document.footer =
      "Times are integer nanoseconds. "
      "They are unions, not sums, unless a table says otherwise. "
      "Instants count from the first event of the run.";
  if (report_has_charts()) document.data = page_data(page);
  return html_document(document);
}

}  // namespace

std::string report_html(model::Run const& run, analyzer::Analysis const& analysis,
                        ReportOptions const& options) {
  using Whole = std::shared_ptr<model::RankTrace const>;
  // What is in memory can be read.
  return *report_html(
      run, analysis, [&](size_t process) { return Whole(Whole(), &run.ranks[process]); }, options);
}

base::Expected<std::string> report_html(model::Run const& outline,
                                        analyzer::Analysis const& analysis, ReadProcess const& read,
                                        ReportOptions const& options) {
  ScopedLanguage const spoken(options.language);
  model::Interval const range = run_range(outline);

  Page page{outline, analysis,
            options, summarize(analysis),
            range,   timeline_views(outline, analysis, range),
            {}};
  auto timeline = make_timeline(page, read);
  if (!timeline) return base::fail_with(timeline);
  page.timeline = std::move(*timeline);

  return document_of(page);
}

}  // namespace stepscope::reports
