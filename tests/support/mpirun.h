// What mpirun needs in its environment to start inside of a test.
#pragma once

#include <string>

namespace stepscope::support {

/// Assignments for a shell in the folder of the test: Open MPI may run as root, and each mpirun has
/// its session's folder in one of its own. In a folder that they share, two that start at the same
/// instant both want to make it, and one of them fails.
inline std::string mpirun_environment() {
  return "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
         "TMPDIR=\"$(mktemp -d \"$PWD/mpi.XXXXXX\")\" ";
}

}  // namespace stepscope::support
