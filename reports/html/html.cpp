#include "reports/html/html.h"

#include "reports/html/document.h"
#include "reports/html/page.h"
#include "reports/html/page_data.h"
#include "reports/html/timeline_data.h"

namespace stepscope::reports {
namespace {

/// The page from the top: what decides first, what explains it after.
struct SectionOf {
  char const *id, *title;  ///< title: in the navigation
  std::string (*write)(Page const&);
};
constexpr SectionOf kSections[] = {{"summary", "Verdict", summary_section},
                                   {"findings", "Findings", findings_section},
                                   {"program", "Program", programs_section},
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

std::string document_of(Page const& page) {
  model::Run const& run = page.run;
  ReportOptions const& options = page.options;
  Document document;
  document.title = !options.title.empty() ? options.title
                   : run.name.empty()     ? tr("Run")
                                          : std::string_view(run.name);
  document.version = options.version;
  for (SectionOf const& each : kSections)
    document.sections.push_back({each.id, each.title, each.write(page)});
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
