// memory-leak: the least memory that a step needs rises step after step. Says how much a step, and in how many steps the device
// will be full.
#include <algorithm>

#include "analyzer/facts/memory.h"
#include "analyzer/rules/rules.h"

namespace stepscope::analyzer {
namespace {

/// Caches that fill and bookkeeping grow by less.
constexpr double kLeastGrowthBytes = 64.0 * 1024;
/// A leak rises in every step; some are hidden by a free that came late.
constexpr double kLeastRisingShare = 0.8;
/// A run that will be full within a day's work of steps.
constexpr double kSoonSteps = 1000;

/// Of the steps after the first, the share whose floor is above the one before.
double rising_share(std::vector<std::optional<uint64_t>> const& floors) {
  double rising = 0, all = 0;
  for (size_t i = 1; i < floors.size(); ++i) {
    if (!floors[i - 1] || !floors[i]) continue;
    all += 1;
    if (*floors[i] > *floors[i - 1]) rising += 1;
  }
  return all > 0 ? rising / all : 0;
}

}  // namespace

void find_memory_leak(RuleInput const& input, std::vector<Finding>& findings) {
  for (DeviceFacts const& device : input.facts.devices) {
    MemoryFacts const& memory = device.memory;
    double const growth = memory.floor_growth_bytes_per_step.value_or(0);
    if (growth < kLeastGrowthBytes) continue;
    std::vector<Interval> windows;
    for (StepFacts const& step : input.facts.steps)
      if (step.ref == device.ref && !step.warmup) windows.push_back(step.host_window);
    if (rising_share(memory_floors(memory.timeline, windows)) < kLeastRisingShare) continue;
    Finding finding;
    finding.rule = "memory-leak";
    finding.where = device.ref;
    finding.severity = Severity::kWarning;
    finding.metrics = {{"bytes_per_step", growth}};
    std::optional<uint64_t> const peak = memory.peak_reserved_bytes ? memory.peak_reserved_bytes : memory.peak_allocated_bytes;
    if (memory.capacity_bytes && peak && *memory.capacity_bytes > *peak) {
      double const steps_left = static_cast<double>(*memory.capacity_bytes - *peak) / growth;
      finding.metrics.emplace_back("steps_to_full", steps_left);
      if (steps_left < kSoonSteps) finding.severity = Severity::kCritical;
    }
    finding.evidence = {{device.ref, {windows.front().begin, windows.back().end}, std::nullopt}};
    findings.push_back(std::move(finding));
    return;  // devices of a data-parallel job leak alike: one is enough
  }
}

}  // namespace stepscope::analyzer
