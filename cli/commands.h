// THE list of commands: a command is cli/commands/NAME.cpp with `Action add_NAME(CLI::App&)`, and
// its row here.
#pragma once

#include <span>

#include "cli/command.h"

namespace stepscope::cli {

std::span<Command const> commands();

// clang-format off
#define STEPSCOPE_COMMANDS(X) \
  X(profile, "train a bundled workload, record it, analyze it and write the report") \
  X(run, "train a bundled workload") \
  X(record, "record any program") \
  X(trigger, "ask recorded programs for some steps, or for what they kept") \
  X(ps, "list the processes that are being recorded") \
  X(live, "show how a run that is being recorded does now, and what is worth a window") \
  X(analyze, "show where the time of a run went, and why") \
  X(report, "write the HTML report of a run, of a scaling series or of a search") \
  X(compare, "show what changed between runs, whether it is significant, and why") \
  X(whatif, "predict what a change would give, by replaying the run") \
  X(tune, "find faster settings of a training: predict, measure in turn, confirm") \
  X(check, "CI gate: compare a run with its baseline and its budgets") \
  X(view, "open a run in the desktop viewer") \
  X(info, "list the contents of a run") \
  X(top, "list what takes the most time: kernels, ranges, calls") \
  X(query, "query a run with SQL") \
  X(mcp, "answer agents' questions about runs (Model Context Protocol)") \
  X(doctor, "check whether this machine is ready, or whether a trace is complete") \
  X(selftest, "record known work and check that its traces are right") \
  X(import, "convert traces of other tools into a run") \
  X(export, "convert a run for another tool") \
  X(slice, "copy a part of a run, small enough to share") \
  X(synth, "write a synthetic run of any size with known ground truth") \
  X(completion, "print what makes a shell complete commands and options") \
  X(man, "print the manual page of Stepscope or of a command")
// clang-format on

#define STEPSCOPE_DECLARE_COMMAND(name, description) Action add_##name(CLI::App& app);
STEPSCOPE_COMMANDS(STEPSCOPE_DECLARE_COMMAND)
#undef STEPSCOPE_DECLARE_COMMAND

}  // namespace stepscope::cli
