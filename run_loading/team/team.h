// Programs that a launcher started together and that analyze a run together: process 0 asks, the
// others, its helpers, read and observe what lies with them, and answer. Only process 0 has the
// results, and writes them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mpi/processes.h"
#include "trace/base/expected.h"

namespace stepscope::run_loading {

/// What process 0 has of its helpers. Owners of files and of work are ranks: 0 is this process.
class Team {
 public:
  /// The processes have met, and every other one must help(). `own_cores`: on how many cores this
  /// process does its share of the work, while the helpers do theirs.
  Team(std::shared_ptr<mpi::Processes> processes, size_t own_cores);
  ~Team();  ///< the helpers have no more to do
  Team(Team const&) = delete;
  Team& operator=(Team const&) = delete;

  [[nodiscard]] uint32_t size() const { return processes_->size(); }
  /// Asks a helper (1 … size() − 1) and waits for its answer. From several threads: as many
  /// questions are answered at once as the helper has channels. Errors: the helper's own, or that
  /// one of the processes is gone.
  base::Expected<std::string> ask(uint32_t helper, std::string const& question);

  /// Why the helpers cannot be asked any more: who is gone.
  [[nodiscard]] std::optional<std::string> failure() const { return processes_->failure(); }
  /// Keeps a question whose answer does not matter until the helper is asked something else.
  void forget(uint32_t helper, std::string question);

  /// Calls work(i) for each i below owner_of.size(); returns when all are done. Work that this
  /// process owns runs on its cores. Work of a helper runs on a thread for each of the helper's
  /// channels, so that it may wait for answers. When nothing else is left for the cores of this
  /// process, they do work of a helper with `work_here`, where that is given.
  void spread(std::vector<uint32_t> const& owner_of, std::function<void(size_t)> const& work,
              std::function<void(size_t)> const& work_here = {});

 private:
  class Shares;
  struct Helper {
    std::vector<uint32_t> free;          ///< channels
    std::vector<std::string> forgotten;  ///< questions
  };
  std::shared_ptr<mpi::Processes> processes_;
  size_t own_cores_;
  std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<Helper> helpers_;   ///< by rank; that of 0 is empty
  std::vector<size_t> channels_;  ///< by rank
};

/// The same without a team, where it is null: everything is owned by this process.
void spread(Team* team, std::vector<uint32_t> const& owner_of,
            std::function<void(size_t)> const& work,
            std::function<void(size_t)> const& work_here = {});

/// How many questions a process answers at once.
uint32_t channels_of_this_process();

/// Answers questions of process 0 until it has no more. `answer`: from several threads at once.
/// Errors: a process is gone.
base::Expected<void> serve(
    mpi::Processes& processes,
    std::function<base::Expected<std::string>(std::string_view question)> const& answer);

}  // namespace stepscope::run_loading
