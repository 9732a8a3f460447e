// What PyTorch says of tensors and process groups, the same in its profiler's traces and in its flight recorder's dumps.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "trace/model/details.h"

namespace stepscope::import {

/// Of c10's name of a scalar type: "BFloat16". Not "c10::BFloat16".
model::DataType data_type_of(std::string_view name);

/// The number of a process group: the same on all of its ranks, and another for each other group. By the group's name, which is a
/// counter, and its ranks as text ("[0, 1, 2]"); 0 when both are empty.
uint64_t communicator_of(std::string_view group, std::string_view ranks);

/// The text that the profiler writes for these ranks: the first 30 of them.
std::string ranks_text(std::span<int32_t const> ranks);

}  // namespace stepscope::import
