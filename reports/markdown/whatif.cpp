#include "reports/markdown/whatif.h"

#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "reports/markdown/escape.h"
#include "reports/words/whatif_words.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

using analyzer::WhatIfAnswer;
using analyzer::WhatIfStats;

/// Bytes of a change or of a caution.
constexpr size_t kMostEscaped = 400;

std::string row_markdown(std::vector<std::string> const& cells) {
  std::string text = "|";
  for (std::string const& cell : cells) text += " " + markdown_escape(cell) + " |";
  return text + "\n";
}

/// `columns`: the line below the heading, which aligns the columns. Empty without rows.
std::string table_markdown(std::vector<std::vector<std::string>> const& rows,
                           std::string_view columns) {
  std::string text;
  for (size_t i = 0; i < rows.size(); ++i) {
    text += row_markdown(rows[i]);
    if (i == 0) text += fmt::format("{}\n", columns);
  }
  return text;
}

std::string trust_markdown(analyzer::ReplayBaseline const& baseline) {
  std::string text;
  std::string const sentence = replay_sentence(baseline);
  if (!sentence.empty()) text += "\n" + markdown_escape(sentence) + "\n";

  std::vector<std::string> const cautions = replay_cautions(baseline);
  if (!cautions.empty()) text += "\n";
  for (std::string const& caution : cautions) text += "- " + markdown_escape(caution) + "\n";

  std::string const residuals = table_markdown(residual_rows(baseline), "|---|---|---:|---:|");
  return residuals.empty() ? text : text + "\n" + residuals;
}

std::string fixes_markdown(analyzer::Analysis const& analysis, WhatIfStats const& stats) {
  std::string const table =
      table_markdown(fix_rows(analysis, stats), "|---|---|---:|---:|---:|---:|---|");

  std::string refused;
  for (analyzer::WhatIfFix const& fix : stats.fixes) {
    if (!fix.alone.is_refused) continue;
    std::string const change = markdown_escape(fix.alone.change, kMostEscaped);
    refused += fmt::format("- **{}**{}: {}\n", markdown_escape(fixed_finding(analysis, fix)),
                           change.empty() ? "" : " (" + change + ")",
                           markdown_escape(refusal_sentence(fix.alone.reason)));
  }

  std::string text;
  if (!table.empty() || !refused.empty()) text += "\n### Fixes of the findings\n";
  if (!table.empty()) text += "\n" + table;
  if (!refused.empty()) text += "\nNot predicted:\n\n" + refused;
  return text;
}

std::vector<std::string> answer_cells(WhatIfAnswer const& answer) {
  if (answer.is_refused) return {answer.change, "–", "–", "–", "–", "no prediction"};
  auto const or_dash = [](std::string text) { return text.empty() ? std::string("–") : text; };
  return {answer.change,
          base::format_duration(std::llround(answer.step_ns)),
          or_dash(step_interval(answer)),
          signed_gain(answer.gain),
          or_dash(gain_interval(answer)),
          next_bottleneck(answer)};
}

/// What does not fit into the table.
std::string answer_notes(WhatIfAnswer const& answer) {
  std::string const name = markdown_escape(answer.change, kMostEscaped);
  if (answer.is_refused)
    return fmt::format("- **{}**: no prediction: {}\n", name,
                       markdown_escape(refusal_sentence(answer.reason)));

  std::string const shares = path_shares(answer.path);
  std::string text = fmt::format("- **{}**: changed {}", name, changed_words(answer));
  text += shares.empty() ? ".\n" : "; critical path then: " + markdown_escape(shares) + ".\n";
  for (std::string const& caution : answer.cautions)
    text += "  - caution: " + markdown_escape(caution, kMostEscaped) + "\n";
  return text;
}

std::string answers_markdown(std::vector<WhatIfAnswer> const& answers) {
  if (answers.empty()) return {};
  std::vector<std::vector<std::string>> rows = {
      {"change", "step", "95 % interval", "gain", "95 % interval", "bottleneck then"}};
  std::string notes;

  for (WhatIfAnswer const& answer : answers) {
    rows.push_back(answer_cells(answer));
    notes += answer_notes(answer);
  }

  return "\n### Changes that were asked for\n\n" +
         table_markdown(rows, "|---|---:|---:|---:|---:|---|") + "\n" + notes;
}

}  // namespace

std::string whatif_markdown(model::Run const& run, analyzer::Analysis const& analysis,
                            WhatIfStats const& stats) {
  std::string text =
      fmt::format("## {}\n\n**{}**\n", run.name.empty() ? "Run" : markdown_escape(run.name, 200),
                  markdown_escape(whatif_headline(analysis, stats)));
  text += trust_markdown(stats.baseline);
  if (stats.baseline.is_refused) return text;
  return text + fixes_markdown(analysis, stats) + answers_markdown(stats.answers);
}

}  // namespace stepscope::reports
