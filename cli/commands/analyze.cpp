// stepscope analyze RUN: facts and findings as text, JSON, Markdown or gauges.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/ranges.h>

#include "analyzer/analyze.h"
#include "analyzer/results/analysis.h"
#include "cli/analyze_and_warn.h"
#include "cli/commands.h"
#include "cli/pager.h"
#include "reports/json/json.h"
#include "reports/markdown/analysis.h"
#include "reports/openmetrics/openmetrics.h"
#include "reports/text/text.h"
#include "trace/base/shell_word.h"

namespace stepscope::cli {
namespace {

struct AnalyzeOptions {
  std::vector<std::string> runs;
  bool json = false, markdown = false, openmetrics = false;
  std::string steps;
  std::optional<int32_t> rank;
  bool stream = false, is_one_run = false;
};

std::string words_of_runs(AnalyzeOptions const& options) {
  std::string words;
  for (std::string const& run : options.runs) words += " " + base::shell_word(run);
  return words;
}

/// The command that shows the first finding with a place, and which others have one; empty where
/// none has.
std::string where_to_see(AnalyzeOptions const& options, analyzer::Analysis const& analysis) {
  std::vector<size_t> numbers;
  for (size_t i = 0; i < analysis.findings.size(); ++i)
    if (!analysis.findings[i].evidence.empty()) numbers.push_back(i + 1);
  if (numbers.empty()) return {};

  std::string text =
      fmt::format("stepscope view{} --finding {}\n", words_of_runs(options), numbers.front());
  if (numbers.size() == 1) return text;
  numbers.erase(numbers.begin());
  return text + fmt::format("         likewise --finding {}\n", fmt::join(numbers, ", "));
}

/// The command that replays chosen steps, which the analysis of a part does not; empty where there
/// is nothing to replay.
std::string replay_command(AnalyzeOptions const& options, analyzer::Analysis const& analysis) {
  if (options.steps.empty() || options.rank || analysis.findings.empty()) return {};
  return fmt::format("stepscope whatif{} --steps {}", words_of_runs(options),
                     base::shell_word(options.steps));
}

std::string text_of(AnalyzeOptions const& options, model::Run const& run,
                    analyzer::Analysis const& analysis) {
  if (options.json) return reports::analysis_json(run, analysis);
  if (options.markdown) return reports::analysis_markdown(run, analysis);
  if (options.openmetrics) return reports::openmetrics(run, analysis);

  std::string text = reports::analysis_text(run, analysis, {use_color(), terminal_width()});
  if (std::string const where = where_to_see(options, analysis); !where.empty())
    text += "\nSee it: " + where;
  if (std::string const replay = replay_command(options, analysis); !replay.empty())
    text += fmt::format("Gains by replay: {}\n", replay);
  return text;
}

int analyze_run(AnalyzeOptions const& options) {
  analyzer::AnalyzeOptions wanted;
  if (!options.steps.empty()) {
    auto const steps = parse_steps(options.steps);
    if (!steps) return report_error(steps.error());
    wanted.steps = *steps;
  }
  wanted.rank = options.rank;

  auto const analyzed =
      analyze_and_warn(options.runs, wanted,
                       options.stream ? Reading::kByProcess : Reading::kBySize, options.is_one_run);
  if (!analyzed) return report_error(analyzed.error());

  begin_paging();
  std::fputs(text_of(options, analyzed->run, analyzed->analysis).c_str(), stdout);
  return kGood;
}

}  // namespace

Action add_analyze(CLI::App& app) {
  auto const options = std::make_shared<AnalyzeOptions>();
  app.add_option("RUN", options->runs, "a trace file or a run folder")->required();
  auto* const json = app.add_flag("--json", options->json,
                                  "print all numbers as JSON (docs/reference/ANALYSIS_JSON.md)");
  auto* const markdown =
      app.add_flag("--markdown", options->markdown, "print a summary as Markdown")->excludes(json);
  app.add_flag("--openmetrics", options->openmetrics,
               "print gauges for dashboards (docs/reference/OPENMETRICS.md)")
      ->excludes(json)
      ->excludes(markdown);

  app.add_option("--steps", options->steps, "use only the steps first:last");
  app.add_option("--rank", options->rank, "use only this rank")->check(whole_number(0, INT32_MAX));
  add_one_run_option(app, options->is_one_run);
  app.add_flag("--stream", options->stream,
               "read one process after the other, which needs less memory; "
               "the default for large runs");

  return [options] { return analyze_run(*options); };
}

}  // namespace stepscope::cli
