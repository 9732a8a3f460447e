// A training of several processes that is recorded while a script does something to it.
#pragma once

#include <string>

#include "tests/e2e/processes/under_mpirun.h"

namespace stepscope::e2e {

class RecordedTraining : public ProgramUnderMpirun {
 protected:
  /// Records a training without end in three processes and runs `script` beside it, in which ask()
  /// is `stepscope trigger run` once all of them train. Returns what the script prints.
  [[nodiscard]] Outcome during_training(std::string const& mpi_options, std::string const& script,
                                        std::string const& what = "--on-request") const {
    return shell("stepscope() { " + program() + " \"$@\"; }\n" +
                 "ask() { for i in $(seq 300); do\n"
                 "  answer=$(stepscope trigger run \"$@\" 2>&1) && break\n"
                 "  case $answer in *'step yet'*|*'not known yet'*|*'record --on-request'*|"
                 "*'being recorded'*) sleep 0.2;; *) break;; esac\n"
                 "done; echo \"$answer\"; }\n" +
                 mpirun(3, mpi_options) + program() + " record " + what + " -o run -- " +
                 program() +
                 " run cifar10 --batch 4 --steps 1000000 --no-evaluate --log-every 0 "
                 "> training.txt 2>&1 & launcher=$!\n" +
                 script + "\nkill $launcher 2>/dev/null; wait $launcher 2>/dev/null; true");
  }
  /// Shell: `action` for the recorded process of a rank, whose number is $pid.
  [[nodiscard]] static std::string for_rank(int rank, std::string const& action) {
    return "for pid in $(pgrep -f 'run cifar10'); do\n"
           "  [ \"$(readlink /proc/$pid/cwd)\" = \"$(pwd -P)\" ] || continue\n"
           "  grep -q libstepscope-tracer /proc/$pid/maps || continue\n"
           "  tr '\\0' '\\n' < /proc/$pid/environ | grep -qx OMPI_COMM_WORLD_RANK=" +
           std::to_string(rank) + " || continue\n  " + action + "\ndone\n";
  }
};

}  // namespace stepscope::e2e
