#include "viewer/widgets/plot.h"

#include <algorithm>
#include <cmath>

#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {

float Plot::x(double value) const {
  double const share = logarithmic ? std::log(std::max(value, left) / left) / std::log(right / left)
                                   : (value - left) / (right - left);
  return low.x + static_cast<float>(share) * (high.x - low.x);
}

float Plot::y(double value) const {
  return high.y - static_cast<float>((value - bottom) / (top - bottom)) * (high.y - low.y);
}

double Plot::value_at(float x) const {
  double const share = static_cast<double>((x - low.x) / (high.x - low.x));
  return logarithmic ? left * std::pow(right / left, share) : left + share * (right - left);
}

double nice_step(double span, int count) {
  double const rough = std::max(span, 1e-300) / std::max(count, 1);
  double const power = std::pow(10.0, std::floor(std::log10(rough)));
  for (double const nice : {1.0, 2.0, 5.0})
    if (power * nice >= rough) return power * nice;
  return power * 10;
}

void draw_axes(ImDrawList& list, Plot const& plot, std::span<PlotTick const> x_ticks,
               std::span<PlotTick const> y_ticks, Theme theme) {
  Surface const& s = surface(theme);
  float const scale = ui_scale();
  list.AddRectFilled(plot.low, plot.high, s.row);

  for (PlotTick const& tick : y_ticks) {
    float const y = std::round(plot.y(tick.value));
    if (y < plot.low.y - 1 || y > plot.high.y + 1) continue;
    list.AddRectFilled(ImVec2(plot.low.x, y), ImVec2(plot.high.x, y + 1), s.line);
    ImVec2 const size = ImGui::CalcTextSize(tick.label.c_str());
    draw_text(list, ImVec2(plot.low.x - size.x - 5 * scale, std::round(y - size.y / 2)), s.text_dim,
              tick.label);
  }

  float free_from = plot.low.x - 1000;
  for (PlotTick const& tick : x_ticks) {
    float const x = std::round(plot.x(tick.value));
    if (x < plot.low.x - 1 || x > plot.high.x + 1) continue;

    list.AddRectFilled(ImVec2(x, plot.low.y), ImVec2(x + 1, plot.high.y), s.line);
    float const width = ImGui::CalcTextSize(tick.label.c_str()).x;
    float const left = std::round(
        std::clamp(x - width / 2, plot.low.x, std::max(plot.high.x - width, plot.low.x)));

    if (left < free_from) continue;
    draw_text(list, ImVec2(left, plot.high.y + 3 * scale), s.text_dim, tick.label);
    free_from = left + width + 10 * scale;
  }

  list.AddRectFilled(ImVec2(plot.low.x, plot.high.y), ImVec2(plot.high.x, plot.high.y + 1),
                     s.line_strong);
}

}  // namespace stepscope::viewer
