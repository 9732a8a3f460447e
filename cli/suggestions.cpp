#include "cli/suggestions.h"

#include <fmt/format.h>

#include "query/schema.h"

namespace stepscope::cli {

std::string did_you_mean(std::string_view wrong, std::vector<std::string> const& known) {
  std::vector<std::string_view> const names(known.begin(), known.end());
  auto const near = query::near_names(wrong, names);
  return near.empty() ? std::string() : fmt::format(" (did you mean {}?)", fmt::join(near, " or "));
}

std::vector<std::string> option_names(CLI::App const& command) {
  std::vector<std::string> names;
  for (CLI::Option const* const option : command.get_options()) {
    for (std::string const& name : option->get_lnames()) names.push_back("--" + name);
    for (std::string const& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

std::string explain(CLI::ParseError const& wrong, CLI::App const& command) {
  std::string const message = wrong.what();
  // CLI11: "The following argument was not expected: --stpes" with further ones behind it.
  size_t const dash = message.find(" -");
  if (dynamic_cast<CLI::ExtrasError const*>(&wrong) == nullptr || dash == std::string::npos)
    return message;

  std::string_view option = std::string_view(message).substr(dash + 1);
  option = option.substr(0, option.find_first_of(" ="));
  std::string const meant = did_you_mean(option, option_names(command));
  return fmt::format("{}: no such option of {}{}", option, command.get_name(), meant);
}

}  // namespace stepscope::cli
