// The runs that were opened last, in the user's state folder ($XDG_STATE_HOME/stepscope/recent). A
// convenience: whatever goes wrong with the file, there are none.
#pragma once

#include <string>
#include <vector>

namespace stepscope::viewer {

inline constexpr size_t kMaxRecentRuns = 10;

/// Where they are kept; empty without a home.
std::string recent_runs_file();
/// The latest first; those that are gone are left out.
std::vector<std::string> read_recent_runs(std::string const& file);
/// Puts a run first.
void add_recent_run(std::string const& file, std::string const& run);

}  // namespace stepscope::viewer
