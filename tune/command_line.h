// The command of a setting: a template with {knob} placeholders, and knobs that are environment
// variables.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trace/base/expected.h"
#include "tune/space.h"

namespace stepscope::tune {

struct CommandLine {
  std::vector<std::string> words;
  /// Variables and their values; an empty value: the variable is not set.
  std::vector<std::pair<std::string, std::string>> environment;
};

/// Errors: no command; a knob that neither stands in it nor is an environment variable.
base::Expected<void> check_template(Space const& space, std::span<std::string const> words);

/// {NAME} of a knob becomes its word. A word that is nothing but a placeholder whose knob's word is
/// empty is left out. {steps} becomes `steps`, else those of the space. Other braces stay.
CommandLine command_for(Space const& space, std::span<std::string const> words,
                        Settings const& settings, std::optional<int64_t> steps = {});

/// As people copy it into a shell.
std::string shell_text(CommandLine const& command);
/// The same as one program with arguments, by `env` where a variable is set.
std::vector<std::string> program_of(CommandLine const& command);

}  // namespace stepscope::tune
