#include "cli/help/help_formatter.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "reports/text/layout.h"

namespace stepscope::cli {
namespace {

/// Where meanings begin.
constexpr size_t kMeaningColumn = 30;

/// A sentence, or "  name     what it means" as lists of faults and patterns have it.
std::string broken_line(std::string_view line, int width) {
  size_t const name = std::min(line.find_first_not_of(' '), line.size());
  size_t const gap = line.find("  ", name);
  if (gap != std::string_view::npos) {
    size_t const words = std::min(line.find_first_not_of(' ', gap), line.size());
    return reports::list_line(line.substr(0, gap), line.substr(words), words, width);
  }
  std::string const indent(name, ' ');
  return reports::wrapped(line.substr(name), std::max(width, reports::kLeastWidth), indent, indent);
}

}  // namespace

std::string HelpFormatter::paragraph(std::string const& text) const {
  if (width_ == 0) return text;
  std::string broken;
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view const line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    broken += line.empty() ? "\n" : broken_line(line, width_);
  }
  return broken;
}

std::string HelpFormatter::make_description(CLI::App const* command) const {
  return paragraph(CLI::Formatter::make_description(command));
}

std::string HelpFormatter::make_usage(CLI::App const* command, std::string name) const {
  return paragraph(CLI::Formatter::make_usage(command, std::move(name)));
}

std::string HelpFormatter::make_footer(CLI::App const* command) const {
  return paragraph(CLI::Formatter::make_footer(command));
}

std::string HelpFormatter::make_option(CLI::Option const* option, bool is_positional) const {
  if (width_ == 0) return CLI::Formatter::make_option(option, is_positional);
  return reports::list_line(
      "  " + make_option_name(option, is_positional) + make_option_opts(option),
      make_option_desc(option), kMeaningColumn, width_);
}

std::string HelpFormatter::make_subcommand(CLI::App const* command) const {
  if (width_ == 0) return CLI::Formatter::make_subcommand(command);
  return reports::list_line("  " + command->get_display_name(true), command->get_description(),
                            kMeaningColumn, width_);
}

}  // namespace stepscope::cli
