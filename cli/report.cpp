// stepscope report RUN -o report.html: one self-contained page.
#include <cstdio>
#include <memory>

#include "analyzer/analysis.h"
#include "cli/commands.h"
#include "reports/html/html.h"
#include "trace/base/output_file.h"

namespace stepscope::cli {
namespace {

struct ReportOptions {
  std::vector<std::string> runs;
  std::string output = "report.html";
};

int report_run(ReportOptions const& options) {
  auto const run = open_run_and_warn(options.runs);
  if (!run) return report_error(run.error());
  std::string const html = reports::report_html(*run, analyzer::analyze(*run), {});
  if (auto const written = base::write_file_atomically(options.output, html); !written) return report_error(written.error());
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
