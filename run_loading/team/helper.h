// What a helper of a team (team.h) answers: it opens files, and reads and observes the processes in
// them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "mpi/processes.h"
#include "run_loading/each_process.h"
#include "run_loading/team/questions.h"
#include "trace/base/expected.h"
#include "trace/import/open/trace_source.h"
#include "trace/model/run.h"

namespace stepscope::run_loading {

/// What this process sees of a path. Errors: those of find_run_files().
base::Expected<FoundFiles> find_here(std::string const& path);

/// From several threads at once; questions about one source come one after the other.
class Helper {
 public:
  /// `work`: for work_on_each_process(), by the program that asks, too. May be empty.
  explicit Helper(ProcessWork work = {}) : work_(std::move(work)) {}
  /// The answer to a question of questions.h. Errors: those of reading; bytes that are no question.
  base::Expected<std::string> answer(std::string_view question);

 private:
  struct Own {
    std::shared_ptr<import::RemoteTrace const> opened;  ///< as it was opened
    std::optional<import::RankSource> in_run;           ///< … at its place in the run
    model::RankTrace skeleton;
  };
  base::Expected<std::string> find(std::string_view question);
  base::Expected<std::string> open(std::string_view question);
  base::Expected<std::string> steps(std::string_view question);
  base::Expected<std::string> copy(std::string_view question);
  base::Expected<std::string> read_kinds(std::string_view question);
  base::Expected<std::string> collectives(std::string_view question);
  base::Expected<std::string> make_skeleton(std::string_view question);
  base::Expected<std::string> observe(std::string_view question);
  base::Expected<std::string> work(std::string_view question);
  base::Expected<std::string> forget(std::string_view question);
  std::shared_ptr<Own> find_own(uint64_t number);

  ProcessWork work_;
  std::mutex mutex_;
  std::map<uint64_t, std::shared_ptr<Own>> own_;  ///< by number
  uint64_t next_ = 0;
};

/// What every process of a team but 0 does. Errors: those of serve().
base::Expected<void> help(mpi::Processes& processes, ProcessWork work = {});

}  // namespace stepscope::run_loading
