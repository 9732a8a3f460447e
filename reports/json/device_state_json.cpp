#include "reports/json/device_state_json.h"

#include <cmath>

#include "trace/base/format.h"

namespace stepscope::reports {
namespace {

using StateJson = nlohmann::ordered_json;

template <class T>
StateJson known_or_null(std::optional<T> const& value) {
  return value ? StateJson(*value) : StateJson(nullptr);
}
/// JSON has no NaN and no infinity: a number that does not exist is null.
StateJson real_or_null(std::optional<double> value) {
  return value && std::isfinite(*value) ? StateJson(*value) : StateJson(nullptr);
}

StateJson purposes_json(std::array<uint64_t, 7> const& bytes) {
  StateJson purposes = StateJson::object();
  for (size_t i = 0; i < bytes.size(); ++i)
    purposes[model::to_string(static_cast<model::MemoryPurpose>(i))] = bytes[i];
  return purposes;
}

StateJson owners_json(std::optional<analyzer::MemoryOwners> const& owners) {
  if (!owners) return nullptr;
  StateJson list = StateJson::array();
  for (auto const& owner : owners->owners)
    list.push_back({{"name", base::printable(owner.name)}, {"bytes", owner.bytes}});
  return list;
}

StateJson forecast_json(std::optional<analyzer::MemoryForecast> const& forecast) {
  if (!forecast) return nullptr;
  return {{"bytes_per_step", real_or_null(forecast->bytes_per_step)},
          {"standard_error_bytes", real_or_null(forecast->standard_error_bytes)},
          {"steps", real_or_null(forecast->steps)},
          {"earliest_steps", real_or_null(forecast->earliest_steps)},
          {"latest_steps", real_or_null(forecast->latest_steps)},
          {"time_ns", known_or_null(forecast->time_ns)}};
}

StateJson spread_json(std::optional<analyzer::TelemetryStats::Spread> const& spread) {
  if (!spread) return nullptr;
  return {{"min", real_or_null(spread->min)},
          {"median", real_or_null(spread->median)},
          {"max", real_or_null(spread->max)}};
}

StateJson limits_json(
    std::optional<std::array<int64_t, analyzer::kClockLimitCount>> const& limited) {
  if (!limited) return nullptr;
  StateJson limits = StateJson::object();
  for (size_t i = 0; i < limited->size(); ++i)
    limits[to_string(static_cast<analyzer::ClockLimit>(i))] = (*limited)[i];
  return limits;
}

}  // namespace

StateJson memory_json(analyzer::MemoryStats const& memory) {
  auto const& owners = memory.peak_owners;

  return {
      {"capacity_bytes", known_or_null(memory.capacity_bytes)},
      {"peak_allocated_bytes", known_or_null(memory.peak_allocated_bytes)},
      {"peak_reserved_bytes", known_or_null(memory.peak_reserved_bytes)},
      {"headroom_bytes", known_or_null(memory.headroom_bytes())},
      {"fragmentation", real_or_null(memory.fragmentation)},
      {"worst_fragmentation", real_or_null(memory.worst_fragmentation)},
      {"stranded_bytes", known_or_null(memory.stranded_bytes)},
      {"fragmented_growth_bytes", known_or_null(memory.fragmented_growth_bytes)},
      {"floor_growth_bytes_per_step", real_or_null(memory.floor_growth_bytes_per_step)},
      {"floor_forecast", forecast_json(memory.floor_forecast)},
      {"reserved_growth_bytes_per_step", real_or_null(memory.reserved_growth_bytes_per_step)},
      {"reserved_forecast", forecast_json(memory.reserved_forecast)},
      {"retries", known_or_null(memory.retries)},
      {"batch_factor", real_or_null(memory.batch_factor)},
      {"pinning_calls_per_step", real_or_null(memory.pinning_calls_per_step)},
      {"peak_by_purpose_bytes",
       memory.peak_allocated_bytes ? purposes_json(memory.by_purpose_at_peak) : StateJson(nullptr)},
      {"peak_owners", owners_json(owners)},
      {"peak_other_bytes", owners ? StateJson(owners->other_bytes) : StateJson(nullptr)},
      {"peak_before_recording_bytes",
       owners ? StateJson(owners->before_recording_bytes) : StateJson(nullptr)}};
}

StateJson device_telemetry_json(std::optional<analyzer::TelemetryStats> const& telemetry) {
  if (!telemetry) return nullptr;

  return {{"sm_clock_mhz", spread_json(telemetry->sm_clock_mhz)},
          {"memory_clock_mhz", spread_json(telemetry->memory_clock_mhz)},
          {"power_w", spread_json(telemetry->power_w)},
          {"temperature_c", spread_json(telemetry->temperature_c)},
          {"utilization_percent", spread_json(telemetry->utilization_percent)},
          {"busy_clock_mhz", real_or_null(telemetry->busy_clock_mhz)},
          {"sustained_clock_mhz", real_or_null(telemetry->sustained_clock_mhz)},
          {"clock_to_peers", real_or_null(telemetry->clock_to_peers)},
          {"throttled_ns", known_or_null(telemetry->throttled_ns)},
          {"limited_ns", limits_json(telemetry->limited_ns)},
          {"kernel_slowdown", real_or_null(telemetry->kernel_slowdown)}};
}

}  // namespace stepscope::reports
