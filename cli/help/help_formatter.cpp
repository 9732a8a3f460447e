#include "cli/help/help_formatter.h"

#include <algorithm>
#include <utility>

#include "reports/text/layout.h"

namespace stepscope::cli {
namespace {

/// Where meanings begin.
constexpr size_t kMeaningColumn = 30;

}  // namespace

std::string HelpFormatter::paragraph(std::string const& text) const {
  if (width_ == 0 || text.empty()) return text;
  std::string const line = text.substr(0, text.find_last_not_of('\n') + 1);
  return reports::wrapped(line, std::max(width_, reports::kLeastWidth), "", "");
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
  return reports::list_line(
      "  " + make_option_name(option, is_positional) + make_option_opts(option),
      make_option_desc(option), kMeaningColumn, width_);
}

std::string HelpFormatter::make_subcommand(CLI::App const* command) const {
  return reports::list_line("  " + command->get_display_name(true), command->get_description(),
                            kMeaningColumn, width_);
}

}  // namespace stepscope::cli
