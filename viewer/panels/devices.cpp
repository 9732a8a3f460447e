#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <imgui.h>

#include "trace/base/format.h"
#include "viewer/interaction/navigate.h"
#include "viewer/interaction/track_finder.h"
#include "viewer/panels/common/panel.h"
#include "viewer/queries/charts/counter_curves.h"
#include "viewer/timeline/describe.h"
#include "viewer/widgets/plot.h"
#include "viewer/widgets/stat_table.h"
#include "viewer/widgets/text.h"
#include "viewer/widgets/widgets.h"

namespace stepscope::viewer {
namespace {

using analyzer::TelemetryStats;

/// "1,980": of MHz, W, °C.
std::string measure_words(double value) {
  return std::isfinite(value) ? fmt::format("{:.0f}", value) : "–";
}

/// "1,410 – 1,980 MHz"; one number where both are the same.
std::string range_words(double low, double high, CounterCurve::What what) {
  std::string const least = measure_words(low), most = measure_words(high);
  return fmt::format("{} {}", least == most ? least : least + " – " + most, counter_unit(what));
}

enum HealthColumn : size_t {
  kHealthDevice,
  kBusyShare,
  kThrottled,
  kHeldBy,
  kBusyClock,
  kSustainedClock,
  kToPeers,
  kSlowdown,
  kMostPower,
  kMostTemperature,
  kHealthColumns
};
constexpr std::array<FactColumn, kHealthColumns> kHealthTable = {
    {{"Device", "", 0, 0},
     {"Busy", "Share of its window in which something runs on it", 54, 0},
     {"Throttled",
      "Share of the busy time at less than 0.9 of the sustained clock, or under a limit of the "
      "clock",
      60, 0},
     {"Limited by", "The limit of the clock that the driver named for most of the busy time", 84,
      4},
     {"Clock", "MHz: median of the SM clock over the busy time", 48, 0},
     {"Sustained", "MHz: 95th percentile of the SM clock over the busy time of the recording", 62,
      2},
     {"To peers", "Clock / median of the run's other devices of this name", 54, 3},
     {"Kernels", "How many times as long the same kernels take while the clock is low", 54, 1},
     {"Power", "W: the most", 46, 0},
     {"Heat", "°C: the most", 42, 0}}};

/// The limit that held for most of the busy time; none where none did.
std::optional<analyzer::ClockLimit> main_limit(TelemetryStats const& telemetry) {
  if (!telemetry.limited_ns) return std::nullopt;
  auto const most = std::max_element(telemetry.limited_ns->begin(), telemetry.limited_ns->end());
  if (*most <= 0) return std::nullopt;
  return static_cast<analyzer::ClockLimit>(most - telemetry.limited_ns->begin());
}

double device_telemetry_value(analyzer::DeviceStats const& device, size_t column) {
  if (column == kBusyShare) return value_of(device.time.utilization());
  if (column == kHealthDevice) return 0;
  if (!device.telemetry) return std::nan("");
  TelemetryStats const& telemetry = *device.telemetry;

  auto const of_busy = [&](int64_t ns) {
    return device.time.busy_ns > 0
               ? static_cast<double>(ns) / static_cast<double>(device.time.busy_ns)
               : std::nan("");
  };

  switch (column) {
    case kThrottled:
      return telemetry.throttled_ns ? of_busy(*telemetry.throttled_ns) : std::nan("");
    case kHeldBy:
      if (auto const limit = main_limit(telemetry))
        return of_busy((*telemetry.limited_ns)[static_cast<size_t>(*limit)]);
      return std::nan("");
    case kBusyClock:
      return value_of(telemetry.busy_clock_mhz);
    case kSustainedClock:
      return value_of(telemetry.sustained_clock_mhz);
    case kToPeers:
      return value_of(telemetry.clock_to_peers);
    case kSlowdown:
      return value_of(telemetry.kernel_slowdown);
    case kMostPower:
      return telemetry.power_w ? telemetry.power_w->max : std::nan("");
    case kMostTemperature:
      return telemetry.temperature_c ? telemetry.temperature_c->max : std::nan("");
    default:
      return std::nan("");
  }
}

std::string device_telemetry_text(analyzer::DeviceStats const& device, size_t column) {
  double const value = device_telemetry_value(device, column);
  switch (column) {
    case kBusyShare:
    case kThrottled:
      return base::format_share(value);
    case kHeldBy:
      return words_of(to_string(*main_limit(*device.telemetry)));
    case kToPeers:
    case kSlowdown:
      return fmt::format("{:.2f} ×", value);
    default:
      return measure_words(value);
  }
}

/// Every limit that held, and what the counters went through.
std::string device_telemetry_details(analyzer::DeviceStats const& device) {
  if (!device.telemetry) return "no counters of it were recorded";
  std::string words = printable_name(device.name, 80);

  using enum analyzer::CounterMeaning::What;
  for (auto const what : {kSmClock, kMemoryClock, kPower, kTemperature, kUtilization})
    if (auto const spread = spread_of(*device.telemetry, what))
      words +=
          fmt::format("\n{}: {}, median {}", counter_name(what),
                      range_words(spread->min, spread->max, what), measure_words(spread->median));

  for (size_t limit = 0; device.telemetry->limited_ns && limit < analyzer::kClockLimitCount;
       ++limit)
    if (int64_t const ns = (*device.telemetry->limited_ns)[limit]; ns > 0)
      words += fmt::format("\nlimited by {}: {} of the busy time",
                           words_of(to_string(static_cast<analyzer::ClockLimit>(limit))),
                           base::format_duration(ns));
  return words;
}

void device_telemetry_table(Scene const& scene, ViewState& state, float rows_height) {
  auto const& devices = scene.analysis.devices;
  FactTable table;
  table.id = "health";
  table.columns = kHealthTable;
  table.rows = devices.size();

  table.name = [&](size_t row) { return describe(scene, devices[row].ref); };
  table.value = [&](size_t row, size_t column) {
    return device_telemetry_value(devices[row], column);
  };
  table.text = [&](size_t row, size_t column) {
    return device_telemetry_text(devices[row], column);
  };
  table.more = [&](size_t row) { return device_telemetry_details(devices[row]); };

  table.chosen = state.device;
  if (auto const clicked = fact_table(table, state.theme))
    go_to_device(state, scene, static_cast<uint32_t>(*clicked), rows_height);
}

/// What the chart's height stands for: what the counter went through in the whole run, so that
/// zooming changes nothing.
std::pair<double, double> range_of(TelemetryStats const& telemetry, CounterCurve::What what) {
  auto const spread = spread_of(telemetry, what);
  if (!spread || !std::isfinite(spread->min) || !std::isfinite(spread->max)) return {0, 1};
  double low = spread->min, high = spread->max;
  if (what == CounterCurve::What::kSmClock && telemetry.sustained_clock_mhz)
    high = std::max(high, *telemetry.sustained_clock_mhz);
  double const room = std::max((high - low) * 0.2, std::max(std::abs(high) * 0.02, 1e-9));
  return {low >= 0 ? std::max(low - room, 0.0) : low - room, high + room};
}

void draw_throttled(ImDrawList& list, Scene const& scene, ViewState const& state,
                    TelemetryStats const& telemetry, Plot const& plot) {
  uint32_t const colour = with_alpha(surface(state.theme).critical, 0.16F);
  for (analyzer::Interval const when : telemetry.throttled) {
    auto const begin = std::max(static_cast<double>(scene.to_view(when.begin)), plot.left);
    auto const end = std::min(static_cast<double>(scene.to_view(when.end)), plot.right);
    if (begin < end)
      list.AddRectFilled(ImVec2(plot.x(begin), plot.low.y),
                         ImVec2(std::max(plot.x(end), plot.x(begin) + 1), plot.high.y), colour);
  }
}

void draw_counter_pixels(ImDrawList& list, Plot const& plot,
                         std::vector<CounterPixel> const& pixels, uint32_t colour) {
  float const scale = ui_scale();
  for (size_t i = 0; i < pixels.size(); ++i) {
    if (!pixels[i].is_known) continue;

    float const x = plot.low.x + static_cast<float>(i);
    float const top = plot.y(pixels[i].high), bottom = plot.y(pixels[i].low);
    list.AddRectFilled(ImVec2(x, bottom), ImVec2(x + 1, plot.high.y), with_alpha(colour, 0.25F));
    list.AddRectFilled(ImVec2(x, top - 0.75F * scale),
                       ImVec2(x + 1, std::max(bottom, top) + 0.75F * scale), colour);
  }
}

/// Below this line the clock counts as throttled.
void draw_throttle_line(ImDrawList& list, Plot const& plot, double sustained_mhz, Theme theme) {
  float const scale = ui_scale();
  float const y = std::round(plot.y(analyzer::kLowClock * sustained_mhz));
  for (float x = plot.low.x; x < plot.high.x; x += 8 * scale)
    list.AddRectFilled(ImVec2(x, y), ImVec2(x + 4 * scale, y + 1),
                       with_alpha(surface(theme).critical, 0.8F));
}

/// `sustained_mhz`: of the SM clock; none for other counters.
void counter_tooltip(Plot const& plot, std::vector<CounterPixel> const& pixels,
                     CounterCurve::What what, std::optional<double> sustained_mhz, double span) {
  float const mouse = ImGui::GetIO().MousePos.x;
  auto const at = static_cast<size_t>(std::max(mouse - plot.low.x, 0.0F));
  if (at >= pixels.size() || !pixels[at].is_known) return;

  begin_tooltip();
  heading(range_words(pixels[at].low, pixels[at].high, what));
  text(fmt::format("{} at {}", counter_name(what), format_time(plot.value_at(mouse), span / 1000)));
  if (sustained_mhz)
    text(fmt::format("sustained {} MHz; below {} it counts as throttled",
                     measure_words(*sustained_mhz),
                     measure_words(analyzer::kLowClock * *sustained_mhz)));
  end_tooltip();
}

/// One counter: its name and range at the left, the visible time as its width.
void counter_chart(Scene const& scene, ViewState const& state, TelemetryStats const& telemetry,
                   CounterCurve const& curve, ImVec2 low, ImVec2 high) {
  Surface const& s = surface(state.theme);
  float const scale = ui_scale();
  ImDrawList& list = *ImGui::GetWindowDrawList();
  Plot plot;
  plot.low = ImVec2(low.x + 112 * scale, low.y);
  plot.high = high;
  plot.left = state.window.begin;
  plot.right = state.window.end;
  std::tie(plot.bottom, plot.top) = range_of(telemetry, curve.what);

  draw_text(list, low, s.text, counter_name(curve.what));
  if (auto const spread = spread_of(telemetry, curve.what);
      spread && high.y - low.y > 2 * ImGui::GetFontSize())
    draw_text(list, ImVec2(low.x, low.y + ImGui::GetFontSize() + scale), s.text_dim,
              range_words(spread->min, spread->max, curve.what));
  if (plot.high.x <= plot.low.x || plot.high.y <= plot.low.y) return;

  bool const is_clock = curve.what == CounterCurve::What::kSmClock;
  auto const sustained_mhz = is_clock ? telemetry.sustained_clock_mhz : std::nullopt;
  auto const width = static_cast<size_t>(plot.high.x - plot.low.x);
  auto const pixels = counter_pixels(scene, curve, state.window, width);
  list.PushClipRect(plot.low, plot.high, true);
  list.AddRectFilled(plot.low, plot.high, s.row);
  draw_throttled(list, scene, state, telemetry, plot);
  draw_counter_pixels(list, plot, pixels, paint_colour(Paint::kCompute, state.theme));
  if (sustained_mhz) draw_throttle_line(list, plot, *sustained_mhz, state.theme);
  list.PopClipRect();

  if (ImGui::IsWindowHovered() && ImGui::IsMouseHoveringRect(plot.low, plot.high))
    counter_tooltip(plot, pixels, curve.what, sustained_mhz, state.window.span());
}

void counter_charts(Scene const& scene, ViewState& state, analyzer::DeviceStats const& device) {
  auto const curves = counter_curves(scene, state.device);
  heading(describe(scene, device.ref));
  ImGui::SameLine();
  text_coloured(fit(format_time_range(state.window.begin, state.window.end),
                    ImGui::GetContentRegionAvail().x),
                surface(state.theme).text_dim);
  if (!device.telemetry || curves.empty()) {
    empty_state("No counters of this device were recorded.", state.theme);
    return;
  }

  float const scale = ui_scale();
  float const gap = 4 * scale;
  ImVec2 const room = ImGui::GetContentRegionAvail();
  // Lower ones are not read; then the panel scrolls.
  float const least = 30 * scale;
  float const height = std::max(room.y / static_cast<float>(curves.size()) - gap, least);

  for (CounterCurve const& curve : curves) {
    ImVec2 const low = ImGui::GetCursorScreenPos();
    ImVec2 const high(low.x + std::max(room.x, 1.0F), low.y + height);
    if (ImGui::IsRectVisible(low, high))
      counter_chart(scene, state, *device.telemetry, curve, low, high);
    ImGui::Dummy(ImVec2(1, height + gap - ImGui::GetStyle().ItemSpacing.y));
  }
}

enum HeldColumn : size_t { kHeldBegin, kHeldLength, kHeldLost, kHeldColumns };
constexpr std::array<FactColumn, 2> kThrottledTable = {
    {{"Longest throttled spans", "Busy time at a low clock or under a limit", 0, 0},
     {"Length", "", 70, 0}}};
constexpr std::array<FactColumn, kHeldColumns> kSlowStepTable = {
    {{"Steps at a low clock", "", 0, 0},
     {"Length", "", 70, 0},
     {"Lost", "To the low clock, at most", 70, 0}}};

std::string begin_words(Scene const& scene, analyzer::Interval when) {
  return format_time(static_cast<double>(scene.to_view(when.begin)), 1000);
}

void throttled_spans(Scene const& scene, ViewState& state, analyzer::DeviceStats const& device,
                     float rows_height) {
  TelemetryStats const& telemetry = *device.telemetry;
  if (telemetry.throttled.empty()) {
    heading("Throttled");
    empty_state(telemetry.throttled_ns
                    ? "The clock was never throttled while the device was busy."
                    : "Neither the clock nor what limits it was recorded often enough to know.",
                state.theme);
    return;
  }

  FactTable table;
  table.height = -1;
  table.id = "throttled";
  table.columns = kThrottledTable;
  table.rows = telemetry.throttled.size();
  table.name = [&](size_t row) { return begin_words(scene, telemetry.throttled[row]); };
  table.value = [&](size_t row, size_t) {
    return static_cast<double>(telemetry.throttled[row].length());
  };
  table.text = [&](size_t row, size_t) {
    return base::format_duration(telemetry.throttled[row].length());
  };

  if (auto const clicked = fact_table(table, state.theme))
    show_place(state, scene, {device.ref, telemetry.throttled[*clicked], {}}, rows_height);
}

void slow_steps_table(Scene const& scene, ViewState& state, analyzer::DeviceStats const& device,
                      float rows_height) {
  TelemetryStats const& telemetry = *device.telemetry;
  if (telemetry.slow_steps.empty()) return;

  FactTable table;
  table.id = "slow steps";
  table.columns = kSlowStepTable;
  table.rows = telemetry.slow_steps.size();
  table.height = 0;

  table.name = [&](size_t row) { return begin_words(scene, telemetry.slow_steps[row].when); };
  table.value = [&](size_t row, size_t column) {
    auto const& step = telemetry.slow_steps[row];
    return static_cast<double>(column == kHeldLost ? step.lost_ns : step.when.length());
  };
  table.text = [&](size_t row, size_t column) {
    auto const& step = telemetry.slow_steps[row];
    return base::format_duration(column == kHeldLost ? step.lost_ns : step.when.length());
  };

  if (auto const clicked = fact_table(table, state.theme))
    show_place(state, scene, {device.ref, telemetry.slow_steps[*clicked].when, {}}, rows_height);
}

}  // namespace

void devices_panel(PanelScope const& scope) {
  Scene const& scene = scope.scene;
  ViewState& state = scope.state;
  float const rows_height = scope.rows_height;
  auto const& all = scene.analysis.devices;
  if (state.device >= all.size()) {
    empty_state(without_device(scene, "This panel shows clocks, power and temperature of devices."),
                state.theme);
    return;
  }

  if (std::none_of(all.begin(), all.end(),
                   [](auto const& device) { return device.telemetry.has_value(); })) {
    empty_state(
        "No clocks, power or temperature were recorded, so Stepscope cannot tell whether a device "
        "was throttled. Record a program that uses a GPU with stepscope record, which asks NVML "
        "for "
        "them, or with nsys profile --gpu-metrics-devices=all. Host devices have none.",
        state.theme);
    return;
  }

  float const scale = ui_scale();
  float const width = ImGui::GetContentRegionAvail().x;
  ImGui::BeginChild("devices", ImVec2(width * 0.42F, 0));
  device_telemetry_table(scene, state, rows_height);
  ImGui::EndChild();

  ImGui::SameLine(0, 18 * scale);
  ImGui::BeginChild("counters", ImVec2(width * 0.36F, 0));
  counter_charts(scene, state, all[state.device]);
  ImGui::EndChild();

  ImGui::SameLine(0, 18 * scale);
  ImGui::BeginChild("throttling", ImVec2(0, 0));
  if (all[state.device].telemetry) {
    throttled_spans(scene, state, all[state.device], rows_height);
    slow_steps_table(scene, state, all[state.device], rows_height);
  }
  ImGui::EndChild();
}

}  // namespace stepscope::viewer
