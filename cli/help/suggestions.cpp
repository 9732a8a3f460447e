#include "cli/help/suggestions.h"

#include <fmt/format.h>

#include "trace/base/names/near_names.h"

namespace stepscope::cli {

std::vector<std::string> option_names(CLI::App const& command) {
  std::vector<std::string> names;
  for (CLI::Option const* const option : command.get_options()) {
    for (std::string const& name : option->get_lnames()) names.push_back("--" + name);
    for (std::string const& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

std::string explain(CLI::ParseError const& wrong, CLI::App const& command) {
  // CLI11: "The following argument was not expected: --stpes" with further ones behind it.
  std::string const message = wrong.what();
  std::string_view const option = base::option_in(message);
  if (dynamic_cast<CLI::ExtrasError const*>(&wrong) == nullptr || option.empty()) return message;

  std::string const meant = base::did_you_mean(option, option_names(command));
  return fmt::format("{}: no such option of {}{}", option, command.get_name(), meant);
}

}  // namespace stepscope::cli
