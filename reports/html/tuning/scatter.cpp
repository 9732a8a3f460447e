#include "reports/html/tuning/scatter.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "reports/html/escape.h"
#include "reports/words/language.h"

namespace stepscope::reports {
namespace {

// The picture's own units; the page scales it.
constexpr double kWidth = 640, kHeight = 460;
constexpr double kLeft = 64, kRight = 26, kTop = 14, kBottom = 52;
constexpr double kPointRadius = 4.5;
/// What a share has to lie in to be drawn: intervals of two pairs may reach anywhere.
constexpr double kMostShownShareOfStep = 10;

/// A range of shares that both axes show.
struct ScatterScale {
  double low = 0, high = 0;

  [[nodiscard]] double inside(double share) const { return std::clamp(share, low, high); }
  [[nodiscard]] double x(double share) const {
    return kLeft + (inside(share) - low) / (high - low) * (kWidth - kLeft - kRight);
  }
  [[nodiscard]] double y(double share) const {
    return kHeight - kBottom - (inside(share) - low) / (high - low) * (kHeight - kTop - kBottom);
  }
};

bool is_drawable(double share) {
  return std::isfinite(share) && std::abs(share) <= kMostShownShareOfStep;
}

ScatterScale scatter_scale(std::vector<ScatterPoint> const& points) {
  double low = 0, high = 0;
  for (ScatterPoint const& point : points)
    for (ScatterValue const& value : {point.x, point.y})
      for (double const share : {value.value, value.low, value.high}) {
        if (!is_drawable(share)) continue;
        low = std::min(low, share);
        high = std::max(high, share);
      }

  double const span = std::max(high - low, 0.01);
  double const tick = tick_distance(span);
  return {std::floor(low / tick) * tick, std::ceil((high + span * 0.02) / tick) * tick};
}

std::string svg_line(std::string_view style, double x1, double y1, double x2, double y2) {
  return fmt::format("<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>",
                     style, x1, y1, x2, y2);
}

std::string scatter_axes(ScatterScale const& scale) {
  double const tick = tick_distance(scale.high - scale.low);
  int const digits = tick < 0.0095 ? 1 : 0;
  auto const count = static_cast<int>(std::lround((scale.high - scale.low) / tick));
  std::string out;

  for (int i = 0; i <= count; ++i) {
    double const share = scale.low + i * tick;
    double const percent = std::abs(share) < tick / 2 ? 0.0 : share * 100;
    std::string const text = fmt::format("{:.{}f} %", percent, digits);
    out += svg_line("grid", scale.x(share), kTop, scale.x(share), kHeight - kBottom);
    out += svg_line("grid", kLeft, scale.y(share), kWidth - kRight, scale.y(share));
    out += fmt::format("<text class=\"mid\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", scale.x(share),
                       kHeight - kBottom + 18, text);
    out += fmt::format("<text class=\"last\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", kLeft - 8,
                       scale.y(share) + 4, text);
  }

  out += svg_line("axis", scale.x(0), kTop, scale.x(0), kHeight - kBottom);
  out += svg_line("axis", kLeft, scale.y(0), kWidth - kRight, scale.y(0));
  return out + svg_line("exact", scale.x(scale.low), scale.y(scale.low), scale.x(scale.high),
                        scale.y(scale.high));
}

/// An end of an interval that is not known: that of the axis.
double bound_or(double bound, double otherwise) { return std::isfinite(bound) ? bound : otherwise; }

std::string scatter_mark(ScatterPoint const& point, ScatterScale const& scale) {
  double const x = scale.x(point.x.value), y = scale.y(point.y.value);
  std::string out =
      fmt::format("<g class=\"{}\"><title>{}</title>", point.is_filled ? "point-filled" : "point",
                  escape(point.label, 600));
  out += svg_line("interval", scale.x(bound_or(point.x.low, scale.low)), y,
                  scale.x(bound_or(point.x.high, scale.high)), y);
  out += svg_line("interval", x, scale.y(bound_or(point.y.low, scale.low)), x,
                  scale.y(bound_or(point.y.high, scale.high)));

  out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"/>", x, y, kPointRadius);
  bool const is_at_right_edge = x > kWidth - kRight - 30;
  return out + fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text></g>\n",
                           is_at_right_edge ? "last" : "first", is_at_right_edge ? x - 8 : x + 8,
                           y - 6, escape(point.mark, 12));
}

}  // namespace

double tick_distance(double span) {
  double const power = std::pow(10, std::floor(std::log10(span)));
  double const leading = span / power;
  if (leading >= 5) return power;
  return leading >= 2 ? power / 2 : power / 5;
}

std::string html_scatter(std::string_view title, std::string_view x_title, std::string_view y_title,
                         std::vector<ScatterPoint> const& points) {
  std::vector<ScatterPoint> drawn;
  std::copy_if(points.begin(), points.end(), std::back_inserter(drawn),
               [](ScatterPoint const& point) {
                 return is_drawable(point.x.value) && is_drawable(point.y.value);
               });
  if (drawn.empty()) return {};

  ScatterScale const scale = scatter_scale(drawn);
  std::string marks;
  for (ScatterPoint const& point : drawn) marks += scatter_mark(point, scale);

  std::string const shown_title = escape(tr(title));
  std::string out = fmt::format(
      "<figure class=\"scatter\"><figcaption>{}</figcaption>"
      "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"{}\">"
      "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n",
      shown_title, shown_title, kWidth, kHeight,
      tr("Chart: {}. Its data follow as a table.", shown_title));
  out += scatter_axes(scale);

  out += fmt::format("<text class=\"mid title\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>",
                     (kLeft + kWidth - kRight) / 2, kHeight - 10, escape(tr(x_title)));
  double const middle = (kTop + kHeight - kBottom) / 2;
  out += fmt::format(
      "<text class=\"mid title\" x=\"14\" y=\"{0:.1f}\" transform=\"rotate(-90 14 {0:.1f})\">{1}"
      "</text>\n",
      middle, escape(tr(y_title)));
  return out + marks + "</svg></div></figure>\n";
}

}  // namespace stepscope::reports
