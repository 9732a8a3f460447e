// Small grey pictures side by side in one PNG file.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "trace/base/expected.h"

namespace stepscope::workloads {

/// `pictures`: [count][side][side] in [−1, 1], black to white, set in rows of `columns`; the last
/// row is filled up with black. Errors: cannot be written.
base::Expected<void> write_picture_grid(std::string const& path, std::span<float const> pictures,
                                        size_t side, size_t columns);

}  // namespace stepscope::workloads
