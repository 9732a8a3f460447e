// The stepscope program in several processes, as mpirun starts them.
#pragma once

#include <string>

#include "tests/e2e/main_job/program.h"
#include "tests/support/mpirun.h"

namespace stepscope::e2e {

class ProgramUnderMpirun : public Program {
 protected:
  void SetUp() override {
    if (shell("command -v mpirun pgrep").code != 0)
      GTEST_SKIP() << "needs Open MPI's mpirun (apt: openmpi-bin) and pgrep (procps)";
    if (shell(mpirun(2) + "true").code != 0)
      GTEST_SKIP() << "mpirun starts no processes here: " << shell(mpirun(2) + "true").output;
  }
  /// Also as root, and with more processes than cores; bounded in time, should they wait for each
  /// other for ever. A busy machine keeps the bound.
  [[nodiscard]] static std::string mpirun(int processes, std::string const& options = "") {
    return support::mpirun_environment() + "timeout 240 mpirun --oversubscribe " + options +
           " -n " + std::to_string(processes) + " ";
  }
};

}  // namespace stepscope::e2e
