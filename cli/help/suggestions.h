// What somebody who mistyped a command or an option may have meant.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace stepscope::cli {

/// The options of a command as they are written: "--steps", "-o".
std::vector<std::string> option_names(CLI::App const& command);
/// The words for a command line that could not be parsed: with the options that are near.
std::string explain(CLI::ParseError const& wrong, CLI::App const& command);

}  // namespace stepscope::cli
