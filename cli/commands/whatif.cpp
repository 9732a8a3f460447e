// stepscope whatif RUN: what changes of a run would give, by replaying it, as text, JSON or
// Markdown.
#include "analyzer/whatif/whatif.h"

#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "cli/analyze_and_warn.h"
#include "cli/commands.h"
#include "cli/pager.h"
#include "reports/json/whatif_json.h"
#include "reports/markdown/whatif.h"
#include "reports/text/whatif.h"

namespace stepscope::cli {
namespace {

struct WhatIfCommand {
  std::vector<std::string> runs, changes;
  bool is_together = false, only_changes = false;
  bool json = false, markdown = false;
  std::string steps, probe;
  bool is_one_run = false;
};

/// Errors: those of the first change that is not one; a change where a run is to stand.
base::Expected<analyzer::WhatIfQuestion> question_of(WhatIfCommand const& command) {
  for (std::string const& run : command.runs) {
    std::error_code ignored;
    if (analyzer::parse_change(run) && !std::filesystem::exists(run, ignored))
      return base::fail("{0} is a change and no run. Write --change {0}", run);
  }

  auto question = analyzer::question_of(command.changes, command.is_together);
  if (!question) return base::fail("--change {}", question.error().message);
  question->wants_fixes = !command.only_changes;
  return question;
}

std::string printed_predictions(WhatIfCommand const& command, AnalyzedRun const& analyzed,
                                analyzer::WhatIfStats const& stats) {
  if (command.json) return reports::whatif_json(analyzed.analysis, stats);
  if (command.markdown) return reports::whatif_markdown(analyzed.run, analyzed.analysis, stats);
  return reports::whatif_text(analyzed.run, analyzed.analysis, stats,
                              {use_color(), terminal_width()});
}

base::Expected<analyzer::WhatIfStats> predict(AnalyzedRun const& analyzed,
                                              analyzer::WhatIfQuestion const& question) {
  bool const is_in_memory = !analyzed.read;
  if (is_in_memory) return analyzer::what_if(analyzed.run, analyzed.analysis, question);
  return analyzer::what_if(run_loading::streamed_run_of(analyzed), analyzed.analysis, question);
}

/// Errors: those of reading the probe.
base::Expected<analyzer::ProbeRun> read_probe(std::string const& path) {
  analyzer::AnalyzeOptions wanted;
  wanted.wants_gains = false;
  auto const analyzed = analyze_and_warn({path}, wanted);
  if (!analyzed) return base::fail_with(analyzed);
  return analyzer::probe_of(analyzed->run, analyzed->analysis);
}

/// A change that selects nothing is mostly a misspelled name.
int exit_code_of(analyzer::WhatIfStats const& stats) {
  if (stats.baseline.is_refused) return kUnclear;
  bool selects_nothing = false, is_any_predicted = false;
  if (stats.answers.empty())
    is_any_predicted =
        stats.fixes.empty() || std::any_of(stats.fixes.begin(), stats.fixes.end(),
                                           [](auto const& fix) { return !fix.alone.is_refused; });

  for (analyzer::WhatIfAnswer const& answer : stats.answers) {
    selects_nothing = selects_nothing || answer.selects_nothing;
    is_any_predicted = is_any_predicted || !answer.is_refused;
  }
  if (selects_nothing) return kWrongUse;
  return is_any_predicted ? kGood : kUnclear;
}

int predict_changes(WhatIfCommand const& command) {
  auto question = question_of(command);
  if (!question) return report_error(question.error());

  analyzer::AnalyzeOptions wanted;
  if (!command.steps.empty()) {
    auto const steps = parse_steps(command.steps);
    if (!steps) return report_error(steps.error());
    wanted.steps = *steps;
  }

  wanted.wants_gains = false;  // the fixes tell them
  if (!command.probe.empty()) {
    auto probe = read_probe(command.probe);
    if (!probe) return report_error(probe.error());
    question->probe = std::move(*probe);
  }

  auto const analyzed =
      analyze_and_warn(command.runs, wanted, Reading::kBySize, command.is_one_run);
  if (!analyzed) return report_error(analyzed.error());

  auto const stats = predict(*analyzed, *question);
  if (!stats) return report_error(stats.error());

  begin_paging();
  std::fputs(printed_predictions(command, *analyzed, *stats).c_str(), stdout);
  return exit_code_of(*stats);
}

}  // namespace

Action add_whatif(CLI::App& app) {
  auto const command = std::make_shared<WhatIfCommand>();
  app.footer(
      "Without --change, the fixes of the findings are predicted. Exit code: 0 predicted, 2 wrong "
      "use or a change that selects nothing, 3 nothing could be predicted. docs/guide/WHATIF.md "
      "lists the changes");

  app.add_option("RUN", command->runs, "a trace file or a run folder")->required();
  auto* const change =
      app.add_option("--change", command->changes,
                     "a change to predict, such as input=0 or kernel:gemm=/1.5; repeat it for more")
          ->allow_extra_args(false);
  app.add_flag("--together", command->is_together,
               "make all changes at once instead of one at a time")
      ->needs(change);
  app.add_flag("--only-changes", command->only_changes,
               "predict only the changes, without the fixes of the findings")
      ->needs(change);

  app.add_option("--probe", command->probe,
                 "a second run with another number of micro-batches or ranks for the same batch, "
                 "or with another batch: "
                 "it tells what kernels take with other work")
      ->needs(change);

  auto* const json =
      app.add_flag("--json", command->json, "print all numbers as JSON (docs/guide/WHATIF.md)");
  app.add_flag("--markdown", command->markdown, "print the predictions as Markdown")
      ->excludes(json);
  app.add_option("--steps", command->steps, "use only the steps first:last");
  add_one_run_option(app, command->is_one_run);

  return [command] { return predict_changes(*command); };
}

}  // namespace stepscope::cli
