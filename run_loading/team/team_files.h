// The files of a run, divided among the processes of a team (team.h): each file is opened, read and
// observed by one that sees it. Process 0 has sources of all of them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "run_loading/team/questions.h"
#include "run_loading/team/team.h"
#include "trace/import/open/open_run.h"

namespace stepscope::run_loading {

/// Divides work by its size, so that the slowest owner is done early: an owner for each item, out
/// of its candidates (none empty). Greedy: the largest items first. Owner 0 asks for all items and
/// adds up the answers, which costs about 8 % of all work: it gets 8 % less than the others.
std::vector<uint32_t> divide(std::vector<uint64_t> const& sizes,
                             std::vector<std::vector<uint32_t>> const& candidates, uint32_t owners);

/// For one run. `team` must outlive it and all sources.
class TeamFiles {
 public:
  explicit TeamFiles(Team& team);

  /// Every process looks for the path, and has what it sees: the same files where they share a
  /// disk, files of its own where each has one. Errors: process 0's, where none sees a file; a name
  /// that stands for different files.
  base::Expected<import::RunFiles> find(std::string const& path);
  std::vector<import::OpenedFile> open(std::vector<std::string> const& files);

 private:
  struct Seen {
    uint64_t bytes = 0, head = 0;
    std::vector<uint32_t> by;  ///< ranks
  };
  base::Expected<FoundFiles> find_there(uint32_t rank, std::string const& path);
  import::OpenedFile open_there(uint32_t rank, std::string const& path);

  Team& team_;
  std::map<std::string, Seen> seen_;
};

/// Who has a source of a run, by its number there.
struct SourceOwner {
  uint32_t rank = 0;  ///< 0: this process
  uint64_t number = 0;
};
SourceOwner owner_of(import::TraceSource const& source);
/// The same source, opened by this process, too; nothing where it does not see the file, or would
/// have to convert it first.
std::optional<import::TraceSource> opened_here(import::TraceSource const& source);
/// The ranks of the owners, for Team::spread().
std::vector<uint32_t> owners_of(std::vector<import::RankSource> const& ranks);

}  // namespace stepscope::run_loading
