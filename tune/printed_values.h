// Numbers that a program prints as it trains, such as "step 20  loss 1.32": for requirements like
// loss[20] < 1.01*default.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace stepscope::tune {

/// The number behind `name` (blanks, ":" or "=" between them) in the line of this step; without a
/// step in the last line that has it. A line is of step N if "step" stands in it and then N.
std::optional<double> printed_value(std::string_view output, std::string_view name,
                                    std::optional<int64_t> step);

}  // namespace stepscope::tune
