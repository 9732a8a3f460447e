// Launchers' variables; see launch.h.
#include "workloads/processes/launch.h"

#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>

namespace stepscope::workloads {
namespace {

struct Launcher {
  char const *rank, *size, *local_rank, *local_size;
};
// srun alone sets SLURM_STEP_NUM_TASKS; sbatch sets SLURM_PROCID too, for a script that is one
// process.
constexpr std::array kLaunchers = {
    Launcher{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
             "OMPI_COMM_WORLD_LOCAL_SIZE"},
    Launcher{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"},
    Launcher{"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    Launcher{"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
};

/// Leading digits only: Slurm writes "2(x3)" for two tasks on each of three machines.
std::optional<uint32_t> number(char const* variable) {
  char const* const text = std::getenv(variable);
  uint32_t value = 0;
  if (text == nullptr || std::from_chars(text, text + std::strlen(text), value).ec != std::errc())
    return std::nullopt;
  return value;
}

}  // namespace

std::optional<Launch> launch_from_environment() {
  for (Launcher const& launcher : kLaunchers) {
    auto const rank = number(launcher.rank), size = number(launcher.size);
    if (!rank || !size || *rank >= *size) continue;
    if (*size == 1) return std::nullopt;
    Launch launch = {*rank, *size, number(launcher.local_rank).value_or(0),
                     number(launcher.local_size).value_or(1)};
    if (launch.local_size <= launch.local_rank) launch.local_size = launch.local_rank + 1;
    return launch;
  }
  return std::nullopt;
}

}  // namespace stepscope::workloads
