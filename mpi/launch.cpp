// Launchers' variables; see launch.h.
#include "mpi/launch.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>

namespace stepscope::mpi {
namespace {

struct Launcher {
  char const *rank, *size, *local_rank, *local_size;
  bool is_of_mpi = true;
};
// Hydra starts its processes by srun, too, so that PMI comes first. srun alone sets
// SLURM_STEP_NUM_TASKS; sbatch sets SLURM_PROCID too, for a script that is one process.
constexpr std::array kLaunchers = {
    Launcher{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
             "OMPI_COMM_WORLD_LOCAL_SIZE"},
    Launcher{"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    Launcher{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE"},
    Launcher{"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", false},
};

/// Leading digits only: Slurm writes "2(x3)" for two tasks on each of three machines.
std::optional<uint32_t> number(char const* variable) {
  char const* const text = std::getenv(variable);
  uint32_t value = 0;
  if (text == nullptr || std::from_chars(text, text + std::strlen(text), value).ec != std::errc())
    return std::nullopt;
  return value;
}

struct FoundLaunch {
  Launch launch;
  Launcher const* by = nullptr;
};

std::optional<FoundLaunch> find_launch() {
  for (Launcher const& launcher : kLaunchers) {
    auto const rank = number(launcher.rank), size = number(launcher.size);
    if (!rank || !size || *rank >= *size) continue;
    if (*size == 1) return std::nullopt;

    Launch launch = {*rank, *size, number(launcher.local_rank).value_or(0),
                     number(launcher.local_size).value_or(1)};
    if (launch.local_size <= launch.local_rank) launch.local_size = launch.local_rank + 1;
    return FoundLaunch{launch, &launcher};
  }
  return std::nullopt;
}

std::string content_of(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Whether the environment with which a process was started has the variable.
bool was_started_with(int64_t process, char const* variable) {
  std::string const environment =
      '\0' + content_of("/proc/" + std::to_string(process) + "/environ");
  return environment.find('\0' + std::string(variable) + '=') != std::string::npos;
}

bool is_shell(int64_t process) {
  std::error_code error;
  std::string const program =
      std::filesystem::read_symlink("/proc/" + std::to_string(process) + "/exe", error)
          .filename()
          .string();
  constexpr std::array kShells = {"sh", "bash", "dash", "zsh", "ksh", "fish", "busybox"};
  return std::find(kShells.begin(), kShells.end(), program) != kShells.end();
}

/// Whether a process was started with the command line of this one behind its own: `time stepscope
/// …`.
bool wraps_this(int64_t process) {
  std::string const own = content_of("/proc/self/cmdline"),
                    above = content_of("/proc/" + std::to_string(process) + "/cmdline");
  return !own.empty() && above.size() > own.size() && above.ends_with(own) &&
         above[above.size() - own.size() - 1] == '\0';
}

/// 0 where it cannot be known.
int64_t parent_of(int64_t process) {
  std::string const stat = content_of("/proc/" + std::to_string(process) + "/stat");
  size_t const name_end = stat.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream rest(stat.substr(name_end + 1));
  char state = 0;
  int64_t parent = 0;
  rest >> state >> parent;
  return rest ? parent : 0;
}

}  // namespace

std::optional<Launch> launch_from_environment() {
  auto const found = find_launch();
  return found ? std::optional(found->launch) : std::nullopt;
}

bool has_process_manager() {
  auto const found = find_launch();
  bool const is_of_slurm = found && std::string_view(found->by->rank) == "SLURM_PROCID";
  return !is_of_slurm || std::getenv("PMIX_RANK") != nullptr || std::getenv("PMI_RANK") != nullptr;
}

bool has_passed_on_output() {
  return number("OMPI_COMM_WORLD_SIZE").has_value() || number("MPI_LOCALNRANKS").has_value();
}

std::optional<Launch> direct_launch_from_environment() {
  auto const found = find_launch();
  if (!found || !found->by->is_of_mpi) return std::nullopt;

  // The launcher itself is the first above that was not started as one of the processes.
  for (int64_t above = ::getppid(); above > 1 && was_started_with(above, found->by->rank);
       above = parent_of(above))
    if (!is_shell(above) && !wraps_this(above)) return std::nullopt;
  return found->launch;
}

}  // namespace stepscope::mpi
