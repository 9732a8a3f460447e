#include "viewer/queries/charts/counter_curves.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "viewer/event_store/out_of_core/out_of_core_run.h"

namespace stepscope::viewer {
namespace {

using What = CounterCurve::What;

constexpr std::array kShownCounters = {What::kSmClock, What::kPower, What::kTemperature,
                                       What::kUtilization, What::kMemoryClock};
/// Samples of a pixel that are looked at: at 10 samples a second and 500 pixels enough for all of
/// three hours.
constexpr size_t kMostSamplesOfPixel = 256;

std::vector<CounterPixel> near_pixels(Curve const& curve, TimeWindow window, size_t count,
                                      int64_t length) {
  std::vector<CounterPixel> pixels(count);
  size_t at = 0;  // of the first sample after the pixel's begin
  for (size_t i = 0; i < count; ++i) {
    double const begin =
        window.begin + window.span() * static_cast<double>(i) / static_cast<double>(count);
    double const end =
        window.begin + window.span() * static_cast<double>(i + 1) / static_cast<double>(count);
    if (begin > static_cast<double>(length)) break;
    auto const after = [&](double time) {
      return static_cast<size_t>(
          std::partition_point(curve.time.begin() + static_cast<std::ptrdiff_t>(at),
                               curve.time.end(),
                               [&](int64_t t) { return static_cast<double>(t) <= time; }) -
          curve.time.begin());
    };
    at = after(begin);
    size_t const last = after(end);
    size_t const first = at > 0 ? at - 1 : at;
    size_t const stride = std::max<size_t>((last - first) / kMostSamplesOfPixel, 1);
    CounterPixel& pixel = pixels[i];
    for (size_t sample = first; sample < last; sample += stride) {
      double const value = curve.value[sample];
      if (!std::isfinite(value)) continue;
      pixel.low = pixel.is_known ? std::min(pixel.low, value) : value;
      pixel.high = pixel.is_known ? std::max(pixel.high, value) : value;
      pixel.is_known = true;
    }
  }
  return pixels;
}

std::vector<CounterPixel> summary_pixels(Scene const& scene, Node const& node, TimeWindow window,
                                         size_t count) {
  std::vector<CounterPixel> pixels(count);
  auto const trace_time = [&](double view) {
    double const time = view - static_cast<double>(scene.shift(node.rank));
    return static_cast<int64_t>(std::clamp(time, -static_cast<double>(model::kMaxTime),
                                           static_cast<double>(model::kMaxTime)));
  };
  int64_t const begin = trace_time(window.begin);
  auto const bins = scene.far->track(node.rank, node.track)
                        .pyramid.view(begin, std::max(trace_time(window.end), begin + 1), count);
  CounterPixel held;
  for (size_t i = 0; i < count && i < bins.size(); ++i) {
    if (window.begin + window.span() * static_cast<double>(i) / static_cast<double>(count) >
        static_cast<double>(scene.length))
      break;
    // A pixel in which no sample was taken has the value of the one before.
    if (bins[i].starts > 0) held = {bins[i].low, bins[i].high, true};
    pixels[i] = held;
  }
  return pixels;
}

}  // namespace

std::vector<CounterCurve> counter_curves(Scene const& scene, uint32_t device) {
  std::vector<CounterCurve> curves;
  if (device >= scene.analysis.devices.size()) return curves;
  analyzer::DeviceRef const ref = scene.analysis.devices[device].ref;
  auto const rank = static_cast<uint32_t>(ref.rank_index);
  bool const is_only =
      std::count_if(scene.analysis.devices.begin(), scene.analysis.devices.end(),
                    [&](auto const& other) { return other.ref.rank_index == ref.rank_index; }) == 1;
  auto const samples = [&](uint32_t track) { return scene.event_count(rank, track); };
  auto const counters =
      analyzer::find_counters(scene.trace(rank).tracks(), samples, ref.device, is_only);
  for (What const what : kShownCounters)
    if (auto const& counter = counters[static_cast<size_t>(what)])
      if (auto const node = scene.node_of_track(rank, counter->track.value))
        curves.push_back({what, counter->meaning.scale, *node});
  return curves;
}

std::optional<analyzer::TelemetryStats::Spread> spread_of(analyzer::TelemetryStats const& telemetry,
                                                          What what) {
  switch (what) {
    case What::kSmClock:
      return telemetry.sm_clock_mhz;
    case What::kMemoryClock:
      return telemetry.memory_clock_mhz;
    case What::kPower:
      return telemetry.power_w;
    case What::kTemperature:
      return telemetry.temperature_c;
    case What::kUtilization:
      return telemetry.utilization_percent;
    case What::kLimits:
      break;
  }
  return std::nullopt;
}

char const* counter_name(What what) {
  static constexpr std::array<char const*, analyzer::kCounterMeanings> kNames = {
      "SM clock", "Memory clock", "Clock limits", "Power", "Temperature", "Utilization"};
  return kNames[static_cast<size_t>(what)];
}

char const* counter_unit(What what) {
  static constexpr std::array<char const*, analyzer::kCounterMeanings> kUnits = {"MHz", "MHz", "",
                                                                                 "W",   "°C",  "%"};
  return kUnits[static_cast<size_t>(what)];
}

std::vector<CounterPixel> counter_pixels(Scene const& scene, CounterCurve const& curve,
                                         TimeWindow window, size_t count) {
  Node const& node = scene.nodes[curve.node];
  auto pixels = scene.far ? summary_pixels(scene, node, window, count)
                          : near_pixels(node.curve, window, count, scene.length);
  for (CounterPixel& pixel : pixels) {
    pixel.low *= curve.scale;
    pixel.high *= curve.scale;
  }
  return pixels;
}

}  // namespace stepscope::viewer
