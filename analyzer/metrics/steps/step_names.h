// Which range names mean a step: "step 12", "Iteration #12", "train_step_12", "ProfilerStep#12",
// and what frameworks call theirs (DEFINITIONS, "Steps"). Names need not have a number.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stepscope::analyzer {

struct StepName {
  /// False: the name means a step as often as a part of one ("step" may be the optimizer's, "batch
  /// 3" the loader's). Such ranges are steps only where they fill most of their thread's time.
  bool is_certain = true;
  std::optional<int64_t> number;  ///< as in the name; steps of other epochs may have the same
};

/// What a range's name says; none when it is not a step's.
std::optional<StepName> step_name(std::string_view name);

/// Whether the name is a step of a program that serves or samples a model: it updates no weights.
bool is_inference_step(std::string_view name);

/// The number in the name of a step that is certain to be one; 0 where it has none. None when the
/// name is not a step's.
std::optional<int64_t> step_number(std::string_view name);

}  // namespace stepscope::analyzer
