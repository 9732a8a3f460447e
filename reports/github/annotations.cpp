#include "reports/github/annotations.h"

#include <fmt/format.h>

#include "reports/words/labels.h"
#include "reports/words/runs/gate_words.h"

namespace stepscope::reports {
namespace {

/// As the runner reads it: data ends with its line, and % begins an escape.
std::string command_data(std::string_view text) {
  std::string result;
  for (char const byte : text) {
    if (byte == '%')
      result += "%25";
    else if (byte == '\r')
      result += "%0D";
    else if (byte == '\n')
      result += "%0A";
    else
      result += byte;
  }

  return result;
}

/// Properties end with ',' or ':' too.
std::string command_property(std::string_view text) {
  std::string result;
  for (char const byte : command_data(text)) {
    if (byte == ':')
      result += "%3A";
    else if (byte == ',')
      result += "%2C";
    else
      result += byte;
  }

  return result;
}

std::string place_of(analyzer::GateResult const& result, analyzer::GateAnswer const& answer) {
  if (answer.question != analyzer::GateQuestion::kBudget) return {};
  analyzer::Budget const& budget = result.budgets[answer.index].budget;
  if (budget.line == 0) return {};
  return fmt::format(",file={},line={},col={}", command_property(budget.file), budget.line,
                     budget.column);
}

}  // namespace

std::string gate_annotations(analyzer::GateResult const& result) {
  std::string text;
  for (analyzer::GateAnswer const& answer : result.answers) {
    if (answer.verdict == analyzer::GateVerdict::kPassed) continue;

    std::string_view const command =
        answer.verdict == analyzer::GateVerdict::kFailed ? "error" : "warning";
    std::string const title = fmt::format("{}: {} {}", shown(result.name),
                                          answer_title(result, answer), gate_word(answer.verdict));
    text += fmt::format("::{} title={}{}::{}\n", command, command_property(title),
                        place_of(result, answer), command_data(answer_message(result, answer)));
  }

  if (!result.history) return text;
  for (analyzer::LevelChange const& change : result.history->changes)
    text += fmt::format("::notice title={}::{}\n",
                        command_property(shown(result.name) + ": step time changed"),
                        command_data(level_change_text(*result.history, change)));
  return text;
}

std::string without_commands(std::string_view text, std::string_view token) {
  bool const ends = text.empty() || text.back() == '\n';
  return fmt::format("::stop-commands::{}\n{}{}::{}::\n", token, text, ends ? "" : "\n", token);
}

}  // namespace stepscope::reports
