// stepscope mcp PATH…: a server of the Model Context Protocol on the standard streams, for agents.
#include <csignal>
#include <cstdio>
#include <memory>

#include <unistd.h>

#include "agent/serve.h"
#include "cli/commands.h"
#include "trace/base/malloc_tuning.h"

namespace stepscope::cli {
namespace {

/// The output for messages. Whatever else prints from now on prints to the standard error, since
/// one strange line ends the session of a client. Negative: there is no descriptor left.
int take_output() {
  std::fflush(stdout);
  int const output = ::dup(STDOUT_FILENO);
  if (output >= 0) ::dup2(STDERR_FILENO, STDOUT_FILENO);
  return output;
}

int serve_paths(std::vector<std::string> const& paths) {
  auto served = agent::ServedPaths::of(paths);
  if (!served) return report_error(served.error());

  base::keep_freed_memory();
  std::signal(SIGPIPE, SIG_IGN);  // a client that is gone is an end like any other
  int const output = take_output();
  if (output < 0) return report_error({"mcp: no descriptor is left, raise the limit (ulimit -n)"});

  agent::RunStore runs(std::move(*served));
  auto const answered = agent::serve(runs, STEPSCOPE_VERSION, STDIN_FILENO, output);
  return answered ? kGood : report_error(answered.error());
}

}  // namespace

Action add_mcp(CLI::App& app) {
  auto const paths = std::make_shared<std::vector<std::string>>();
  app.footer(
      "A client starts this program and talks to it over its standard input and output. "
      "docs/guide/AGENTS.md shows how to register it. Only runs within the PATHs can be read, and "
      "nothing is written.");
  app.add_option("PATH", *paths, "trace files and folders that agents may read")->required();
  return [paths] { return serve_paths(*paths); };
}

}  // namespace stepscope::cli
