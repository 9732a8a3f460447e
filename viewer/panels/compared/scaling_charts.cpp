#include "viewer/panels/compared/scaling_charts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <imgui.h>

#include "reports/words/runs/scaling_words.h"
#include "trace/base/format.h"
#include "viewer/widgets/plot.h"
#include "viewer/widgets/table_sort.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

using analyzer::Estimate;
using analyzer::ScalingPoint;
using analyzer::ScalingSeries;

/// A chart over the numbers of devices, in what is left of the window below its caption.
struct DevicePlot {
  Plot plot;
  bool is_drawn = false;
  std::optional<size_t> pointed;               ///< under the mouse
  std::optional<uint64_t> pointed_prediction;  ///< devices under the mouse that no run has
};

double devices_of(ScalingPoint const& point) {
  return static_cast<double>(std::max<uint64_t>(point.devices, 1));
}

/// The nearest number of devices to the mouse.
void point_at_mouse(DevicePlot& made, ScalingSeries const& series,
                    std::vector<uint64_t> const& predicted) {
  float nearest = made.plot.high.x - made.plot.low.x;
  auto const is_nearer = [&](double devices) {
    float const distance = std::abs(made.plot.x(devices) - ImGui::GetIO().MousePos.x);
    if (distance >= nearest) return false;
    nearest = distance;
    return true;
  };

  for (size_t p = 0; p < series.points.size(); ++p)
    if (is_nearer(devices_of(series.points[p]))) made.pointed = p;
  for (uint64_t const devices : predicted) {
    if (!is_nearer(static_cast<double>(devices))) continue;
    made.pointed.reset();
    made.pointed_prediction = devices;
  }
}

/// `predicted`: numbers of devices beside those of the series.
DevicePlot begin_plot(char const* id, ScalingSeries const& series, float gutter,
                      std::vector<uint64_t> const& predicted = {}) {
  float const scale = ui_scale();
  float const line = ImGui::GetFontSize();
  ImVec2 const corner = ImGui::GetCursorScreenPos();
  ImVec2 const room = ImGui::GetContentRegionAvail();
  ImVec2 const size(std::max(room.x, 60 * scale), std::max(room.y, 40 * scale));
  ImGui::InvisibleButton(id, size);

  DevicePlot made;
  made.plot.low = ImVec2(corner.x + gutter * scale, corner.y + 4 * scale);
  made.plot.high = ImVec2(corner.x + size.x - 6 * scale, corner.y + size.y - line - 6 * scale);
  made.plot.logarithmic = true;

  // Room at both sides: points do not stand on the frame.
  made.plot.left = devices_of(series.points.front()) / 1.15;
  made.plot.right = devices_of(series.points.back()) * 1.15;
  if (!predicted.empty())
    made.plot.right = std::max(made.plot.right, static_cast<double>(predicted.back()) * 1.15);
  made.is_drawn = made.plot.high.x > made.plot.low.x && made.plot.high.y > made.plot.low.y;

  if (made.is_drawn && ImGui::IsItemHovered()) point_at_mouse(made, series, predicted);
  return made;
}

std::vector<PlotTick> device_ticks(ScalingSeries const& series) {
  std::vector<PlotTick> ticks;
  for (ScalingPoint const& point : series.points)
    ticks.push_back({devices_of(point), base::format_count(point.devices)});
  return ticks;
}

/// A line through a value of every point.
void draw_line(ImDrawList& list, Plot const& plot, ScalingSeries const& series, uint32_t colour,
               float width, std::function<double(ScalingPoint const&)> const& value) {
  std::optional<ImVec2> before;

  for (ScalingPoint const& point : series.points) {
    double const y = value(point);
    if (!std::isfinite(y)) {
      before.reset();
      continue;
    }

    ImVec2 const at(plot.x(devices_of(point)), plot.y(y));
    if (before) list.AddLine(*before, at, colour, width * ui_scale());
    before = at;
  }
}

/// A point and its interval; `y`: from values to the plot's.
void draw_estimate(ImDrawList& list, Plot const& plot, ScalingPoint const& point,
                   Estimate const& estimate, uint32_t colour, double (*y)(double),
                   bool is_pointed) {
  float const scale = ui_scale();
  float const x = plot.x(devices_of(point));

  if (estimate.low && estimate.high && std::isfinite(y(*estimate.low)) &&
      std::isfinite(y(*estimate.high))) {
    float const low = plot.y(y(*estimate.low)), high = plot.y(y(*estimate.high));
    list.AddLine(ImVec2(x, low), ImVec2(x, high), colour, 1.5F * scale);
    for (float const end : {low, high})
      list.AddLine(ImVec2(x - 3 * scale, end), ImVec2(x + 3 * scale, end), colour, 1.5F * scale);
  }

  if (std::isfinite(y(estimate.value)))
    list.AddCircleFilled(ImVec2(x, plot.y(y(estimate.value))), (is_pointed ? 4.5F : 3.0F) * scale,
                         colour, 16);
}

