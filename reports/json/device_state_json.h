// The part of the JSON about the state of a device: its memory, its clocks, power and temperature.
#pragma once

#include <nlohmann/json.hpp>

#include "analyzer/results/analysis.h"

namespace stepscope::reports {

nlohmann::ordered_json memory_json(analyzer::MemoryStats const& memory);
/// null without counters.
nlohmann::ordered_json device_telemetry_json(
    std::optional<analyzer::TelemetryStats> const& telemetry);

}  // namespace stepscope::reports
