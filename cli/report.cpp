// stepscope report RUN -o report.html: one self-contained page.
#include <cstdio>
#include <memory>

#include "analyzer/analysis.h"
#include "cli/analyzed_run.h"
#include "cli/commands.h"
#include "reports/html/html.h"
#include "trace/base/output_file.h"

namespace stepscope::cli {
namespace {

struct ReportOptions {
  std::vector<std::string> runs;
  std::string output = "report.html";
};

base::Expected<std::string> page_of(std::vector<std::string> const& runs) {
  auto const analyzed = analyze_and_warn(runs, {});
  if (!analyzed) return base::fail_with(analyzed);
  if (analyzed->read) return reports::report_html(analyzed->run, analyzed->analysis, analyzed->read);
  return reports::report_html(analyzed->run, analyzed->analysis);
}

int report_run(ReportOptions const& options) {
  auto const html = page_of(options.runs);
  if (!html) return report_error(html.error());
  if (auto const written = base::write_file_atomically(options.output, *html); !written) return report_error(written.error());
  std::fprintf(stderr, "stepscope: wrote %s\n", options.output.c_str());
  return kGood;
}

}  // namespace

Action add_report(CLI::App& app) {
  auto const options = std::make_shared<ReportOptions>();
  app.add_option("RUN", options->runs, "a trace file or a run folder")->required();
  app.add_option("-o,--output", options->output, "the file to write")->capture_default_str();
  return [options] { return report_run(*options); };
}

}  // namespace stepscope::cli
