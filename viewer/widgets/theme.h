// Whether the viewer is drawn dark or light.
#pragma once

#include <cstdint>

namespace stepscope::viewer {

enum class Theme : uint8_t { kDark, kLight };

}  // namespace stepscope::viewer
