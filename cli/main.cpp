// The stepscope program: finds the command, lets it parse its options, runs it, returns its exit
// code.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cli/ascii_terminal.h"
#include "cli/commands.h"
#include "cli/help/help_formatter.h"
#include "cli/help/suggestions.h"
#include "cli/pager.h"
#include "cli/team.h"
#include "trace/base/files/truncated_mmap.h"
#include "trace/base/files/unfinished.h"
#include "trace/base/format.h"
#include "trace/base/names/near_names.h"

namespace {

using namespace stepscope::cli;

/// Names that users of other profilers type.
constexpr std::array kOtherNames = {std::pair{"analyze", "stats"}, std::pair{"compare", "diff"}};

std::vector<std::string> command_names() {
  std::vector<std::string> names = {"help"};
  for (Command const& command : commands()) names.emplace_back(command.name);
  for (auto const& [name, other] : kOtherNames) names.emplace_back(other);
  return names;
}

bool is_command(std::string_view name) {
  auto const known = command_names();
  return std::find(known.begin(), known.end(), name) != known.end();
}

/// "help" and "help COMMAND" are "--help" and "COMMAND --help".
std::vector<std::string> arguments_of(int argc, char** argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty() || arguments.front() != "help") return arguments;
  arguments.erase(arguments.begin());
  arguments.resize(std::min<size_t>(arguments.size(), 1));
  arguments.emplace_back("--help");
  return arguments;
}

int refuse(std::string const& what) {
  std::fprintf(stderr, "stepscope: %s\n", stepscope::base::printable(what).c_str());
  return kWrongUse;
}

/// Before or behind each command.
void add_common_options(CLI::App& app) {
  app.set_version_flag("-V,--version", "stepscope " STEPSCOPE_VERSION);
  app.add_option("--color", color_choice(), "colours in texts: auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();

  app.add_flag("-q,--quiet", is_quiet(), "no progress and no notes on the standard error");
  app.add_flag("--no-pager", is_pager_forbidden(), "do not send long output through a pager");
  app.add_flag("--alone", stepscope::cli::is_alone(),
               "under mpirun or srun: read the run with this process alone");
}

/// What a full disk did not take is no success.
int finish_output(int code) {
  bool const is_written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (is_written || code == kWrongUse || errno == EPIPE) return code;
  return refuse(std::string("the output cannot be written (") + std::strerror(errno) +
                "), free disk space or write it elsewhere");
}

int run(int argc, char** argv) {
  stepscope::base::survive_cut_files();
  stepscope::base::remove_unfinished_on_signals();
  stepscope::cli::begin_ascii_terminal();

  CLI::App app(
      "Stepscope shows where the time and memory of multi-GPU training go, explains why, "
      "and guards both in CI.",
      "stepscope");
  app.formatter(std::make_shared<HelpFormatter>(wrap_width()));
  add_common_options(app);
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::simple);
  app.footer(
      "Run 'stepscope help COMMAND' for the options of a command. "
      "RUN is a .stepscope file or a folder of them.");

  std::map<CLI::App const*, Action> actions;
  for (Command const& command : commands()) {
    CLI::App* const sub = app.add_subcommand(command.name, command.summary);
    actions[sub] = command.add(*sub);
    // Options of the program may follow the command, unless the command hands options on.
    if (!sub->get_prefix_command() && !sub->get_allow_extras()) sub->fallthrough();
    for (auto const& [name, other] : kOtherNames)
      if (std::string_view(name) == command.name) sub->alias(other);
  }

  std::vector<std::string> arguments = arguments_of(argc, argv);
  std::string const first = arguments.empty() ? std::string() : arguments.front();
  if (!first.empty() && first.front() != '-' && !is_command(first))
    return refuse(first + ": no such command" +
                  stepscope::base::did_you_mean(first, command_names()) + ", see stepscope --help");

  try {
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes them
    app.parse(arguments);
  } catch (CLI::Success const& wanted) {  // --help, --version
    int const code = app.exit(wanted);
    if (further_help()) further_help()();
    return finish_output(code);
  } catch (CLI::ParseError const& wrong) {
    auto const chosen = app.get_subcommands();
    CLI::App const& command = chosen.empty() ? app : *chosen.front();
    return refuse(explain(wrong, command) + ", see stepscope " +
                  (chosen.empty() ? "" : command.get_name() + " ") + "--help");
  }

  CLI::App const* const chosen = app.get_subcommands().front();
  if (auto const code = join_team(chosen->get_name(), {argv + 1, argv + argc})) return *code;
  int const code = finish_output(actions.at(chosen)());
  finish_paging();
  leave_team();
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (std::exception const& error) {
    finish_paging();
    std::fprintf(stderr, "stepscope: internal error: %s, please report this\n",
                 stepscope::base::printable(error.what()).c_str());
    return kWrongUse;
  }
}
