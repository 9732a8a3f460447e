// Which range names mean a training step: "step 12", "Iteration #12", "train_step_12", "ProfilerStep#12" (DEFINITIONS, "Steps").
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stepscope::analyzer {

/// The step number in a range's name; none when the name is not a step's.
std::optional<int64_t> step_number(std::string_view name);

}  // namespace stepscope::analyzer
