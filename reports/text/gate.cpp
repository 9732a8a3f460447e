#include "reports/text/gate.h"

#include <algorithm>

#include <fmt/format.h>

#include "reports/text/comparison.h"
#include "reports/text/layout.h"
#include "reports/words/runs/gate_words.h"

namespace stepscope::reports {
namespace {

/// In capitals what asks for something.
std::string_view marker(analyzer::GateVerdict verdict) {
  switch (verdict) {
    case analyzer::GateVerdict::kPassed:
      return "passed ";
    case analyzer::GateVerdict::kFailed:
      return "FAILED ";
    case analyzer::GateVerdict::kUnclear:
      break;
  }
  return "UNCLEAR";
}

std::string answers_text(analyzer::GateResult const& result, Paint const& paint, int width) {
  std::string text, last_reason;
  for (analyzer::GateAnswer const& answer : result.answers) {
    std::string const mark(marker(answer.verdict));
    bool const is_good = answer.verdict == analyzer::GateVerdict::kPassed;

    text +=
        wrapped(fmt::format("{}: {}", answer_title(result, answer), answer_summary(result, answer)),
                width, fmt::format("  {}  ", is_good ? mark : paint.bold(mark)), "           ");

    if (is_good) continue;
    std::string reason = answer_reason(result, answer);
    if (!reason.empty() && reason != last_reason)
      text += wrapped(reason, width, "           ", "           ");
    last_reason = std::move(reason);
  }

  return text;
}

/// The runs of a baseline that was written, how far they vary, and what to do next.
std::string baseline_section(analyzer::KeptBaseline const& kept, Paint const& paint, int width) {
  std::string const noise = kept_noise_text(kept);
  std::string text = "\n" + aligned(kept_rows(kept), paint);
  if (!noise.empty()) text += "\n" + wrapped(noise, width, "", "");
  return text + "\nNext: " + next_command(kept) + "\n";
}

std::string history_section(analyzer::GateResult const& result, int width) {
  std::string const whole = history_text(result);
  if (whole.empty()) return {};
  std::string text = "\n" + wrapped(whole, width, "", "");
  for (analyzer::LevelChange const& change : result.history->changes)
    text += wrapped(level_change_text(*result.history, change), width, "  - ", "    ");
  return text;
}

}  // namespace

std::string gate_text(analyzer::GateResult const& result, TextOptions const& options,
                      GateDetail detail) {
  Paint const paint{options.color, options.width};
  int const width = std::max(options.width, kLeastWidth);

  std::string text = wrapped(gate_headline(result), width, "", "");
  std::string const answers = answers_text(result, paint, width);
  if (!answers.empty()) text += "\n" + answers;

  bool const is_all =
      detail == GateDetail::kAll || result.verdict != analyzer::GateVerdict::kPassed;
  if (result.comparison && is_all)
    text += "\n" + comparison_text(shown_comparison(result), options);
  if (result.kept_baseline && result.kept_baseline->is_written)
    text += baseline_section(*result.kept_baseline, paint, width);
  text += history_section(result, width);

  std::vector<std::string> const notes = gate_notes(result);
  if (!notes.empty()) text += "\n";
  for (std::string const& note : notes) text += wrapped(note, width, "  - ", "    ");
  return text;
}

}  // namespace stepscope::reports
