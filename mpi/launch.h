// Which of a job's processes is this? As mpirun, srun or torchrun say it in the environment.
#pragma once

#include <cstdint>
#include <optional>

namespace stepscope::mpi {

struct Launch {
  uint32_t rank = 0, size = 1;  ///< among all processes of the job
  uint32_t local_rank = 0,
           local_size = 1;  ///< among those on this machine; 0 of 1 where the launcher does not say

  friend bool operator==(Launch const&, Launch const&) = default;
};

/// Nothing when this process was started alone. Variables of Open MPI, Slurm's srun, Hydra (MPICH,
/// Intel MPI), and RANK with WORLD_SIZE; the first that are set count. Variables that sbatch sets
/// for a script are no launch.
std::optional<Launch> launch_from_environment();

/// The same for a program that works together with the others of its launch by itself. It counts
/// only what a launcher of MPI has started: directly, by a shell script, or by a program such as
/// `time` that was given the whole command line. A training that runs such a program as a helper
/// gets it alone.
std::optional<Launch> direct_launch_from_environment();
/// Whether processes of this launch can meet: srun starts them without a process manager where its
/// --mpi does not name one, and MPI would end the program.
bool has_process_manager();
/// Whether mpirun has started this, as one of however many: it passes the standard output on, which
/// looks like a terminal even where mpirun's own is a file. (With srun it is what it looks like.)
bool has_passed_on_output();

}  // namespace stepscope::mpi
