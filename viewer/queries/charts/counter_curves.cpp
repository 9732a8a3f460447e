#include "viewer/queries/charts/counter_curves.h"

#include <algorithm>
#include <array>

#include "viewer/event_store/event_store.h"

namespace stepscope::viewer {
namespace {

using What = CounterCurve::What;

constexpr std::array kShownCounters = {What::kSmClock, What::kPower, What::kTemperature,
                                       What::kUtilization, What::kMemoryClock};

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
  auto pixels = scene.store->counter_pixels(scene, curve.node, window, count);
  for (CounterPixel& pixel : pixels) {
    pixel.low *= curve.scale;
    pixel.high *= curve.scale;
  }
  return pixels;
}

}  // namespace stepscope::viewer
