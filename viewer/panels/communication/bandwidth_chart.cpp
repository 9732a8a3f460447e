// The chart of the communication panel: bus bandwidth against the size of the message, as measured
// and as the fit expects.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <imgui.h>

#include "trace/base/format.h"
#include "viewer/async/background.h"
#include "viewer/panels/communication/communication.h"
#include "viewer/queries/charts/bandwidth_by_size.h"
#include "viewer/timeline/describe.h"
#include "viewer/widgets/plot.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

/// One key: the points are the run's.
struct BandwidthCache : Background<int, std::vector<BandwidthPoint>> {};

/// Operations differ by colour and are named next to the chart.
uint32_t op_colour(model::CollectiveOp op, Theme theme) {
  static constexpr std::array<Paint, 7> kColours = {
      Paint::kUnexplained, Paint::kCommunication, Paint::kDependency, Paint::kCopy,
      Paint::kPeer,        Paint::kAllocation,    Paint::kCompute};
  return paint_colour(kColours[static_cast<size_t>(op) % kColours.size()], theme);
}

Plot make_plot(std::vector<BandwidthPoint> const& points,
               std::vector<analyzer::LinkFit> const& fits, ImVec2 low, ImVec2 high) {
  Plot plot;
  plot.low = low;
  plot.high = high;
  plot.logarithmic = true;

  auto const [least, most] = std::minmax_element(
      points.begin(), points.end(), [](auto const& a, auto const& b) { return a.bytes < b.bytes; });

  // A factor of two around the points; at least two decades, so that a single size stands in the
  // middle of something.
  double const middle =
      std::sqrt(static_cast<double>(least->bytes) * static_cast<double>(most->bytes));
  plot.left = std::min(static_cast<double>(least->bytes) / 2, middle / 10);
  plot.right = std::max(static_cast<double>(most->bytes) * 2, middle * 10);

  double top = 0;
  for (BandwidthPoint const& point : points) {
    top = std::max(top, point.high);
    for (analyzer::LinkFit const& fit : fits)
      if (fit.op == point.op && fit.communicator == point.communicator)
        top = std::max(top, fitted_bandwidth(fit, point.bus_factor, plot.right));
  }
  plot.top = std::max(top * 1.08, 1e-9);
  return plot;
}

void draw_plot_axes(ImDrawList& list, Plot const& plot, Theme theme) {
  std::vector<PlotTick> x_ticks;

  // Every 4th power of two, sizes as people write them.
  for (double bytes = 1; bytes <= plot.right; bytes *= 4)
    if (bytes >= plot.left) {
      std::string label = base::format_bytes(static_cast<uint64_t>(bytes));
      if (size_t const point = label.find('.'); point != std::string::npos)
        label.erase(point, label.find(' ') - point);
      x_ticks.push_back({bytes, std::move(label)});
    }

  std::vector<PlotTick> y_ticks;
  double const step = nice_step(plot.top, 4);
  for (double value = 0; value <= plot.top; value += step)
    y_ticks.push_back({value, fmt::format("{:g}", value)});
  draw_axes(list, plot, x_ticks, y_ticks, theme);
}

void draw_fit(ImDrawList& list, Plot const& plot, analyzer::LinkFit const& fit, double bus_factor,
              Theme theme) {
  constexpr int kPieces = 48;
  uint32_t const colour = with_alpha(op_colour(fit.op, theme), 0.8F);
  ImVec2 previous;

  for (int i = 0; i <= kPieces; ++i) {
    double const bytes =
        plot.left * std::pow(plot.right / plot.left, static_cast<double>(i) / kPieces);
    ImVec2 const at(plot.x(bytes), plot.y(fitted_bandwidth(fit, bus_factor, bytes)));
    if (i > 0) list.AddLine(previous, at, colour, 1.5F * ui_scale());
    previous = at;
  }
}

void draw_point(ImDrawList& list, Plot const& plot, BandwidthPoint const& point, bool pointed_at,
                Theme theme) {
  float const scale = ui_scale();
  uint32_t const colour = op_colour(point.op, theme);
  float const x = plot.x(static_cast<double>(point.bytes));
  float const half = std::max(std::round(0.5F * scale), 0.5F);

  list.AddRectFilled(ImVec2(x - half, plot.y(point.high)), ImVec2(x + half, plot.y(point.low)),
                     with_alpha(colour, 0.7F));
  list.AddCircleFilled(ImVec2(x, plot.y(point.median)), (pointed_at ? 5.5F : 4.0F) * scale,
                       surface(theme).row, 16);
  list.AddCircleFilled(ImVec2(x, plot.y(point.median)), (pointed_at ? 4.5F : 3.0F) * scale, colour,
                       16);
}