/// A line through the predictions, and a ring at each one of a replay: it is asked for these
/// numbers of devices only.
void draw_curve(ImDrawList& list, Plot const& plot, ScalingCurve const& curve, uint32_t colour) {
  std::optional<ImVec2> before;
  for (ScalingCurve::Point const& point : curve.points) {
    double const y = point.throughput.value > 0 ? std::log2(point.throughput.value) : std::nan("");
    if (!std::isfinite(y)) {
      before.reset();
      continue;
    }

    ImVec2 const at(plot.x(point.devices), plot.y(y));
    if (before) list.AddLine(*before, at, colour, (curve.is_replay ? 1.5F : 1.0F) * ui_scale());
    if (curve.is_replay) list.AddCircle(at, 3.5F * ui_scale(), colour, 16, 1.5F * ui_scale());
    before = at;
  }
}

uint32_t colour_of(ScalingCurve const& curve, size_t place, Theme theme) {
  static constexpr std::array<Paint, 3> kModels = {Paint::kSync, Paint::kAllocation, Paint::kCopy};
  if (curve.is_replay) return surface(theme).accent;
  return with_alpha(paint_colour(kModels[place % kModels.size()], theme), 0.8F);
}

/// A name in a legend, on the next line where it does not fit; shortened where no line holds it.
void legend_entry(uint32_t colour, std::string const& name, uint32_t text_colour) {
  float const width = ImGui::CalcTextSize(name.c_str()).x + 26 * ui_scale();
  bool const begins_line = ImGui::GetCursorPosX() <= ImGui::GetCursorStartPos().x;
  if (!begins_line && ImGui::GetContentRegionAvail().x < width) ImGui::NewLine();
  swatch(colour);
  text_coloured(fit(name, ImGui::GetContentRegionAvail().x), text_colour);
  ImGui::SameLine(0, 9 * ui_scale());
}

void curve_legend(std::vector<ScalingCurve> const& curves, Theme theme) {
  if (curves.empty()) return;
  for (size_t i = 0; i < curves.size(); ++i) {
    legend_entry(colour_of(curves[i], i, theme), curves[i].label, surface(theme).text_dim);
    hint(curves[i].hint);
  }
  ImGui::NewLine();
}

/// What is predicted for a number of devices that no run has.
void prediction_tooltip(PredictedScaling const& predicted, uint64_t devices, Theme theme) {
  begin_tooltip();
  heading(reports::devices_text(devices));
  text_coloured("predicted", surface(theme).text_dim);
  for (std::string const& line : predicted_words(predicted.series, devices)) text(line);
  end_tooltip();
}

void point_tooltip(ScalingView const& view, size_t index, Theme theme,
                   ScalingSeries const* predicted) {
  ScalingSeries const& series = view.series;
  ScalingPoint const& point = series.points[index];
  begin_tooltip();

  heading(reports::devices_text(point.devices));
  text(fmt::format("{}, {}", base::format_count(point.runs.size(), "run"),
                   base::format_count(point.steps, "step")));
  text(fmt::format("step {} {}", duration_words(point.step_ns.value),
                   reports::half_interval(point.step_ns)));
  text(fmt::format("{} {}, {} times the work; ideal {}",
                   reports::plain_number(point.throughput.value), reports::throughput_unit(series),
                   reports::plain_number(point.speedup.value),
                   reports::plain_number(devices_of(point) / devices_of(series.points.front()))));

  std::string const interval = reports::share_interval(point.efficiency);
  text(fmt::format("efficiency {}{}", base::format_share(point.efficiency.value),
                   point.efficiency.low ? ", 95 % interval " + interval : ""));

  for (size_t f = 0; f < analyzer::kScalingFactorCount; ++f) {
    auto const factor = static_cast<analyzer::ScalingFactor>(f);
    swatch(paint_colour(paint_of(factor), theme));
    text(fmt::format("{}  {}", base::format_share(point.factors.of(factor)),
                     reports::factor_words(factor).label));
  }

  if (predicted != nullptr)
    for (std::string const& line : predicted_words(*predicted, point.devices))
      text_coloured(line, surface(theme).text_dim);
  if (index > 0) text_coloured("click: what is lost up to here", surface(theme).text_dim);
  end_tooltip();
}

