// What mpirun needs in its environment to start inside of a test.
#pragma once

#include <string>

namespace stepscope::support {

/// Assignments for a shell in the folder of the test: Open MPI may run as root, and has its
/// session's folder there. In a folder that all share, two mpirun that start at the same instant
/// both want to make it, and one of them fails.
inline std::string mpirun_environment() {
  return "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TMPDIR=\"$PWD\" ";
}

}  // namespace stepscope::support
