// THE command lines that fuzzers run: each command that reads traces, with its own options, in this
// process.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/command.h"
#include "tests/fuzz/fuzz_input.h"

namespace stepscope::fuzz {

struct CommandLine {
  char const* command;
  cli::Action (*add)(CLI::App& app);
  std::vector<std::string>
      arguments;  ///< "IN": the input; "OUT": a file or folder that is not there
};

std::vector<CommandLine> const& command_lines();

/// Runs it on the input. Returns its exit code. What it prints goes nowhere, unless
/// STEPSCOPE_FUZZ_SHOW is in the environment.
int run_command(CommandLine const& line, InputFolder const& folder);

}  // namespace stepscope::fuzz