/// `predicted`: what the tooltip adds to the measured numbers; null: nothing.
std::optional<size_t> finish_plot(ScalingView const& view, DevicePlot const& made, Theme theme,
                                  PredictedScaling const* predicted = nullptr) {
  if (predicted != nullptr && made.pointed_prediction && !made.pointed)
    prediction_tooltip(*predicted, *made.pointed_prediction, theme);
  if (!made.pointed) return std::nullopt;
  point_tooltip(view, *made.pointed, theme, predicted != nullptr ? &predicted->series : nullptr);
  return ImGui::IsItemClicked() ? made.pointed : std::nullopt;
}

/// 1, 2, 5, 10, … as far as they lie within two logarithms of base 2.
std::vector<PlotTick> logarithmic_ticks(double bottom, double top) {
  std::vector<PlotTick> ticks;
  double const lowest = std::floor(bottom * std::log10(2.0)),
               highest = std::ceil(top * std::log10(2.0));

  for (double power = lowest; power <= highest && ticks.size() < 64; ++power)
    for (double const digit : {1.0, 2.0, 5.0}) {
      double const value = digit * std::pow(10.0, power);
      double const at = std::log2(value);
      if (at >= bottom && at <= top)
        ticks.push_back(
            {at, value >= 1e6 ? fmt::format("{:.0e}", value) : fmt::format("{:g}", value)});
    }
  return ticks;
}

double log2_of(double value) { return value > 0 ? std::log2(value) : std::nan(""); }
double as_is(double value) { return value; }

/// Ticks that keep a line's height of each other.
void thin_ticks(std::vector<PlotTick>& ticks, Plot const& plot) {
  float free_below = plot.high.y + 1000;
  std::erase_if(ticks, [&](PlotTick const& tick) {
    float const y = plot.y(tick.value);
    if (y > free_below) return true;
    free_below = y - ImGui::GetFontSize() - 2 * ui_scale();
    return false;
  });
}

}  // namespace

namespace {

/// The logarithms of the least and the most throughput that is drawn.
std::pair<double, double> throughput_range(ScalingSeries const& series,
                                           std::vector<ScalingCurve> const& curves, double of_one) {
  double least = log2_of(of_one * devices_of(series.points.front())),
         most = log2_of(of_one * devices_of(series.points.back()));
  auto const see = [&](double value) {
    double const y = log2_of(value);
    if (!std::isfinite(y)) return;
    least = std::min(least, y);
    most = std::max(most, y);
  };

  for (ScalingPoint const& point : series.points) {
    see(point.throughput.value);
    see(point.throughput.low.value_or(0));
    see(point.throughput.high.value_or(0));
  }
  for (ScalingCurve const& curve : curves)
    for (ScalingCurve::Point const& point : curve.points) see(point.throughput.value);
  return {least, most};
}

}  // namespace

std::optional<size_t> throughput_chart(ScalingView const& view, PredictedScaling const& predicted,
                                       Theme theme) {
  ScalingSeries const& series = view.series;
  Surface const& s = surface(theme);
  heading("Throughput");
  ImGui::SameLine();
  text_coloured(fit(fmt::format("{} · line: ideal", reports::throughput_unit(series)),
                    ImGui::GetContentRegionAvail().x),
                s.text_dim);

  curve_legend(predicted.curves, theme);

  std::vector<uint64_t> const beyond = predicted_sizes(predicted.series);
  DevicePlot made = begin_plot("throughput", series, 46, beyond);
  if (!made.is_drawn) return std::nullopt;
  Plot& plot = made.plot;
  double const of_one = series.points.front().throughput.value / devices_of(series.points.front());
  auto const ideal = [&](double devices) { return log2_of(of_one * devices); };
  auto const [least, most] = throughput_range(series, predicted.curves, of_one);
  if (!std::isfinite(least) || !std::isfinite(most)) return std::nullopt;
  plot.bottom = least - 0.25;
  plot.top = most + 0.25;

  ImDrawList& list = *ImGui::GetWindowDrawList();
  auto y_ticks = logarithmic_ticks(plot.bottom, plot.top);
  thin_ticks(y_ticks, plot);
  std::vector<PlotTick> x_ticks = device_ticks(series);
  if (!beyond.empty() && beyond.back() > series.points.back().devices)
    x_ticks.push_back({static_cast<double>(beyond.back()), base::format_count(beyond.back())});
  draw_axes(list, plot, x_ticks, y_ticks, theme);

  list.PushClipRect(plot.low, plot.high, true);
  list.AddLine(ImVec2(plot.low.x, plot.y(ideal(plot.left))),
               ImVec2(plot.high.x, plot.y(ideal(plot.right))), s.text_dim, 1 * ui_scale());
  for (size_t i = 0; i < predicted.curves.size(); ++i)
    draw_curve(list, plot, predicted.curves[i], colour_of(predicted.curves[i], i, theme));

  uint32_t const colour = paint_colour(Paint::kCompute, theme);
  draw_line(list, plot, series, colour, 2,
            [](ScalingPoint const& point) { return log2_of(point.throughput.value); });
  for (size_t p = 0; p < series.points.size(); ++p)
    draw_estimate(list, plot, series.points[p], series.points[p].throughput, colour, log2_of,
                  made.pointed == p);

  list.PopClipRect();
  return finish_plot(view, made, theme, &predicted);
}

