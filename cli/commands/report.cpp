// stepscope report RUN: one self-contained page of a run, or of runs on different numbers of
// devices, which is a scaling report.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include "analyzer/results/analysis.h"
#include "analyzer/scaling/series.h"
#include "cli/analyze_and_warn.h"
#include "cli/commands.h"
#include "cli/commands/tune_report.h"
#include "cli/output_files.h"
#include "cli/run_samples.h"
#include "cli/team.h"
#include "reports/html/html.h"
#include "reports/html/scaling_page.h"
#include "reports/json/scaling_json.h"
#include "reports/markdown/scaling.h"
#include "reports/text/scaling.h"
#include "reports/words/language.h"
#include "reports/words/runs/scaling_words.h"
#include "run_loading/replayed_series.h"
#include "trace/base/files/output_file.h"
#include "trace/base/format.h"
#include "trace/import/open/run_series.h"

namespace stepscope::cli {
namespace {

struct ReportCommand {
  std::vector<std::string> runs;
  std::string output, json, markdown, scaling, language = "en";
  std::optional<double> samples;
  bool are_runs = false, is_one_run = false, no_replay = false;

  /// What only a series has.
  [[nodiscard]] char const* series_option() const {
    if (!scaling.empty()) return "--scaling";
    if (samples) return "--samples";
    if (!json.empty()) return "--json";
    if (no_replay) return "--no-replay";
    return markdown.empty() ? nullptr : "--markdown";
  }
};

void tell_written(std::string const& path) {
  if (!path.empty()) tell(fmt::format("wrote {}", base::printable(path)));
}

reports::ReportOptions page_options(ReportCommand const& command) {
  reports::ReportOptions options;
  options.language = reports::language_of(command.language).value_or(reports::Language::kEnglish);
  return options;
}

base::Expected<std::string> page_of(ReportCommand const& command) {
  auto const analyzed = analyze_and_warn(command.runs, {}, Reading::kBySize, command.is_one_run);
  if (!analyzed) return base::fail_with(analyzed);

  reports::ReportOptions const options = page_options(command);
  if (analyzed->read)
    return reports::report_html(analyzed->run, analyzed->analysis, analyzed->read, options);
  return reports::report_html(analyzed->run, analyzed->analysis, options);
}

int report_one_run(ReportCommand const& command) {
  if (char const* const option = command.series_option())
    return report_error(
        {fmt::format("report: {} needs runs on different numbers of devices, and this is one run; "
                     "stepscope analyze RUN --json prints its numbers",
                     option)});

  auto const html = page_of(command);
  if (!html) return report_error(html.error());

  std::string const output = command.output.empty() ? "report.html" : command.output;
  if (auto const written = base::write_file_atomically(output, *html); !written)
    return report_error(written.error());
  tell_written(output);
  return kGood;
}

int report_series(ReportCommand const& command, std::vector<std::string> const& paths) {
  auto samples = read_samples(paths, {});
  if (!samples) return report_error(samples.error());

  tell(
      fmt::format("{} runs form a scaling series (--one-run reads them as one run)", paths.size()));

  analyzer::ScalingOptions options;
  if (!command.scaling.empty())
    options.kind =
        command.scaling == "strong" ? analyzer::ScalingKind::kStrong : analyzer::ScalingKind::kWeak;
  options.samples = command.samples;

  analyzer::ScalingSeries series = analyzer::scale_series(*samples, options);
  if (series.refusal) return report_error({"report: " + reports::scaling_refusal(series)});
  if (!command.no_replay) {
    auto curve = run_loading::replay_series(series, *samples, {}, team());
    if (!curve) return report_error(curve.error());
    series.replayed = std::move(*curve);
  }

  std::string const output = command.output.empty() ? "scaling.html" : command.output;
  OutputFiles files;
  files.add(output, reports::scaling_html(series, page_options(command)));
  files.add(command.json, reports::scaling_json(series));
  files.add(command.markdown, reports::scaling_markdown(series));
  if (auto const written = files.write(); !written) return report_error(written.error());

  for (std::string const& path : {output, command.json, command.markdown}) tell_written(path);
  std::fputs(reports::scaling_text(series, {use_color(), terminal_width()}).c_str(), stdout);
  return kGood;
}

int report_search(ReportCommand const& command, std::string const& folder) {
  if (command.runs.size() > 1)
    return report_error({fmt::format("report: {} is a search of stepscope tune, name it alone",
                                     base::printable(folder))});
  if (char const* const option = command.series_option())
    return report_error(
        {fmt::format("report: {} needs runs on different numbers of devices, and {} is a search of "
                     "stepscope tune; its numbers are in its trials.jsonl",
                     option, base::printable(folder))});

  auto const html = search_page(folder, page_options(command));
  if (!html) return report_error(html.error());
  std::string const output = command.output.empty() ? "tuning.html" : command.output;
  if (auto const written = base::write_file_atomically(output, *html); !written)
    return report_error(written.error());
  tell_written(output);
  return kGood;
}

int report_runs(ReportCommand const& command) {
  auto const search = std::find_if(command.runs.begin(), command.runs.end(), holds_search);
  if (search != command.runs.end()) return report_search(command, *search);

  using enum import::PathsAre;
  import::PathsAre are = command.is_one_run ? kOneRun : kFound;
  if (command.are_runs) are = kRuns;

  auto const found = import::find_runs(command.runs, are);
  if (!found) return report_error(found.error());
  return found->is_series ? report_series(command, found->paths) : report_one_run(command);
}

}  // namespace

Action add_report(CLI::App& app) {
  auto const command = std::make_shared<ReportCommand>();
  app.footer(
      "One run: give the files or folders of its ranks. Scaling report: "
      "give runs on different numbers of devices, "
      "or a folder of them (stepscope run --scale); "
      "several runs on the same number are repeats. "
      "Search of stepscope tune: give its folder. "
      "docs/guide/REPORT.md, docs/guide/SCALING.md, docs/guide/TUNE.md");

  app.add_option("RUN", command->runs,
                 "a trace file or a run folder; several runs, or a folder of them, for a scaling "
                 "report; or "
                 "the folder of a search")
      ->required();
  app.add_option(
      "-o,--output", command->output,
      "the file to write (default: report.html, for a scaling series scaling.html, for a "
      "search tuning.html)");
  app.add_option("--lang", command->language,
                 "language of the page: en (default) or zh (Simplified Chinese)")
      ->check(CLI::IsMember({"en", "zh"}));
  auto* const series =
      app.add_flag("--series", command->are_runs, "treat each RUN as one run of a scaling series");
  app.add_flag("--one-run", command->is_one_run, "treat all RUNs as parts of one run")
      ->excludes(series);

  app.add_option("--scaling", command->scaling,
                 "scaling series: strong or weak scaling (default: detect)")
      ->check(CLI::IsMember({"strong", "weak"}));
  app.add_option(
         "--samples", command->samples,
         "scaling series: samples per step of the job (strong) or per step of a device (weak)")
      ->check(whole_number(1, 1'000'000'000));
  app.add_flag("--no-replay", command->no_replay,
               "scaling series: predict no steps by replaying a run, which reads it again");
  app.add_option("--json", command->json,
                 "scaling series: write its numbers as JSON to this file (docs/guide/SCALING.md)");
  app.add_option("--markdown", command->markdown,
                 "scaling series: write its summary as Markdown to this file");

  return [command] { return report_runs(*command); };
}

}  // namespace stepscope::cli
