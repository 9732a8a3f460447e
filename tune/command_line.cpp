#include "tune/command_line.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "trace/base/format.h"
#include "trace/base/shell_word.h"

namespace stepscope::tune {
namespace {

constexpr std::string_view kStepsPlaceholder = "{steps}";

std::string placeholder_of(Knob const& knob) { return "{" + knob.name + "}"; }

/// The knob whose placeholder begins the text.
std::optional<size_t> knob_at(Space const& space, std::string_view text) {
  for (size_t k = 0; k < space.knobs.size(); ++k)
    if (!space.knobs[k].is_environment && text.starts_with(placeholder_of(space.knobs[k])))
      return k;
  return std::nullopt;
}

std::string filled(Space const& space, std::string_view word, Settings const& settings,
                   std::optional<int64_t> steps) {
  std::string result;
  while (!word.empty()) {
    if (steps && word.starts_with(kStepsPlaceholder)) {
      result += fmt::format("{}", *steps);
      word.remove_prefix(kStepsPlaceholder.size());
      continue;
    }

    auto const knob = knob_at(space, word);
    size_t const length = knob ? placeholder_of(space.knobs[*knob]).size() : 1;
    result += knob ? space.knobs[*knob].word_of(settings[*knob]) : std::string(word.substr(0, 1));
    word.remove_prefix(length);
  }
  return result;
}

}  // namespace

base::Expected<void> check_template(Space const& space, std::span<std::string const> words) {
  if (words.empty()) return base::fail("name the command after --: -- python3 train.py {{knob}}");

  for (Knob const& knob : space.knobs) {
    auto const has_it = [&](std::string const& word) {
      return word.find(placeholder_of(knob)) != std::string::npos;
    };
    if (!knob.is_environment && std::none_of(words.begin(), words.end(), has_it))
      return base::fail(
          "knob {}: the command does not have {}, write it there or make it an environment "
          "variable with env = true",
          base::printable(knob.name), base::printable(placeholder_of(knob)));
  }

  auto const has_steps = [](std::string const& word) {
    return word.find(kStepsPlaceholder) != std::string::npos;
  };
  if (space.steps && std::none_of(words.begin(), words.end(), has_steps))
    return base::fail(
        "steps of [budget]: the command does not have {{steps}}, write it there or remove them");
  return {};
}

CommandLine command_for(Space const& space, std::span<std::string const> words,
                        Settings const& settings, std::optional<int64_t> steps) {
  CommandLine command;
  auto const steps_here = space.steps ? std::optional(steps.value_or(*space.steps)) : std::nullopt;
  for (std::string const& word : words) {
    std::string text = filled(space, word, settings, steps_here);
    auto const knob = knob_at(space, word);
    bool const is_placeholder = knob && word == placeholder_of(space.knobs[*knob]);
    if (!text.empty() || !is_placeholder) command.words.push_back(std::move(text));
  }

  for (size_t k = 0; k < space.knobs.size(); ++k)
    if (space.knobs[k].is_environment)
      command.environment.emplace_back(space.knobs[k].name, space.knobs[k].word_of(settings[k]));
  return command;
}

std::string shell_text(CommandLine const& command) {
  std::string text;
  for (auto const& [name, value] : command.environment)
    if (!value.empty()) text += fmt::format("{}={} ", name, base::shell_word(value));
  for (std::string const& word : command.words)
    text += fmt::format("{}{}", &word == &command.words.front() ? "" : " ", base::shell_word(word));
  return text;
}

std::vector<std::string> program_of(CommandLine const& command) {
  if (command.environment.empty()) return command.words;
  std::vector<std::string> words = {"env"};
  for (auto const& [name, value] : command.environment)
    if (value.empty()) words.insert(words.end(), {"-u", name});
  for (auto const& [name, value] : command.environment)
    if (!value.empty()) words.push_back(name + "=" + value);
  words.insert(words.end(), command.words.begin(), command.words.end());
  return words;
}

}  // namespace stepscope::tune
