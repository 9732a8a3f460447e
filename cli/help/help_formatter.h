// How --help looks: names at the left, what they mean behind them, or below where a terminal is
// narrow.
#pragma once

#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace stepscope::cli {

class HelpFormatter : public CLI::Formatter {
 public:
  /// `width`: columns of the terminal; 0 = into a file, where no line is broken.
  explicit HelpFormatter(int width) : width_(width) {}

  std::string make_description(CLI::App const* command) const override;
  std::string make_usage(CLI::App const* command, std::string name) const override;
  std::string make_footer(CLI::App const* command) const override;
  std::string make_option(CLI::Option const* option, bool is_positional) const override;
  std::string make_subcommand(CLI::App const* command) const override;

 private:
  [[nodiscard]] std::string paragraph(std::string const& text) const;

  int width_;
};

}  // namespace stepscope::cli
