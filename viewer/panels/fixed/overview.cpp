#include <algorithm>
#include <cmath>

#include <imgui.h>

#include "viewer/async/background.h"
#include "viewer/interaction/navigate.h"
#include "viewer/panels/fixed/fixed_panels.h"
#include "viewer/queries/overview_strips.h"
#include "viewer/timeline/draw.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

struct OverviewCache : Background<uint32_t, OverviewStrips> {};

void draw_strip(ImDrawList& list, ViewState const& state, OverviewStrips const& strips,
                size_t device, ImVec2 low, ImVec2 high) {
  // While the window is being resized the strips are still those of another width.
  float const scale = (high.x - low.x) / strips.columns;
  for (OverviewStrips::Piece const& piece : strips.devices[device]) {
    float const x0 = low.x + std::floor(piece.first * scale);
    list.AddRectFilled(
        ImVec2(x0, low.y), ImVec2(std::max(low.x + std::floor(piece.last * scale), x0 + 1), high.y),
        with_alpha(paint_colour(piece.paint, state.theme), piece.idle ? 0.55F : 0.9F));
  }
}

void draw_window(ImDrawList& list, ViewState const& state, Scene const& scene, ImVec2 low,
                 ImVec2 high) {
  Surface const& s = surface(state.theme);
  float const scale = ui_scale();
  auto const x_of = [&](double time) {
    double const share = std::clamp(time / static_cast<double>(scene.length), 0.0, 1.0);
    return low.x + std::round(static_cast<float>(share) * (high.x - low.x));
  };

  float const x0 = x_of(state.window.begin);
  float const x1 = std::max(x_of(state.window.end), x0 + 3 * scale);

  list.AddRectFilled(low, ImVec2(x0, high.y), with_alpha(s.background, 0.60F));
  list.AddRectFilled(ImVec2(x1, low.y), high, with_alpha(s.background, 0.60F));
  list.AddRect(ImVec2(x0, low.y), ImVec2(x1, high.y), s.accent, 2 * scale, 0, 1.5F * scale);
}

}  // namespace

void overview(Scene const& scene, ViewState& state, PanelCache& panels, float height) {
  float const scale = ui_scale();
  ImVec2 const corner = ImGui::GetCursorScreenPos();
  float const width = std::max(ImGui::GetContentRegionAvail().x, 1.0F);
  ImVec2 const low(corner.x + gutter() * scale, corner.y + 2 * scale);
  ImVec2 const high(std::max(corner.x + width - 8 * scale, low.x + 1),
                    corner.y + height - 3 * scale);

  ImGui::InvisibleButton("overview", ImVec2(width, height));
  ImDrawList& list = *ImGui::GetWindowDrawList();

  push_bold();
  draw_text(list,
            ImVec2(corner.x + 8 * scale, std::round((low.y + high.y - ImGui::GetFontSize()) / 2)),
            surface(state.theme).text, "Whole run");
  pop_bold();

  list.AddRectFilled(low, high, surface(state.theme).row);
  auto const columns = static_cast<uint32_t>(std::max(high.x - low.x, 1.0F));
  auto& cache = panels.of<OverviewCache>();
  OverviewStrips const* strips =
      cache.ask(columns, [&scene](uint32_t wanted, std::stop_token const& stop) {
        return overview_strips(scene, wanted, stop);
      });
  if (strips == nullptr) strips = cache.latest();

  size_t const devices = strips == nullptr ? 0 : strips->devices.size();
  float const line = (high.y - low.y) / static_cast<float>(std::max<size_t>(devices, 1));
  for (size_t i = 0; i < devices; ++i) {
    float const y0 = std::round(low.y + static_cast<float>(i) * line);
    float const y1 = std::max(std::round(low.y + static_cast<float>(i + 1) * line) - 1, y0 + 1);
    draw_strip(list, state, *strips, i, ImVec2(low.x, y0), ImVec2(high.x, y1));
  }

  draw_window(list, state, scene, low, high);
  if (ImGui::IsItemActivated()) remember(state);
  if (!ImGui::IsItemActive()) return;

  double const share = static_cast<double>((ImGui::GetIO().MousePos.x - low.x) / (high.x - low.x));
  double const middle = std::clamp(share, 0.0, 1.0) * static_cast<double>(scene.length);
  pan(state, scene, (middle - (state.window.begin + state.window.end) / 2) / state.window.span());
}

}  // namespace stepscope::viewer
