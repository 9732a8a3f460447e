// The notes of many processes, each once: processes of a job say the same, or the same but for its
// numbers, about their files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace stepscope::model {

struct ProcessNotes {
  int32_t rank = 0;
  std::vector<std::string> const* notes = nullptr;
};

struct SharedNote {
  std::string text;  ///< of the first process that says it; tells where the others' numbers differ
  std::vector<int32_t> ranks;  ///< that say it, ascending, each once
  size_t process = 0;          ///< the first one, its place among all
  size_t processes = 0;        ///< how many say it
};

/// In the order in which they are first said.
std::vector<SharedNote> share_notes(std::vector<ProcessNotes> const& processes);

/// "rank 3", "ranks 0–7", "ranks 0, 2 and 5 more"; the ranks ascend.
std::string rank_list(std::vector<int32_t> const& ranks);

}  // namespace stepscope::model
