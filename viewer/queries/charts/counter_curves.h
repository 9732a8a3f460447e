// What counters say of a device over time, pixel by pixel: its clocks, power, temperature and
// utilization. The counters are those from which the analysis makes TelemetryStats.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/metrics/telemetry/device_telemetry.h"
#include "viewer/event_store/event_store.h"
#include "viewer/scene/scene.h"

namespace stepscope::viewer {

struct CounterCurve {
  using What = analyzer::CounterMeaning::What;
  What what = What::kSmClock;
  double scale = 1;   ///< × a value of the node's curve = MHz, W, °C or per cent
  uint32_t node = 0;  ///< of the counter
};
/// The counters of a device (index into Analysis::devices) that are drawn as curves, in the order
/// in which they are shown. O(nodes).
std::vector<CounterCurve> counter_curves(Scene const& scene, uint32_t device);
/// What the analysis says of it over the device's window; none where it does not.
std::optional<analyzer::TelemetryStats::Spread> spread_of(analyzer::TelemetryStats const& telemetry,
                                                          CounterCurve::What what);
/// "SM clock", "MHz".
char const* counter_name(CounterCurve::What what);
char const* counter_unit(CounterCurve::What what);

/// `count` pixels over the window. Where a pixel has very many samples it shows some, evenly
/// spaced.
std::vector<CounterPixel> counter_pixels(Scene const& scene, CounterCurve const& curve,
                                         TimeWindow window, size_t count);

}  // namespace stepscope::viewer
