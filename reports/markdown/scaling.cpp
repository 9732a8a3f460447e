#include "reports/markdown/scaling.h"

#include "reports/markdown/escape.h"
#include "reports/text/scaling_tables.h"
#include "reports/words/runs/comparison_words.h"
#include "reports/words/runs/replayed_curve_words.h"
#include "reports/words/runs/scaling_words.h"

namespace stepscope::reports {
namespace {

using analyzer::LostTime;
using analyzer::ScalingSeries;

/// Cells are as they are: text of traces is escaped before.
std::string scaling_markdown_table(TextTable const& table) {
  std::string text;
  for (size_t r = 0; r < table.size(); ++r) {
    text += "|";
    for (std::string const& cell : table[r]) text += " " + cell + " |";
    text += "\n";
    if (r > 0) continue;

    text += "|---|";
    for (size_t c = 1; c < table[r].size(); ++c) text += "---:|";
    text += "\n";
  }

  return text;
}

}  // namespace

std::string scaling_markdown(ScalingSeries const& series) {
  std::string text = "## Scaling\n\n";

  for (std::string const& line : scaling_differences(series))
    text += "- not the same: " + markdown_escape(line) + "\n";
  if (!scaling_differences(series).empty()) text += "\n";

  text += "**" + markdown_escape(scaling_headline(series)) + "**\n\n" + scaling_kind_text(series) +
          "\n\n";
  text += scaling_markdown_table(speed_table(series)) + "\n" +
          scaling_markdown_table(factor_table(series)) + "\n";

  LostTime const& loss = whole_loss(series);
  text += loss_heading(series, loss) + "\n\n";
  TextTable rows = {{"part", "ns of a step", "why"}};
  for (LossLine const& line : loss_lines(loss, 0).lines)
    rows.push_back({line.label, signed_duration(static_cast<double>(line.ns)),
                    line.reason.empty() ? "–" : markdown_escape(line.reason)});
  text += scaling_markdown_table(rows) + "\n" + scaling_limit_text(series) + "\n\n";

  if (!series.fits.fits.empty()) text += scaling_markdown_table(fit_table(series)) + "\n";
  if (series.replayed) {
    text += replayed_curve_text(series) + "\n\n";
    if (!series.replayed->points.empty())
      text += scaling_markdown_table(replayed_table(series)) + "\n";
  }
  for (std::string const& note : scaling_notes(series)) text += "- " + note + "\n";
  return text;
}

}  // namespace stepscope::reports
