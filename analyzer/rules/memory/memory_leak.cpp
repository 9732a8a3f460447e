// memory-leak: the least memory that a step needs rises step after step. Says how much a step, and
// in how many steps the device will be full.
#include <algorithm>

#include "analyzer/metrics/memory/memory_growth.h"
#include "analyzer/rules/memory/memory_holes.h"
#include "analyzer/rules/rules.h"

namespace stepscope::analyzer {
namespace {

/// Caches that fill and bookkeeping grow by less.
constexpr double kLeastGrowthBytes = 64.0 * 1024;
/// A leak rises in every step; some are hidden by a free that came late.
constexpr double kLeastRisingShare = 0.8;

/// Share of the steps after the first whose floor is above the one before.
double rising_share(StepBytes const& floors) {
  double rising = 0, all = 0;
  for (size_t i = 1; i < floors.size(); ++i) {
    if (!floors[i - 1] || !floors[i]) continue;
    all += 1;
    if (*floors[i] > *floors[i - 1]) rising += 1;
  }
  return all > 0 ? rising / all : 0;
}

Finding make_leak_finding(DeviceStats const& device, double growth, Interval steps) {
  Finding finding;
  finding.rule = "memory-leak";
  finding.where = device.ref;
  finding.severity = Severity::kWarning;
  finding.metrics = {{"bytes_per_step", growth}};

  if (auto const& forecast = device.memory.floor_forecast) {
    finding.metrics.emplace_back("steps_to_full", forecast->steps);
    finding.metrics.emplace_back("earliest_steps_to_full", forecast->earliest_steps);
    finding.metrics.emplace_back("latest_steps_to_full", forecast->latest_steps);
    if (forecast->time_ns)
      finding.metrics.emplace_back("time_to_full_ns", static_cast<double>(*forecast->time_ns));
    if (forecast->steps < kSoonSteps) finding.severity = Severity::kCritical;
  }

  finding.evidence = {{device.ref, steps, std::nullopt}};
  return finding;
}

}  // namespace

void find_memory_leak(RuleInput const& input, std::vector<Finding>& findings) {
  for (DeviceStats const& device : input.facts.devices) {
    MemoryStats const& memory = device.memory;
    double const growth = memory.floor_growth_bytes_per_step.value_or(0);
    if (growth < kLeastGrowthBytes) continue;

    std::vector<Interval> windows;
    auto const& steps = input.facts.steps;  // by ref
    auto step = std::partition_point(steps.begin(), steps.end(),
                                     [&](StepStats const& s) { return s.ref < device.ref; });
    for (; step != steps.end() && step->ref == device.ref; ++step)
      if (!step->warmup) windows.push_back(step->host_window);

    if (windows.empty() ||
        rising_share(memory_floors(memory.timeline.points(), windows)) < kLeastRisingShare)
      continue;
    if (holes_outgrow_leak(memory, windows.size())) continue;

    findings.push_back(
        make_leak_finding(device, growth, {windows.front().begin, windows.back().end}));
    return;  // devices of a data-parallel job leak alike: one is enough
  }
}

}  // namespace stepscope::analyzer
