// Pixels as a PNG file.
#pragma once

#include <cstdint>
#include <string>

#include "trace/base/expected.h"

namespace stepscope::viewer {

/// `pixels`: red, green, blue; `stride` in bytes from a row to the next one below, negative when
/// rows come from the bottom.
base::Expected<void> write_png(std::string const& path, int width, int height,
                               uint8_t const* pixels, int stride);

}  // namespace stepscope::viewer
