// Draws ImGui's triangles without any graphics library: pictures on machines without display or
// OpenGL, and pixels for tests.
#pragma once

#include <cstdint>
#include <vector>

#include <imgui.h>

namespace stepscope::viewer {

/// Red, green, blue a pixel, rows from the top.
struct Picture {
  int width = 0, height = 0;
  std::vector<uint8_t> pixels;
};

/// Draws the frame of the last ImGui::Render() over `background`; knows one texture, the font
/// atlas. O(pixels covered).
Picture rasterise(ImDrawData const& frame, ImFontAtlas& atlas, int width, int height,
                  uint32_t background);

}  // namespace stepscope::viewer
