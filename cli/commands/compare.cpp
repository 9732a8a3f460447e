// stepscope compare BASE… --vs NEW…: what changed between runs, whether it is real, and why, as
// text or JSON.
#include <cstdio>
#include <memory>

#include "analyzer/compare/comparison.h"
#include "cli/commands.h"
#include "cli/pager.h"
#include "cli/run_samples.h"
#include "reports/json/comparison_json.h"
#include "reports/markdown/markdown.h"
#include "reports/text/comparison.h"
#include "reports/words/runs/comparison_words.h"
#include "trace/base/files/output_file.h"
#include "trace/base/shell_word.h"

namespace stepscope::cli {
namespace {

struct CompareCommand {
  std::vector<std::string> base, candidate;
  bool json = false;
  std::string steps, markdown;
  double least_percent = 2;
  bool paired = false;
};

int exit_code(analyzer::Verdict verdict) {
  if (verdict == analyzer::Verdict::kMore) return kFinding;
  return verdict == analyzer::Verdict::kUnclear ? kUnclear : kGood;
}

/// What was meant, where --vs is missing.
int refuse_one_side(std::vector<std::string> const& runs) {
  bool const are_two = runs.size() == 2;
  return report_error({fmt::format(
      "compare: --vs is missing: it stands before the new run. Write stepscope compare {} "
      "--vs {}",
      are_two ? base::shell_word(runs[0]) : "BASE...",
      are_two ? base::shell_word(runs[1]) : "NEW...")});
}

int compare_sides(CompareCommand const& command) {
  if (command.candidate.empty()) return refuse_one_side(command.base);

  auto const base = read_samples(command.base, command.steps);
  if (!base) return report_error(base.error());
  auto const candidate = read_samples(command.candidate, command.steps);
  if (!candidate) return report_error(candidate.error());

  analyzer::Comparison const comparison =
      analyzer::compare_runs(*base, *candidate, {command.least_percent / 100, command.paired});
  if (comparison.refusal) return report_error({"compare: " + reports::refusal_text(comparison)});

  if (!command.markdown.empty()) {
    auto const written =
        base::write_file_atomically(command.markdown, reports::comparison_markdown(comparison));
    if (!written) return report_error(written.error());
  }

  std::string const text =
      command.json ? reports::comparison_json(comparison)
                   : reports::comparison_text(comparison, {use_color(), terminal_width()});
  begin_paging();
  std::fputs(text.c_str(), stdout);

  return exit_code(comparison.verdict);
}

}  // namespace

Action add_compare(CLI::App& app) {
  auto const command = std::make_shared<CompareCommand>();
  app.footer(
      "stepscope compare BASE... --vs NEW...\nEach BASE and NEW is one run. One a side is compared "
      "step by step, several run by run. "
      "Exit code: 0 the step is the same or faster, 1 slower, 2 wrong use or nothing to compare, 3 "
      "unclear. docs/guide/COMPARE.md");

  app.add_option("BASE", command->base, "runs before the change")->required();
  app.add_option("--vs", command->candidate, "runs after the change");

  app.add_flag("--json", command->json, "print all numbers as JSON (docs/guide/COMPARE.md)");
  app.add_option("--markdown", command->markdown,
                 "write a comment for a pull request to this file");
  app.add_option("--steps", command->steps, "use only the steps first:last of each run");
  app.add_option("--min-effect", command->least_percent, "smallest change that counts, in percent")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  app.add_flag("--paired", command->paired,
               "compare pairs: BASE and NEW name interleaved runs in the same order");

  return [command] { return compare_sides(*command); };
}

}  // namespace stepscope::cli
