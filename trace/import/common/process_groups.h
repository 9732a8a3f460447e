// PyTorch's words for tensors and process groups, the same in its profiler's traces and in its
// flight recorder's dumps.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "trace/model/details.h"

namespace stepscope::import {

/// The data type with c10's name of a scalar type: "BFloat16". Not "c10::BFloat16".
model::DataType data_type_of(std::string_view name);

/// The number of a process group: the same on all of its ranks, and another for each other group.
/// It hashes the group's name, which is a counter, and its ranks as text ("[0, 1, 2]"); 0 when both
/// are empty.
uint64_t communicator_of(std::string_view group, std::string_view ranks);

/// The text that the profiler writes for these ranks: the first 30 of them.
std::string ranks_text(std::span<int32_t const> ranks);

/// The members of a group as a profiler's trace describes them.
struct GroupMembers {
  std::string_view
      ranks;  ///< "[0, 1, 2]", or a part of it: "[0, 1, ...]", "[0, 1, ..., 7]"; may be empty
  std::optional<int64_t> first, stride;  ///< of ranks that are as far apart each
  uint32_t size = 0;                     ///< 0 = not known
};
/// The number in the group of the process with `rank` in the job; −1 where the trace does not tell
/// it, or it is no member. `world_size`: 0 = not known.
int32_t rank_in_group(int32_t rank, uint32_t world_size, GroupMembers const& members);

}  // namespace stepscope::import
