#include "viewer/widgets/raster.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace stepscope::viewer {
namespace {

/// Coverage of the font atlas, 0–255 a texel; solid shapes use its white texel.
struct Texture {
  uint8_t const* texels = nullptr;
  int width = 0, height = 0;
  [[nodiscard]] uint32_t at(float u, float v) const {
    int const x = std::clamp(static_cast<int>(u * static_cast<float>(width)), 0, width - 1);
    int const y = std::clamp(static_cast<int>(v * static_cast<float>(height)), 0, height - 1);
    return texels[static_cast<size_t>(y) * static_cast<size_t>(width) + static_cast<size_t>(x)];
  }
};

struct Clip {
  int x0, y0, x1, y1;
};

/// Twice the signed area of (a, b, p).
float edge(ImVec2 a, ImVec2 b, ImVec2 p) {
  return (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x);
}

/// Whether a triangle has the pixels on this edge: exactly one of the two that share it does.
bool owns(ImVec2 a, ImVec2 b) { return (a.y == b.y && b.x > a.x) || b.y < a.y; }

void blend(uint8_t* pixel, std::array<float, 4> const& colour, uint32_t coverage) {
  float const alpha = colour[3] / 255.0F * static_cast<float>(coverage) / 255.0F;
  for (size_t c = 0; c < 3; ++c)
    pixel[c] = static_cast<uint8_t>(
        std::lround(static_cast<float>(pixel[c]) * (1 - alpha) + colour[c] * alpha));
}

void draw_triangle(Picture& picture, Texture const& texture, Clip clip,
                   std::array<ImDrawVert const*, 3> v) {
  float area = edge(v[0]->pos, v[1]->pos, v[2]->pos);
  if (area == 0) return;
  if (area > 0) {
    // Counter-clockwise with y down: the edge functions below are then negative inside.
    std::swap(v[1], v[2]);
    area = -area;
  }

  auto const [low_x, high_x] = std::minmax({v[0]->pos.x, v[1]->pos.x, v[2]->pos.x});
  auto const [low_y, high_y] = std::minmax({v[0]->pos.y, v[1]->pos.y, v[2]->pos.y});
  int const x0 = std::max(clip.x0, static_cast<int>(std::floor(std::max(low_x, 0.0F))));
  int const y0 = std::max(clip.y0, static_cast<int>(std::floor(std::max(low_y, 0.0F))));
  int const x1 = std::min(
      clip.x1, static_cast<int>(std::ceil(std::min(high_x, static_cast<float>(picture.width)))));
  int const y1 = std::min(
      clip.y1, static_cast<int>(std::ceil(std::min(high_y, static_cast<float>(picture.height)))));

  for (int y = y0; y < y1; ++y) {
    for (int x = x0; x < x1; ++x) {
      ImVec2 const p(static_cast<float>(x) + 0.5F, static_cast<float>(y) + 0.5F);
      std::array<float, 3> w{};

      bool inside = true;
      for (size_t i = 0; i < 3 && inside; ++i) {
        ImVec2 const a = v[(i + 1) % 3]->pos;
        ImVec2 const b = v[(i + 2) % 3]->pos;
        w[i] = edge(a, b, p);
        inside = w[i] < 0 || (w[i] == 0 && owns(a, b));
      }
      if (!inside) continue;

      float u = 0;
      float t = 0;
      std::array<float, 4> colour{};
      for (size_t i = 0; i < 3; ++i) {
        float const share = w[i] / area;
        u += share * v[i]->uv.x;
        t += share * v[i]->uv.y;
        for (size_t c = 0; c < 4; ++c)
          colour[c] += share * static_cast<float>(v[i]->col >> (8 * c) & 0xFFU);
      }

      uint8_t* const pixel =
          &picture.pixels[(static_cast<size_t>(y) * static_cast<size_t>(picture.width) +
                           static_cast<size_t>(x)) *
                          3];
      blend(pixel, colour, texture.at(u, t));
    }
  }
}

}  // namespace

Picture rasterise(ImDrawData const& frame, ImFontAtlas& atlas, int width, int height,
                  uint32_t background) {
  Picture picture{
      width, height,
      std::vector<uint8_t>(static_cast<size_t>(width) * static_cast<size_t>(height) * 3)};
  for (size_t i = 0; i < picture.pixels.size(); ++i)
    picture.pixels[i] = static_cast<uint8_t>(background >> (8 * (i % 3)));

  unsigned char* texels = nullptr;
  Texture texture;
  atlas.GetTexDataAsAlpha8(&texels, &texture.width, &texture.height);
  texture.texels = texels;

  for (int n = 0; n < frame.CmdListsCount; ++n) {
    ImDrawList const& list = *frame.CmdLists[n];
    for (ImDrawCmd const& command : list.CmdBuffer) {
      if (command.UserCallback != nullptr) continue;

      auto const bound = [](float value, int most) {
        return std::clamp(static_cast<int>(value), 0, most);
      };
      Clip const clip{bound(command.ClipRect.x, width), bound(command.ClipRect.y, height),
                      bound(command.ClipRect.z, width), bound(command.ClipRect.w, height)};

      for (unsigned i = 0; i + 2 < command.ElemCount; i += 3) {
        std::array<ImDrawVert const*, 3> v{};
        for (unsigned k = 0; k < 3; ++k)
          v[k] = &list.VtxBuffer[static_cast<int>(
              command.VtxOffset + list.IdxBuffer[static_cast<int>(command.IdxOffset + i + k)])];
        draw_triangle(picture, texture, clip, v);
      }
    }
  }
  return picture;
}

}  // namespace stepscope::viewer
