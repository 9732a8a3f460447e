#include <algorithm>
#include <cmath>

#include "trace/base/format.h"
#include "viewer/timeline/draw.h"
#include "viewer/widgets/text.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

void draw_range(ImDrawList& list, ViewState const& state, Layout const& layout, Canvas canvas) {
  if (!state.range) return;
  Surface const& s = surface(state.theme);
  float const height = layout.viewport.height;
  float const ruler_top = -kRuler * canvas.scale;
  float const x0 = std::clamp(layout.x_of(state.range->begin), 0.0F, layout.viewport.width);
  float const x1 = std::clamp(layout.x_of(state.range->end), 0.0F, layout.viewport.width);
  auto const at = [&](float x, float y) {
    return ImVec2(canvas.origin.x + x, canvas.origin.y + y);
  };

  // What is outside steps back.
  list.AddRectFilled(at(0, 0), at(x0, height), with_alpha(s.background, 0.55F));
  list.AddRectFilled(at(x1, 0), at(layout.viewport.width, height), with_alpha(s.background, 0.55F));
  list.AddRectFilled(at(x0, ruler_top), at(x1, 0), with_alpha(s.accent, 0.25F));
  list.AddRectFilled(at(std::floor(x0), ruler_top), at(std::floor(x0) + 1, height), s.accent);
  list.AddRectFilled(at(std::floor(x1) - 1, ruler_top), at(std::floor(x1), height), s.accent);

  std::string const words = base::format_duration(static_cast<int64_t>(state.range->span()));
  ImVec2 const size = ImGui::CalcTextSize(words.c_str());
  float const pad = 6 * canvas.scale;
  float const middle =
      std::clamp((x0 + x1 - size.x) / 2, pad, std::max(pad, layout.viewport.width - size.x - pad));

  ImVec2 const corner = at(std::round(middle), 5 * canvas.scale);
  list.AddRectFilled(ImVec2(corner.x - pad, corner.y - 2),
                     ImVec2(corner.x + size.x + pad, corner.y + size.y + 2), s.accent,
                     3 * canvas.scale);
  draw_text(list, corner, text_on(s.accent), words);
}

void outline(ImDrawList& list, Item const& item, Canvas canvas, uint32_t colour, float thickness) {
  list.AddRect(ImVec2(canvas.origin.x + std::floor(item.x0) - 1, canvas.origin.y + item.y0 - 1),
               ImVec2(canvas.origin.x + std::max(std::floor(item.x1), std::floor(item.x0) + 2) + 1,
                      canvas.origin.y + item.y1 + 1),
               colour, 2 * canvas.scale, 0, thickness);
}

void draw_evidence(ImDrawList& list, Scene const& scene, ViewState const& state,
                   Layout const& layout, Canvas canvas) {
  Surface const& s = surface(state.theme);
  for (Item const& item : layout.evidence) {
    bool const current = state.finding && state.finding->evidence == item.index;
    bool const critical =
        scene.analysis.findings[state.finding->finding].severity == analyzer::Severity::kCritical;
    uint32_t const colour = critical ? s.critical : s.warning;

    list.AddRectFilled(ImVec2(canvas.origin.x + item.x0, canvas.origin.y + item.y0),
                       ImVec2(canvas.origin.x + item.x1, canvas.origin.y + item.y1),
                       with_alpha(colour, current ? 0.20F : 0.10F));
    outline(list, item, canvas, with_alpha(colour, current ? 1.0F : 0.6F),
            current ? 2 * canvas.scale : 1.0F);
  }
}

void draw_arrow(ImDrawList& list, Arrow const& arrow, Surface const& s, Canvas canvas) {
  ImVec2 const from(canvas.origin.x + arrow.x0, canvas.origin.y + arrow.y0);
  ImVec2 const to(canvas.origin.x + arrow.x1, canvas.origin.y + arrow.y1);
  float const bend = std::max(std::abs(to.x - from.x) * 0.5F, 20 * canvas.scale);
  ImVec2 const c0(from.x + bend, from.y);
  ImVec2 const c1(to.x - bend, to.y);
  list.AddBezierCubic(from, c0, c1, to, s.background, 4.5F * canvas.scale);
  list.AddBezierCubic(from, c0, c1, to, s.accent, 2 * canvas.scale);

  float const size = 6 * canvas.scale;
  list.AddTriangleFilled(to, ImVec2(to.x - size * 1.4F, to.y - size * 0.7F),
                         ImVec2(to.x - size * 1.4F, to.y + size * 0.7F), s.accent);
}