void point_tooltip(Scene const& scene, BandwidthPoint const& point) {
  begin_tooltip();
  heading(
      fmt::format("{}, {}", words_of(model::to_string(point.op)), base::format_bytes(point.bytes)));
  text(fmt::format("{}: median {}", base::format_count(point.count, "collective"),
                   base::format_bandwidth(point.median * 1e9)));
  text(fmt::format("slowest {}, fastest {}", base::format_bandwidth(point.low * 1e9),
                   base::format_bandwidth(point.high * 1e9)));

  for (analyzer::LinkFit const& fit : scene.analysis.links) {
    if (fit.op != point.op || fit.communicator != point.communicator) continue;
    text(fmt::format(
        "fit: {} at this size; start {}, {} at the most",
        base::format_bandwidth(
            fitted_bandwidth(fit, point.bus_factor, static_cast<double>(point.bytes)) * 1e9),
        base::format_duration(static_cast<int64_t>(fit.alpha_us * 1e3)),
        base::format_bandwidth(fit.beta_gbps * point.bus_factor * 1e9)));
    text(fmt::format("half of that at {}", base::format_bytes(static_cast<uint64_t>(
                                               std::max(fit.half_bandwidth_bytes, 0.0)))));
  }

  text("click: the slowest of them");
  end_tooltip();
}

/// The operations that occur, in their colours, at the right of the heading.
void op_legend(std::vector<BandwidthPoint> const& points, Theme theme) {
  for (size_t i = 0; i < points.size(); ++i) {
    if (i > 0 && points[i].op == points[i - 1].op) continue;
    std::string const name = words_of(model::to_string(points[i].op));

    ImGui::SameLine(0, 12 * ui_scale());
    if (ImGui::GetContentRegionAvail().x < ImGui::CalcTextSize(name.c_str()).x + 20 * ui_scale()) {
      ImGui::NewLine();
      return;
    }
    swatch(op_colour(points[i].op, theme));
    text_coloured(name, surface(theme).text_dim);
  }
}

}  // namespace

void bandwidth_chart(Scene const& scene, ViewState& state, PanelCache& cache, float rows_height) {
  heading("Bandwidth by size");
  std::vector<BandwidthPoint> const* const points = cache.of<BandwidthCache>().ask(
      0, [&scene](int, std::stop_token const&) { return bandwidth_by_size(scene.analysis); });
  if (points == nullptr || points->empty()) {
    empty_state("No collective of known size has all its participants here.", state.theme);
    return;
  }

  op_legend(*points, state.theme);
  float const scale = ui_scale();
  float const line = ImGui::GetFontSize();
  ImVec2 const corner = ImGui::GetCursorScreenPos();
  ImVec2 const room = ImGui::GetContentRegionAvail();
  ImVec2 const size(std::max(room.x, 80 * scale), std::max(room.y, 60 * scale));
  ImGui::InvisibleButton("bandwidth", size);

  ImVec2 const low(corner.x + 44 * scale, corner.y + line + 4 * scale);
  Plot const plot =
      make_plot(*points, scene.analysis.links, low,
                ImVec2(corner.x + size.x - 4 * scale, corner.y + size.y - line - 6 * scale));
  if (plot.high.x <= plot.low.x || plot.high.y <= plot.low.y) return;

  ImDrawList& list = *ImGui::GetWindowDrawList();
  draw_plot_axes(list, plot, state.theme);
  draw_text(list, ImVec2(corner.x, corner.y), surface(state.theme).text_dim,
            fit("bus bandwidth, GB/s; line: fit", size.x));

  ImVec2 const mouse = ImGui::GetIO().MousePos;
  BandwidthPoint const* nearest = nullptr;
  float best = 14 * scale;

  list.PushClipRect(plot.low, plot.high, true);
  for (BandwidthPoint const& point : *points) {
    for (analyzer::LinkFit const& fit : scene.analysis.links)
      if (fit.op == point.op && fit.communicator == point.communicator &&
          (&point == points->data() || (&point)[-1].op != point.op ||
           (&point)[-1].communicator != point.communicator))
        draw_fit(list, plot, fit, point.bus_factor, state.theme);
    float const distance = std::hypot(plot.x(static_cast<double>(point.bytes)) - mouse.x,
                                      plot.y(point.median) - mouse.y);
    if (!ImGui::IsItemHovered() || distance >= best) continue;
    best = distance;
    nearest = &point;
  }

  for (BandwidthPoint const& point : *points)
    draw_point(list, plot, point, &point == nearest, state.theme);
  list.PopClipRect();
  if (nearest == nullptr) return;

  point_tooltip(scene, *nearest);
  if (ImGui::IsItemClicked()) show_collective(scene, state, nearest->slowest, 0, rows_height);
}

}  // namespace stepscope::viewer
