#include "viewer/widgets/raster.h"

#include <gtest/gtest.h>

#include "tests/unit/viewer/null_ui.h"

namespace stepscope::viewer {
namespace {

/// A frame in which only `paint` draws.
template <class Paint>
Picture picture_of(Paint paint) {
  NullUi const ui(64, 48);
  ImGui::NewFrame();
  paint(*ImGui::GetForegroundDrawList());
  ImGui::Render();
  return ui.picture(IM_COL32(10, 20, 30, 255));
}

uint32_t pixel(Picture const& picture, int x, int y) {
  size_t const at = (static_cast<size_t>(y) * 64 + static_cast<size_t>(x)) * 3;
  return IM_COL32(picture.pixels[at], picture.pixels[at + 1], picture.pixels[at + 2], 255);
}

TEST(Rasterise, FillsARectangleToThePixel) {
  auto const picture = picture_of([](ImDrawList& list) {
    list.AddRectFilled(ImVec2(10, 10), ImVec2(20, 15), IM_COL32(255, 0, 0, 255));
  });

  int filled = 0;
  for (int y = 0; y < 48; ++y)
    for (int x = 0; x < 64; ++x) {
      bool const inside = x >= 10 && x < 20 && y >= 10 && y < 15;
      EXPECT_EQ(pixel(picture, x, y),
                inside ? IM_COL32(255, 0, 0, 255) : IM_COL32(10, 20, 30, 255));
      filled += inside ? 1 : 0;
    }

  EXPECT_EQ(filled, 50);
}

TEST(Rasterise, BlendsEveryPixelOfAPaleRectangleOnce) {
  auto const picture = picture_of([](ImDrawList& list) {
    list.AddRectFilled(ImVec2(0, 0), ImVec2(64, 48), IM_COL32(255, 255, 255, 128));
  });
  for (int y = 0; y < 48; ++y)
    for (int x = 0; x < 64; ++x)
      EXPECT_EQ(pixel(picture, x, y), pixel(picture, 0, 0)) << x << "," << y;
  EXPECT_NEAR(static_cast<int>(pixel(picture, 5, 5) & 0xFFU), 133, 1);
}

TEST(Rasterise, StopsAtTheClipRectangle) {
  auto const picture = picture_of([](ImDrawList& list) {
    list.PushClipRect(ImVec2(5, 5), ImVec2(8, 8));
    list.AddRectFilled(ImVec2(0, 0), ImVec2(64, 48), IM_COL32(0, 255, 0, 255));
    list.PopClipRect();
  });
  EXPECT_EQ(pixel(picture, 5, 5), IM_COL32(0, 255, 0, 255));
  EXPECT_EQ(pixel(picture, 4, 5), IM_COL32(10, 20, 30, 255));
  EXPECT_EQ(pixel(picture, 8, 7), IM_COL32(10, 20, 30, 255));
}

TEST(Rasterise, DrawsText) {
  auto const picture =
      picture_of([](ImDrawList& list) { list.AddText(ImVec2(2, 2), IM_COL32_WHITE, "Wm"); });
  int lit = 0;
  for (int y = 0; y < 48; ++y)
    for (int x = 0; x < 64; ++x) lit += (pixel(picture, x, y) & 0xFFU) > 128 ? 1 : 0;
  EXPECT_GT(lit, 20);
}

}  // namespace
}  // namespace stepscope::viewer
