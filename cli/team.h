// The processes that a launcher (mpirun, srun) started with the same command line, for commands
// that share the work of reading runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "run_loading/team/team.h"
#include "trace/base/expected.h"

namespace stepscope::cli {

/// What --alone says: this process does all the work itself.
bool& is_alone();

/// Joins the others where a launcher started several and the command is one that shares its work.
/// Returns the exit code of a process that has helped until there was no more to do, or that cannot
/// join; nothing where this process runs the command.
std::optional<int> join_team(std::string const& command, std::vector<std::string> const& arguments);
/// The team of the running command; null without one.
run_loading::Team* team();
/// Before the program ends.
void leave_team();

}  // namespace stepscope::cli