void draw_scroll_bar(ImDrawList& list, ViewState const& state, Layout const& layout,
                     Canvas canvas) {
  float const view = layout.viewport.height;
  if (layout.content_height <= view) return;

  float const size = std::max(view * view / layout.content_height, 24 * canvas.scale);
  float const at =
      state.scroll * canvas.scale / std::max(layout.content_height - view, 1.0F) * (view - size);
  float const right = canvas.origin.x + layout.viewport.width - 3 * canvas.scale;
  list.AddRectFilled(ImVec2(right - 5 * canvas.scale, canvas.origin.y + at),
                     ImVec2(right, canvas.origin.y + at + size),
                     with_alpha(surface(state.theme).text_dim, 0.6F), 3 * canvas.scale);
}

}  // namespace

void draw_path(ImDrawList& list, ViewState const& state, Layout const& layout, Canvas canvas) {
  if (layout.path.empty()) return;

  Surface const& s = surface(state.theme);
  float const thick = std::round(3 * canvas.scale);
  float const thin = std::max(std::round(canvas.scale), 1.0F);
  list.PushClipRect(
      canvas.origin,
      ImVec2(canvas.origin.x + layout.viewport.width, canvas.origin.y + layout.viewport.height),
      true);

  auto const line_of = [&](PathItem const& item) {
    return canvas.origin.y + std::max(item.y1 - thick, 0.0F);
  };
  // Shadows first: the line is seen on bars of any colour.
  for (PathItem const& item : layout.path)
    list.AddRectFilled(
        ImVec2(canvas.origin.x + std::floor(item.x0), line_of(item) - thin),
        ImVec2(canvas.origin.x + std::max(std::floor(item.x1), std::floor(item.x0) + 1),
               line_of(item)),
        s.background);

  for (size_t i = 0; i < layout.path.size(); ++i) {
    PathItem const& item = layout.path[i];
    float const x0 = canvas.origin.x + std::floor(item.x0);
    float const x1 = std::max(canvas.origin.x + std::floor(item.x1), x0 + 1);
    list.AddRectFilled(ImVec2(x0, line_of(item)), ImVec2(x1, line_of(item) + thick),
                       with_alpha(s.critical, item.is_out_of_view() ? 0.5F : 1.0F));

    // From where the path was to where it goes on.
    if (i == 0 || item.is_thin || layout.path[i - 1].is_thin ||
        layout.path[i - 1].x1 < item.x0 - 1 || line_of(layout.path[i - 1]) == line_of(item))
      continue;
    auto const [top, bottom] = std::minmax({line_of(layout.path[i - 1]), line_of(item)});
    list.AddRectFilled(ImVec2(x0, top), ImVec2(x0 + thin, bottom + thick),
                       with_alpha(s.critical, 0.85F));
  }
  list.PopClipRect();
}

void draw_overlays(ImDrawList& list, Scene const& scene, ViewState const& state,
                   Layout const& layout, Canvas canvas) {
  Surface const& s = surface(state.theme);
  ImVec2 const high(canvas.origin.x + layout.viewport.width,
                    canvas.origin.y + layout.viewport.height);
  list.PushClipRect(ImVec2(canvas.origin.x, canvas.origin.y - kRuler * canvas.scale), high, true);
  draw_range(list, state, layout, canvas);
  list.PopClipRect();

  list.PushClipRect(canvas.origin, high, true);
  draw_evidence(list, scene, state, layout, canvas);
  for (Arrow const& arrow : layout.arrows) draw_arrow(list, arrow, s, canvas);
  for (size_t i = 0; i < layout.related.size(); ++i)
    outline(list, layout.related[i], canvas, i == 0 ? s.text : s.accent, 2 * canvas.scale);
  list.PopClipRect();

  draw_scroll_bar(list, state, layout, canvas);
}

}  // namespace stepscope::viewer
