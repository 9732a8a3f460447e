// A space as TOML: [objective], [knob.NAME], [[restrict]], [budget] (docs/guide/TUNE.md).
#pragma once

#include <string>
#include <string_view>

#include "trace/base/expected.h"
#include "tune/space.h"

namespace stepscope::tune {

inline constexpr size_t kMostSpaceBytes = size_t{1} << 20;

/// Reads untrusted text; everything in it is checked, check_space() included. Errors: `path`, where
/// possible with line and column, and what to write there.
base::Expected<Space> parse_space(std::string_view text, std::string const& path);

}  // namespace stepscope::tune
