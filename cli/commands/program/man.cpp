// stepscope man [COMMAND]: manual pages, made of the commands' own definitions.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"

namespace stepscope::cli {
namespace {

constexpr std::string_view kPurpose =
    "Stepscope shows where the time and memory of multi-GPU training go, explains why, and guards "
    "both in CI.";

/// As roff prints it: a backslash, a dash, and what would be a request at the begin of a line.
std::string roff(std::string_view text) {
  std::string result;
  for (char const c : text) {
    bool const begins_line = result.empty() || result.back() == '\n';

    if (begins_line && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else
      result += c;
  }
  return result;
}

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + roff(text) + "\\fR"; }

std::string title(std::string const& name) {
  std::string upper = name;
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return fmt::format(".TH {} 1 \"\" \"Stepscope {}\" \"Stepscope\"\n", roff(upper),
                     STEPSCOPE_VERSION);
}

std::string name_section(std::string const& name, std::string_view summary) {
  return fmt::format(".SH NAME\n{} \\- {}\n", roff(name), roff(summary));
}

/// "TEXT", "TEXT:{auto,always,never}"; empty for an option without a value. Bounds of numbers are
/// left out: they are in the message that refuses a number.
std::string value_of(CLI::Option const& option) {
  std::string type = option.get_expected_min() > 0 ? option.get_type_name() : std::string();
  size_t const colon = type.find(':');
  if (colon != std::string::npos && type.find('{') == std::string::npos) type.resize(colon);
  return type;
}

/// "-o, --output TEXT".
std::string names_of(CLI::Option const& option) {
  std::string names;
  for (std::string const& name : option.get_snames()) names += ", " + bold("-" + name);
  for (std::string const& name : option.get_lnames()) names += ", " + bold("--" + name);
  names.erase(0, 2);
  std::string const value = value_of(option);
  return value.empty() ? names : names + " " + italic(value);
}

std::string described(CLI::Option const& option, std::string const& names) {
  std::string text = fmt::format(".TP\n{}\n{}", names, roff(option.get_description()));
  std::string const otherwise = option.get_default_str();
  if (!otherwise.empty()) text += " (default: " + roff(otherwise) + ")";
  return text + "\n";
}

std::string synopsis(CLI::App const& app, std::string const& command) {
  std::string text =
      ".SH SYNOPSIS\n" + bold("stepscope " + command) + " [" + italic("OPTIONS") + "]";
  for (CLI::Option const* const option : app.get_options()) {
    if (!option->get_positional()) continue;
    std::string const name = italic(option->get_name(true));
    text += option->get_required() ? " " + name : " [" + name + "]";
    if (option->get_items_expected_max() > 1) text += "...";
  }
  return text + "\n";
}

std::string options_section(CLI::App const& app) {
  std::string arguments, options;
  for (CLI::Option const* const option : app.get_options()) {
    if (option->get_positional())
      arguments += described(*option, italic(option->get_name(true)));
    else
      options += described(*option, names_of(*option));
  }
  if (!arguments.empty()) arguments = ".SH ARGUMENTS\n" + arguments;
  return arguments + ".SH OPTIONS\n" + options;
}

std::string subcommands_section(CLI::App const& app) {
  std::string text;
  for (CLI::App const* const sub : app.get_subcommands([](CLI::App const*) { return true; }))
    text += fmt::format(".TP\n{}\n{}\n", bold(sub->get_name()), roff(sub->get_description()));
  return text.empty() ? text : ".SH COMMANDS\n" + text;
}

std::string page_of(Command const& command) {
  CLI::App app("", command.name);
  [[maybe_unused]] Action const action = command.add(app);
  std::string const name = std::string("stepscope-") + command.name;

  std::string text = title(name) + name_section(name, command.summary) +
                     synopsis(app, command.name) + subcommands_section(app) + options_section(app);
  if (std::string const footer = app.get_footer(); !footer.empty())
    text += ".SH NOTES\n.nf\n" + roff(footer) + "\n.fi\n";
  return text + ".SH SEE ALSO\n" + bold("stepscope") + "(1)\n";
}

std::string overview() {
  std::string text =
      title("stepscope") + name_section("stepscope", "profile and tune multi-GPU training") +
      ".SH SYNOPSIS\n" + bold("stepscope") + " " + italic("COMMAND") + " [" + italic("OPTIONS") +
      "]\n.SH DESCRIPTION\n" + roff(kPurpose) +
      "\nEach command has a page: " + bold("man stepscope-record") + ".\n" + ".SH COMMANDS\n";

  for (Command const& command : commands())
    text += fmt::format(".TP\n{}\n{}\n", bold(command.name), roff(command.summary));
  return text +
         ".SH EXIT STATUS\n.TP\n0\nGood.\n.TP\n1\nA finding, or slower beyond "
         "doubt.\n.TP\n2\nWrong "
         "use, or a file that cannot be read.\n.TP\n3\nUnclear: more runs would settle it.\n";
}

int write_pages(std::string const& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  std::vector<std::pair<std::string, std::string>> pages = {{"stepscope", overview()}};
  for (Command const& command : commands())
    pages.emplace_back(std::string("stepscope-") + command.name, page_of(command));

  for (auto const& [name, text] : pages) {
    std::string const path = (std::filesystem::path(folder) / (name + ".1")).string();
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    if (!file) return report_error({path + ": cannot be written, choose another folder"});
  }
  return kGood;
}

int print_page(std::string const& name) {
  if (name.empty()) return std::fputs(overview().c_str(), stdout) < 0 ? kWrongUse : kGood;
  for (Command const& command : commands()) {
    if (name != command.name) continue;
    std::fputs(page_of(command).c_str(), stdout);
    return kGood;
  }
  return report_error({fmt::format("man: there is no command {}, see stepscope --help", name)});
}

}  // namespace

Action add_man(CLI::App& app) {
  struct ManCommand {
    std::string command, folder;
  };
  auto const options = std::make_shared<ManCommand>();
  app.footer("Read a page with: stepscope man record | man -l -");
  auto* const command = app.add_option("COMMAND", options->command, "the command that it is about");
  app.add_option("--all", options->folder, "write all pages to this folder")->excludes(command);

  return [options] {
    return options->folder.empty() ? print_page(options->command) : write_pages(options->folder);
  };
}

}  // namespace stepscope::cli
