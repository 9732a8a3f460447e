// Clocks, power and temperature of the devices.
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "reports/html/bars.h"
#include "reports/html/page.h"
#include "reports/html/table.h"
#include "reports/words/language.h"
#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

constexpr size_t kSlowSteps = 100;

Cell spread_cell(std::optional<analyzer::TelemetryStats::Spread> const& spread,
                 std::string_view unit) {
  if (!spread || !std::isfinite(spread->median)) return none_cell();
  auto const number = [](double value) { return fmt::format("{:.0f}", value); };
  // A value that never changes is one number.
  std::string const text = number(spread->min) == number(spread->max)
                               ? number(spread->median)
                               : fmt::format("{} – {} – {}", number(spread->min),
                                             number(spread->median), number(spread->max));
  return number_cell(fmt::format("{} {}", text, unit), spread->median);
}

struct LimitWords {
  char const* title;
  char const* meaning;
};
/// Order: analyzer::ClockLimit.
constexpr std::array<LimitWords, analyzer::kClockLimitCount> kLimits = {
    {{"Power cap", "The power limit lowers the clock"},
     {"Hardware", "The hardware slows the clock down"},
     {"Sync boost", "A slower GPU of the group lowers the clock"},
     {"Thermal", "The temperature limit lowers the clock"},
     {"Power brake", "The machine's power supply requests a lower clock"},
     {"Other limit", "The driver does not say why"}}};

Table telemetry_columns() {
  Table table("health-table", "Clocks, power and temperature of each device");
  table.text("Device")
      .number("Throttled", "Share of the busy time with a low clock or a clock limit")
      .if_known();
  table.number("Busy clock", "Median of the SM clock over the busy time").if_known();
  table.number("Sustained clock", "95th percentile of the SM clock over the busy time").if_known();
  table.number("To peers", "Busy clock / median busy clock of the run's other devices of this name")
      .if_known();
  table
      .number("Kernels at low clock",
              "Duration of the same kernels at a low clock / at a high clock")
      .if_known();

  for (LimitWords const& limit : kLimits) table.number(limit.title, limit.meaning).if_known();
  constexpr char const* kSpread =
      "Minimum – median – maximum, weighted by time; one number if it never changes";
  for (char const* counter : {"SM clock", "Memory clock", "Power", "Temperature", "Utilization"})
    table.number(counter, kSpread).if_known();

  return table;
}

std::vector<Cell> telemetry_row(Page const& page, analyzer::DeviceStats const& device) {
  analyzer::TelemetryStats const& telemetry = *device.telemetry;
  auto const of_busy = [&](int64_t ns) {
    return meter_cell("m-gradients",
                      device.time.busy_ns > 0
                          ? static_cast<double>(ns) / static_cast<double>(device.time.busy_ns)
                          : 0);
  };

  std::vector<Cell> cells = {
      label_cell(device_label(page.run, device.ref)),
      telemetry.throttled_ns ? of_busy(*telemetry.throttled_ns) : none_cell(),
      measure_cell(telemetry.busy_clock_mhz, "MHz"),
      measure_cell(telemetry.sustained_clock_mhz, "MHz"),
      measure_cell(telemetry.clock_to_peers, "×"),
      measure_cell(telemetry.kernel_slowdown, "×")};

  for (size_t i = 0; i < kLimits.size(); ++i) {
    bool const holds = telemetry.limited_ns && (*telemetry.limited_ns)[i] > 0;
    cells.push_back(holds ? ns_cell((*telemetry.limited_ns)[i]) : none_cell());
  }

  for (Cell const& cell :
       {spread_cell(telemetry.sm_clock_mhz, "MHz"), spread_cell(telemetry.memory_clock_mhz, "MHz"),
        spread_cell(telemetry.power_w, "W"), spread_cell(telemetry.temperature_c, "°C"),
        spread_cell(telemetry.utilization_percent, "%")})
    cells.push_back(cell);

  return cells;
}

std::string device_telemetry_table(Page const& page) {
  Table table = telemetry_columns();
  size_t devices = 0;
  for (analyzer::DeviceStats const& device : page.analysis.devices)
    if (device.telemetry && ++devices <= kMaxDeviceRows) table.row(telemetry_row(page, device));
  if (table.size() == 0) return {};

  return table.html() + and_more(table.size(), devices, "device") +
         note("The three numbers of a counter are minimum – median – maximum, weighted by time.");
}

std::string slow_steps_table(Page const& page) {
  Table table("slow-clock-table", "Steps that lost time to a low clock");
  table.text("Device")
      .number("Begin", "Since the first event of the run")
      .number("Length")
      .number("Lost", "At most");

  size_t all = 0;
  for (analyzer::DeviceStats const& device : page.analysis.devices) {
    if (!device.telemetry) continue;
    for (auto const& step : device.telemetry->slow_steps) {
      if (++all > kSlowSteps) continue;
      table.row({label_cell(device_label(page.run, device.ref)),
                 number_cell(format_instant(step.when.begin - page.range.begin),
                             static_cast<double>(step.when.begin)),
                 ns_cell(step.when.length()), ns_cell(step.lost_ns)});
    }
  }
  if (all == 0) return {};

  return folded(tr("Steps that lost time to a low clock ({})", all),
                table.html() + and_more(table.size(), all, "step"));
}

}  // namespace

SectionHtml device_telemetry_section(Page const& page) {
  std::string const table = device_telemetry_table(page);
  if (table.empty()) return {};

  return section(
      "health", "Device health",
      table + slow_steps_table(page) +
          how_computed("These numbers come from the counters of the recording; "
                       "a sample is valid until the next. "
                       "Throttled time is busy time below 0.9 × the sustained clock, "
                       "or under a clock limit that the driver reports. "
                       "The slowdown compares the same kernels at low and at high clock."));
}

}  // namespace stepscope::reports
