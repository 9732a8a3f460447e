// Long output of a command through a pager, as git does it: STEPSCOPE_PAGER, PAGER, else less.
#pragma once

namespace stepscope::cli {

/// Whether people read the output at a terminal, with a pager or without. Not what mpirun passes
/// on.
bool is_output_terminal();
/// The descriptor of the terminal that the output goes to, where it is one.
int terminal_descriptor();

/// What --no-pager says.
bool& is_pager_forbidden();
/// Sends the standard output through a pager from here on, where a terminal reads it. Called once,
/// before the first output. Without a pager that can be run the output goes on as before.
void begin_paging();
/// After the last output: waits until the user leaves the pager.
void finish_paging();

}  // namespace stepscope::cli
