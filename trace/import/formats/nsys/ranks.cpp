// Finds the rank of each process in the job: MPI or NCCL states it. For a single process so does
// the environment, where it knows of a larger job than NCCL, or the file's name. Else the processes
// are put in the order of their ranks on the host, as launchers give them. Their numbers depend on
// the reports of other hosts, so open_run gives them.
#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "trace/import/common/rank_from_name.h"
#include "trace/import/formats/nsys/export_info.h"

namespace stepscope::import::nsys {
namespace {

constexpr int32_t kMostNsysRanks = 1 << 24, kUnknownRank = -1;

struct Rank {
  int32_t rank = 0, world_size = 1;
};

std::optional<int32_t> small_number(std::string_view text) {
  int32_t number = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0 ||
      number > kMostNsysRanks)
    return std::nullopt;
  return number;
}

std::optional<int32_t> variable(ExportInfo const& info, char const* name) {
  auto const found = info.environment.find(name);
  return found == info.environment.end() ? std::nullopt : small_number(found->second);
}

/// As launchers of jobs tell their processes.
struct Launcher {
  char const *rank, *world_size;
  bool is_allocation =
      false;  ///< says how many tasks there is room for: without srun the job may have others
};
constexpr std::array kLaunchers = {Launcher{"RANK", "WORLD_SIZE"},
                                   Launcher{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                   Launcher{"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
                                   Launcher{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
                                   Launcher{"SLURM_PROCID", "SLURM_NTASKS", true},
                                   Launcher{"PMI_RANK", "PMI_SIZE"}};

std::optional<int32_t> rank_of_environment(ExportInfo const& info) {
  for (Launcher const& launcher : kLaunchers)
    if (auto const rank = variable(info, launcher.rank)) return rank;
  return std::nullopt;
}
std::optional<int32_t> world_of_environment(ExportInfo const& info, bool believes_allocation) {
  for (Launcher const& launcher : kLaunchers)
    if (auto const world = variable(info, launcher.world_size);
        world && (believes_allocation || !launcher.is_allocation))
      return world;
  return std::nullopt;
}

/// The place that one launcher states in full.
std::optional<Rank> place_of_environment(ExportInfo const& info) {
  for (Launcher const& launcher : kLaunchers) {
    auto const rank = variable(info, launcher.rank), world = variable(info, launcher.world_size);
    if (rank && world && *rank < *world && !launcher.is_allocation) return Rank{*rank, *world};
  }
  return std::nullopt;
}

std::map<ProcessKey, Rank> ranks_of_mpi(Database& database) {
  std::map<ProcessKey, Rank> ranks;
  int32_t world = 1;

  TableScan scan(database, "MPI_RANKS", {"globalTid", "rank"});
  while (scan.next()) {
    auto const rank = static_cast<int32_t>(std::clamp<int64_t>(scan.integer(1), 0, kMostNsysRanks));
    world = std::max(world, rank + 1);
    if (ranks.size() < kMostProcesses) ranks[process_of_global_id(scan.integer(0))] = {rank, 1};
  }

  TableScan communicators(database, "MPI_COMMUNICATORS", {"size"});
  while (communicators.next())
    world = std::max(world, static_cast<int32_t>(
                                std::clamp<int64_t>(communicators.integer(0), 0, kMostNsysRanks)));

  for (auto& [process, rank] : ranks) rank.world_size = world;
  return ranks;
}

void set(Process& process, Rank const& rank) {
  process.builder.info().rank = rank.rank;
  process.builder.info().world_size = std::max(1, rank.world_size);
}

/// Every one has a rank of its own.
template <class RankOf>
bool set_all(std::vector<Process*> const& processes, RankOf const& rank_of) {
  std::set<int32_t> seen;
  for (Process* const process : processes) {
    std::optional<Rank> const rank = rank_of(*process);
    if (!rank || !seen.insert(rank->rank).second) return false;
  }
  for (Process* const process : processes) set(*process, *rank_of(*process));
  return true;
}

/// Launchers start local ranks in order and give each the device of its number. Processes without a
/// device come behind them.
void guess_order(std::vector<Process*> workers, std::vector<Process*>& shown) {
  std::set<int32_t> devices;
  for (Process* const process : workers) devices.insert(process->only_device());
  bool const by_device = devices.size() == workers.size() && !devices.contains(-1);

  if (by_device)
    std::sort(workers.begin(), workers.end(),
              [](Process* a, Process* b) { return a->only_device() < b->only_device(); });

  std::string const note =
      fmt::format("the report does not say which rank this process is: {} by the order of {}",
                  kRankIsAGuess, by_device ? "the processes' devices" : "process ids");
  for (Process* const process : workers)
    if (workers.size() > 1) process->builder.log().notes.push_back(note);

  std::stable_partition(shown.begin(), shown.end(),
                        [](Process* process) { return process->has_device_ops(); });
  std::copy(workers.begin(), workers.end(), shown.begin());
}

void find_stated_ranks(std::vector<Process*>& shown, Database& database, ExportInfo const& info,
                       NcclCalls const& nccl, std::string const& file) {
  std::vector<Process*> workers;
  for (Process* const process : shown)
    if (process->has_device_ops()) workers.push_back(process);

  auto const by_mpi = ranks_of_mpi(database);
  auto const mpi_rank = [&](Process const& process) {
    auto const found = by_mpi.find(process.identity);
    return found == by_mpi.end() ? std::nullopt : std::optional(found->second);
  };

  for (Process* const process : shown)
    if (auto const rank = mpi_rank(*process)) set(*process, *rank);
  if (workers.empty() || set_all(workers, mpi_rank)) return;

  auto const place = workers.size() == 1 ? place_of_environment(info) : std::nullopt;
  auto const nccl_rank = [&](Process const& process) -> std::optional<Rank> {
    auto const found = nccl.rank_of(process);
    if (!found || found->first < 0 || found->first > kMostNsysRanks ||
        found->second > kMostNsysRanks)
      return std::nullopt;
    // The communicator of the whole job may not be among those that the process used.
    if (place && place->world_size > found->second) return place;
    return Rank{found->first, found->second};
  };
  if (set_all(workers, nccl_rank)) return;

  auto const world = world_of_environment(info, true);
  if (workers.size() == 1) {
    auto rank = rank_of_environment(info);
    if (!rank) rank = rank_of_name(file);
    if (rank) return set(*workers.front(), {*rank, world.value_or(1)});
  }

  // Beside ranks that are not known no other process may take one by its default.
  for (Process* const process : shown)
    if (!mpi_rank(*process)) set(*process, {kUnknownRank, 1});
  for (Process* const process : workers)
    set(*process,
        {kUnknownRank, std::max(world.value_or(1), static_cast<int32_t>(workers.size()))});
  guess_order(std::move(workers), shown);
}

}  // namespace

void find_ranks(std::vector<Process*>& shown, Database& database, ExportInfo const& info,
                NcclCalls const& nccl, std::string const& file) {
  find_stated_ranks(shown, database, info, nccl, file);
  // MPI may have told of a part of the job alone: who the process talked to.
  int32_t const world = world_of_environment(info, false).value_or(1);
  for (Process* const process : shown) {
    int32_t& of_process = process->builder.info().world_size;
    of_process = std::max(of_process, world);
  }
}

}  // namespace stepscope::import::nsys
