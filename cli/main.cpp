// The stepscope program: finds the command, lets it parse its options, runs it, returns its exit
// code.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <map>

#include "cli/commands.h"
#include "trace/base/files/truncated_mmap.h"
#include "trace/base/files/unfinished.h"
#include "trace/base/format.h"

namespace {

using namespace stepscope::cli;

bool is_command(std::string_view name) {
  auto const known = commands();
  return std::any_of(known.begin(), known.end(),
                     [&](Command const& command) { return name == command.name; });
}

int run(int argc, char** argv) {
  stepscope::base::survive_cut_files();
  stepscope::base::remove_unfinished_on_signals();

  CLI::App app(
      "Stepscope shows where the time and memory of multi-GPU training go, explains why, "
      "and guards both in CI.",
      "stepscope");
  app.set_version_flag("--version", "stepscope " STEPSCOPE_VERSION);

  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::simple);
  app.footer(
      "Run 'stepscope COMMAND --help' for the options of a command. "
      "RUN is a .stepscope file or a folder of them.");

  std::map<CLI::App const*, Action> actions;
  for (Command const& command : commands()) {
    CLI::App* const sub = app.add_subcommand(command.name, command.summary);
    actions[sub] = command.add(*sub);
  }

  if (argc > 1 && argv[1][0] != '-' && !is_command(argv[1])) {
    std::fprintf(stderr, "stepscope: %s: no such command, see stepscope --help\n",
                 stepscope::base::printable(argv[1]).c_str());
    return kWrongUse;
  }

  try {
    app.parse(argc, argv);
  } catch (CLI::Success const& wanted) {  // --help, --version
    return app.exit(wanted);
  } catch (CLI::ParseError const& wrong) {
    std::fprintf(stderr, "stepscope: %s, see stepscope --help\n",
                 stepscope::base::printable(wrong.what()).c_str());
    return kWrongUse;
  }

  return actions.at(app.get_subcommands().front())();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (std::exception const& error) {
    std::fprintf(stderr, "stepscope: internal error: %s, please report this\n",
                 stepscope::base::printable(error.what()).c_str());
    return kWrongUse;
  }
}
