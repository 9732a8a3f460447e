// memory-fragmentation: a device holds much more memory than it ever uses, because what is free
// lies in holes that are too small. No cost per step: what the calls that take more memory cost,
// allocation-in-step says.
#include <algorithm>

#include "analyzer/rules/memory/memory_holes.h"
#include "analyzer/rules/rules.h"

namespace stepscope::analyzer {
namespace {

/// Nearly full: now what is free and cannot be used is missing.
constexpr double kShort = 0.8;
/// So much of the capacity is free in holes when the device holds most: a batch more would fit.
constexpr double kLeastStranded = 0.1;

/// Free when most was reserved for the first time, outside of the largest gap; 0 where that is not
/// known.
double stranded_at_peak(MemoryStats const& memory) {
  if (!memory.fragmentation) return 0;
  auto const highest = std::max_element(
      memory.timeline.begin(), memory.timeline.end(),
      [](auto const& a, auto const& b) { return a.reserved_bytes < b.reserved_bytes; });
  if (highest == memory.timeline.end() || highest->reserved_bytes < highest->allocated_bytes)
    return 0;
  return *memory.fragmentation *
         static_cast<double>(highest->reserved_bytes - highest->allocated_bytes);
}

bool is_short_by_holes(MemoryStats const& memory) {
  auto const pressure = pressure_of(memory);
  return pressure && *pressure >= kShort &&
         stranded_at_peak(memory) >= kLeastStranded * static_cast<double>(*memory.capacity_bytes);
}

Finding make_holes_finding(DeviceStats const& device) {
  MemoryStats const& memory = device.memory;
  Finding finding;
  finding.rule = "memory-fragmentation";
  finding.severity = Severity::kWarning;
  finding.where = device.ref;
  finding.metrics = {
      {"peak_reserved_bytes", static_cast<double>(memory.peak_reserved_bytes.value_or(0))},
      {"peak_allocated_bytes", static_cast<double>(memory.peak_allocated_bytes.value_or(0))},
      {"unused_bytes", excess_bytes(memory)},
      {"fragmented_growth_bytes", static_cast<double>(memory.fragmented_growth_bytes.value_or(0))}};

  if (memory.fragmentation) {
    finding.metrics.emplace_back("fragmentation", *memory.fragmentation);
    finding.metrics.emplace_back("stranded_bytes", stranded_at_peak(memory));
  }
  if (auto const pressure = pressure_of(memory))
    finding.metrics.emplace_back("pressure", *pressure);
  if (auto const& forecast = memory.reserved_forecast) {
    finding.metrics.emplace_back("steps_to_full", forecast->steps);
    if (forecast->steps < kSoonSteps) finding.severity = Severity::kCritical;
  }

  for (MemoryStats::Growth const& grown : memory.fragmented_growth)
    finding.evidence.push_back({device.ref, {grown.time_ns, grown.time_ns}, std::nullopt});
  return finding;
}

}  // namespace

double excess_bytes(MemoryStats const& memory) {
  uint64_t const reserved = memory.peak_reserved_bytes.value_or(0),
                 allocated = memory.peak_allocated_bytes.value_or(reserved);
  return reserved > allocated ? static_cast<double>(reserved - allocated) : 0;
}

bool grew_by_holes(MemoryStats const& memory) {
  if (!memory.peak_reserved_bytes || !memory.fragmented_growth_bytes) return false;
  double const excess = excess_bytes(memory);
  return excess > 0 && excess >= kLeastExcess * static_cast<double>(*memory.peak_reserved_bytes) &&
         static_cast<double>(*memory.fragmented_growth_bytes) >= kLeastFragmentedGrowth * excess;
}

bool holes_outgrow_leak(MemoryStats const& memory, size_t steps) {
  /// Blocks that stay behind split what is free: up to as much again is reserved because of them.
  constexpr double kFarMore = 4;
  double const left_behind =
      memory.floor_growth_bytes_per_step.value_or(0) * static_cast<double>(steps);
  return grew_by_holes(memory) &&
         static_cast<double>(*memory.fragmented_growth_bytes) >= kFarMore * left_behind;
}

std::optional<double> pressure_of(MemoryStats const& memory) {
  std::optional<uint64_t> const peak =
      memory.peak_reserved_bytes ? memory.peak_reserved_bytes : memory.peak_allocated_bytes;
  if (!memory.capacity_bytes || *memory.capacity_bytes == 0 || !peak) return std::nullopt;
  return static_cast<double>(*peak) / static_cast<double>(*memory.capacity_bytes);
}

void find_memory_fragmentation(RuleInput const& input, std::vector<Finding>& findings) {
  DeviceStats const* worst = nullptr;
  int devices = 0;

  for (DeviceStats const& device : input.facts.devices) {
    if (!grew_by_holes(device.memory) && !is_short_by_holes(device.memory)) continue;
    ++devices;
    if (worst == nullptr || excess_bytes(device.memory) > excess_bytes(worst->memory))
      worst = &device;
  }

  if (worst == nullptr) return;
  findings.push_back(make_holes_finding(*worst));
  findings.back().metrics.emplace_back("devices", devices);
}

}  // namespace stepscope::analyzer
