// memory-pressure: a device's memory is nearly full. No cost per step: the price is the next batch size that does not fit, and
// the allocator's retries.
#include <algorithm>

#include "analyzer/rules/rules.h"

namespace stepscope::analyzer {
namespace {

/// DEFINITIONS, "Memory".
constexpr double kPressure = 0.9;
/// So little is left that a longer sequence or another library's workspace ends the run.
constexpr double kCriticalPressure = 0.98;

}  // namespace

void find_memory_pressure(RuleInput const& input, std::vector<Finding>& findings) {
  Finding worst;
  double worst_pressure = 0;
  for (DeviceFacts const& device : input.facts.devices) {
    MemoryFacts const& memory = device.memory;
    std::optional<uint64_t> const peak = memory.peak_reserved_bytes ? memory.peak_reserved_bytes : memory.peak_allocated_bytes;
    if (!memory.capacity_bytes || *memory.capacity_bytes == 0 || !peak) continue;
    double const pressure = static_cast<double>(*peak) / static_cast<double>(*memory.capacity_bytes);
    if (pressure <= kPressure || pressure <= worst_pressure) continue;
    worst_pressure = pressure;
    worst = {};
    worst.rule = "memory-pressure";
    worst.severity = pressure > kCriticalPressure ? Severity::kCritical : Severity::kWarning;
    worst.where = device.ref;
    worst.metrics = {{"pressure", pressure},
                     {"peak_bytes", static_cast<double>(*peak)},
                     {"capacity_bytes", static_cast<double>(*memory.capacity_bytes)}};
    auto const highest = std::max_element(memory.timeline.begin(), memory.timeline.end(), [](auto const& a, auto const& b) {
      return std::max(a.allocated_bytes, a.reserved_bytes) < std::max(b.allocated_bytes, b.reserved_bytes);
    });
    worst.evidence = {{device.ref, {highest->time_ns, highest->time_ns}, std::nullopt}};
  }
  if (worst_pressure > 0) findings.push_back(std::move(worst));
}

}  // namespace stepscope::analyzer
