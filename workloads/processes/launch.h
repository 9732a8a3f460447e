// Which of a job's processes is this? As mpirun, srun or torchrun say it in the environment.
#pragma once

#include <cstdint>
#include <optional>

namespace stepscope::workloads {

struct Launch {
  uint32_t rank = 0, size = 1;  ///< among all processes of the job
  uint32_t local_rank = 0,
           local_size = 1;  ///< among those on this machine; 0 of 1 where the launcher does not say

  friend bool operator==(Launch const&, Launch const&) = default;
};

/// Nothing when this process was started alone. Variables of Open MPI, Slurm's srun, Hydra (MPICH,
/// Intel MPI), and RANK with WORLD_SIZE; the first that are set count. Those that sbatch sets for a
/// script are no launch.
std::optional<Launch> launch_from_environment();

}  // namespace stepscope::workloads
