#include "viewer/panels/histogram.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <imgui.h>

#include "trace/base/format.h"
#include "viewer/async/background.h"
#include "viewer/interaction/navigate.h"
#include "viewer/queries/duration_histogram.h"
#include "viewer/queries/search_query.h"
#include "viewer/widgets/plot.h"
#include "viewer/widgets/text.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

struct HistogramCache : Background<HistogramKey, DurationHistogram> {};

Plot histogram_plot(DurationHistogram const& histogram, ImVec2 low, ImVec2 high) {
  Plot plot;
  plot.low = low;
  plot.high = high;
  plot.logarithmic = true;
  plot.left = static_cast<double>(std::max<int64_t>(histogram.shortest_ns, 1));
  plot.right = static_cast<double>(histogram.longest_ns) + 1;

  // A single duration stands in the middle.
  if (histogram.bins.size() == 1) {
    plot.right *= 1.05;
    plot.left /= 1.05;
  }

  uint64_t most = 1;
  for (auto const& bin : histogram.bins) most = std::max(most, bin.count);
  plot.top = static_cast<double>(most) * 1.06;
  return plot;
}

void draw_histogram_axes(ImDrawList& list, Plot const& plot, Theme theme) {
  // Durations in a narrow range have even steps, in a wide one 1, 2 and 5 of every decade.
  std::vector<PlotTick> x_ticks;
  auto const tick = [&](double ns) {
    x_ticks.push_back({ns, base::format_duration(static_cast<int64_t>(std::round(ns)))});
  };

  if (plot.right / plot.left < 4) {
    double const step = std::max(nice_step(plot.right - plot.left, 4), 1.0);
    for (double ns = std::ceil(plot.left / step) * step; ns <= plot.right; ns += step)
      x_ticks.push_back({ns, format_time(ns, step)});
  } else {
    for (double power = std::pow(10, std::floor(std::log10(plot.left))); power <= plot.right;
         power *= 10)
      for (double const nice : {1.0, 2.0, 5.0})
        if (power * nice >= plot.left && power * nice <= plot.right) tick(power * nice);
  }

  std::vector<PlotTick> y_ticks;
  double const step = std::max(nice_step(plot.top, 3), 1.0);
  for (double count = 0; count <= plot.top; count += step)
    y_ticks.push_back({count, base::format_count(static_cast<uint64_t>(count))});
  draw_axes(list, plot, x_ticks, y_ticks, theme);
}

/// The bar under the mouse; each takes its whole height, so that short ones can be pointed at.
DurationHistogram::Bin const* draw_bins(ImDrawList& list, DurationHistogram const& histogram,
                                        Plot const& plot, Query const& query, bool hovered,
                                        Theme theme) {
  DurationHistogram::Bin const* pointed_at = nullptr;
  float const mouse = ImGui::GetIO().MousePos.x;
  for (auto const& bin : histogram.bins) {
    float const x0 = std::round(plot.x(static_cast<double>(bin.from_ns)));
    float const least = histogram.bins.size() == 1 ? 8 * ui_scale() : 1;
    float const x1 =
        std::max(std::round(plot.x(static_cast<double>(bin.until_ns) + 1)) - 1, x0 + least);
    if (bin.count == 0) continue;

    if (hovered && mouse >= x0 && mouse < x1 + 1) {
      pointed_at = &bin;
      list.AddRectFilled(ImVec2(x0, plot.low.y), ImVec2(x1, plot.high.y), surface(theme).header);
    }

    bool const chosen = query.matches_duration(bin.from_ns) && query.matches_duration(bin.until_ns);
    float const y = std::min(plot.y(static_cast<double>(bin.count)), plot.high.y - 2 * ui_scale());
    list.AddRectFilled(ImVec2(x0, std::round(y)), ImVec2(x1, plot.high.y),
                       with_alpha(paint_colour(Paint::kCompute, theme), chosen ? 1.0F : 0.35F));
  }

  float const median = std::round(plot.x(static_cast<double>(histogram.median_ns)));
  for (float y = plot.low.y; y < plot.high.y; y += 6 * ui_scale())
    list.AddRectFilled(ImVec2(median, y),
                       ImVec2(median + 1, std::min(y + 3 * ui_scale(), plot.high.y)),
                       surface(theme).text);
  return pointed_at;
}

void bin_tooltip(DurationHistogram::Bin const& bin) {
  begin_tooltip();
  heading(base::format_count(bin.count, "call"));
  auto const width = static_cast<double>(bin.until_ns - bin.from_ns + 1);
  text(fmt::format("from {} to {}, {} in all", format_time(static_cast<double>(bin.from_ns), width),
                   format_time(static_cast<double>(bin.until_ns), width),
                   base::format_duration(bin.total_ns)));
  text("click: show these; click again: show all");
  end_tooltip();
}

/// Fills what is left of the window. Returns the bin under the mouse, or null.
DurationHistogram::Bin const* histogram_chart(DurationHistogram const& histogram,
                                              Query const& query, Theme theme) {
  float const scale = ui_scale();
  ImVec2 const corner = ImGui::GetCursorScreenPos();
  ImVec2 const room = ImGui::GetContentRegionAvail();
  ImVec2 const size(std::max(room.x, 60 * scale), std::max(room.y, 40 * scale));
  ImGui::InvisibleButton("bars", size);
  bool const hovered = ImGui::IsItemHovered();

  float const left = ImGui::CalcTextSize("00,000").x + 6 * scale;
  Plot const plot = histogram_plot(
      histogram, ImVec2(corner.x + left, corner.y + 4 * scale),
      ImVec2(corner.x + size.x - 4 * scale, corner.y + size.y - ImGui::GetFontSize() - 6 * scale));
  if (plot.high.x <= plot.low.x || plot.high.y <= plot.low.y) return nullptr;

  ImDrawList& list = *ImGui::GetWindowDrawList();
  draw_histogram_axes(list, plot, theme);
  return draw_bins(list, histogram, plot, query, hovered, theme);
}

}  // namespace

void duration_bars(Scene const& scene, ViewState& state, PanelCache& cache) {
  Query const query = parse_query(state.search.text);
  if (!query.whole || state.device >= scene.analysis.devices.size()) {
    heading("Durations");
    empty_state(
        "Click a device op to see how long its calls took. The timeline then shows where they are.",
        state.theme);
    return;
  }

  DurationHistogram const* const histogram = cache.of<HistogramCache>().ask(
      {scene.analysis.devices[state.device].ref, query.name, 40},
      [&scene](HistogramKey const& key, std::stop_token const& stop) {
        return duration_histogram(scene, key, stop);
      });

  heading(fit(std::string(short_name(query.name)), ImGui::GetContentRegionAvail().x));
  if (histogram == nullptr) {
    empty_state("Counting…", state.theme);
    return;
  }
  if (histogram->count == 0) {
    empty_state("The chosen device has no op of this name.", state.theme);
    return;
  }

  text_coloured(fit(fmt::format("{}, median {}", base::format_count(histogram->count, "call"),
                                base::format_duration(histogram->median_ns)),
                    ImGui::GetContentRegionAvail().x),
                surface(state.theme).text_dim);

  auto const* const bin = histogram_chart(*histogram, query, state.theme);
  if (bin == nullptr) return;
  bin_tooltip(*bin);

  if (!ImGui::IsItemClicked()) return;
  bool const same = query.least_ns == bin->from_ns && query.most_ns == bin->until_ns;
  search_for(state,
             same ? query_for(query.name) : query_for(query.name, bin->from_ns, bin->until_ns));
}

}  // namespace stepscope::viewer