namespace {

/// What each line of the chart stands for; the factor that broke first stands out.
void factor_legend(ScalingView const& view, Theme theme) {
  static constexpr std::array<char const*, analyzer::kScalingFactorCount> kShort = {
      "load balance", "communication", "orchestration", "computation"};
  for (size_t f = 0; f < analyzer::kScalingFactorCount; ++f) {
    auto const factor = static_cast<analyzer::ScalingFactor>(f);
    bool const is_broken = view.series.broken && view.series.broken->factor == factor;

    legend_entry(paint_colour(paint_of(factor), theme), kShort[f],
                 is_broken ? surface(theme).critical : surface(theme).text_dim);
    hint(fmt::format("{}: {}{}", reports::factor_words(factor).label,
                     reports::factor_words(factor).meaning, is_broken ? "\nIt broke first." : ""));
  }
  ImGui::NewLine();
}

}  // namespace

std::optional<size_t> efficiency_chart(ScalingView const& view, Theme theme) {
  ScalingSeries const& series = view.series;
  Surface const& s = surface(theme);
  heading("Efficiency");
  ImGui::SameLine();
  text_coloured(fit("bold, and its factors", ImGui::GetContentRegionAvail().x), s.text_dim);
  factor_legend(view, theme);

  DevicePlot made = begin_plot("efficiency", series, 46);
  if (!made.is_drawn) return std::nullopt;
  Plot& plot = made.plot;
  double least = 1, most = 1;
  auto const see = [&](double value) {
    if (!std::isfinite(value)) return;
    least = std::min(least, value);
    most = std::max(most, value);
  };

  for (ScalingPoint const& point : series.points) {
    for (double const factor : point.factors.by_factor) see(factor);
    see(point.efficiency.value);
    see(point.efficiency.low.value_or(1));
    see(point.efficiency.high.value_or(1));
  }
  // At least a tenth is seen, so that what hardly changes looks so.
  plot.bottom = std::max(std::min(least, 0.9) - 0.02, 0.0);
  plot.top = most + (most - plot.bottom) * 0.06;

  double const step = nice_step(plot.top - plot.bottom, 4);
  std::vector<PlotTick> y_ticks;
  for (double value = std::ceil(plot.bottom / step) * step;
       value <= plot.top && y_ticks.size() < 64; value += step)
    y_ticks.push_back({value, fmt::format("{:g} %", std::round(value * 1000) / 10)});
  thin_ticks(y_ticks, plot);

  ImDrawList& list = *ImGui::GetWindowDrawList();
  draw_axes(list, plot, device_ticks(series), y_ticks, theme);

  list.PushClipRect(plot.low, plot.high, true);
  for (size_t f = 0; f < analyzer::kScalingFactorCount; ++f)
    draw_line(list, plot, series,
              paint_colour(paint_of(static_cast<analyzer::ScalingFactor>(f)), theme), 1.5F,
              [f](ScalingPoint const& point) { return point.factors.by_factor[f]; });
  draw_line(list, plot, series, s.text, 2.5F,
            [](ScalingPoint const& point) { return point.efficiency.value; });
  for (size_t p = 0; p < series.points.size(); ++p)
    draw_estimate(list, plot, series.points[p], series.points[p].efficiency, s.text, as_is,
                  made.pointed == p);

  list.PopClipRect();
  return finish_plot(view, made, theme);
}

}  // namespace stepscope::viewer
