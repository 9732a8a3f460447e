// The cores that a launcher gave to the processes of a team, and how they share them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace stepscope::run_loading {

/// The machine and the cores on it that this process may use: "node1 0 1 2 3". Only the machine
/// where the system does not tell.
std::string cores_of_process();
/// Lets the calling thread, and all that it will start, run on these cores as far as the system
/// allows it.
void use_cores(std::set<int> const& cores);

struct CoreShare {
  size_t own = 1;            ///< on how many a process works while all others work, too
  std::set<int> of_machine;  ///< those that the processes on its machine have together
};
/// `all`: cores_of_process() of each process. Processes that the launcher has bound to the same
/// cores, or to none, would each take all of them: they get equal shares.
CoreShare share_of_cores(std::vector<std::string> const& all, uint32_t rank);

}  // namespace stepscope::run_loading
