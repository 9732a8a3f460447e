// memory-pressure: a device's memory is nearly full, its allocator had to empty its cache to get
// more, or it will be full before as many steps again are over. No cost per step: the price is the
// batch that does not fit, and the run that ends.
#include <algorithm>
#include <tuple>

#include "analyzer/metrics/memory/memory_growth.h"
#include "analyzer/rules/memory/memory_holes.h"
#include "analyzer/rules/rules.h"

namespace stepscope::analyzer {
namespace {

/// So little is left that a longer sequence or another library's workspace ends the run.
constexpr double kCriticalPressure = 0.98;
/// Once may be a cache that the program emptied on purpose.
constexpr uint64_t kFewestRetries = 2;

/// Why a device is under pressure.
struct Pressure {
  DeviceStats const* device = nullptr;
  double pressure = 0;  ///< 0 = not known
  bool is_full = false, retries = false, fills = false;
  [[nodiscard]] bool any() const { return is_full || retries || fills; }
  [[nodiscard]] bool is_critical() const { return pressure > kCriticalPressure; }
  [[nodiscard]] auto rank() const { return std::tuple(is_critical(), is_full, retries, pressure); }
};

/// What is recorded is a small part of a job: what fills memory within as many steps again fills it
/// in the job. A leak and holes have rules of their own, which say so too.
bool fills_soon(MemoryStats const& memory, size_t steps) {
  return memory.reserved_forecast && !memory.floor_forecast && !grew_by_holes(memory) &&
         memory.reserved_forecast->steps < static_cast<double>(steps);
}

Finding make_pressure_finding(Pressure const& worst) {
  MemoryStats const& memory = worst.device->memory;
  Finding finding;
  finding.rule = "memory-pressure";
  finding.severity = worst.is_critical() ? Severity::kCritical : Severity::kWarning;
  finding.where = worst.device->ref;

  if (worst.pressure > 0) {
    uint64_t const peak =
        memory.peak_reserved_bytes ? *memory.peak_reserved_bytes : *memory.peak_allocated_bytes;
    finding.metrics = {{"pressure", worst.pressure},
                       {"peak_bytes", static_cast<double>(peak)},
                       {"capacity_bytes", static_cast<double>(*memory.capacity_bytes)}};
  }

  if (double const unused = excess_bytes(memory); unused > 0)
    finding.metrics.emplace_back("unused_bytes", unused);
  if (worst.retries) finding.metrics.emplace_back("retries", static_cast<double>(*memory.retries));
  if (worst.fills) finding.metrics.emplace_back("steps_to_full", memory.reserved_forecast->steps);
  if (memory.batch_factor) finding.metrics.emplace_back("batch_factor", *memory.batch_factor);

  if (worst.retries) {
    for (int64_t const at : memory.retries_at)
      finding.evidence.push_back({worst.device->ref, {at, at}, std::nullopt});
  } else if (!memory.timeline.empty()) {
    auto const highest = std::max_element(memory.timeline.begin(), memory.timeline.end(),
                                          [](auto const& a, auto const& b) {
                                            return std::max(a.allocated_bytes, a.reserved_bytes) <
                                                   std::max(b.allocated_bytes, b.reserved_bytes);
                                          });
    finding.evidence = {{worst.device->ref, {highest->time_ns, highest->time_ns}, std::nullopt}};
  }

  return finding;
}

}  // namespace

void find_memory_pressure(RuleInput const& input, std::vector<Finding>& findings) {
  Pressure worst;
  for (size_t d = 0; d < input.facts.devices.size(); ++d) {
    Pressure device;
    device.device = &input.facts.devices[d];

    MemoryStats const& memory = device.device->memory;
    device.pressure = pressure_of(memory).value_or(0);
    device.is_full = device.pressure > kUsableShare;
    device.retries = memory.retries.value_or(0) >= kFewestRetries;
    device.fills =
        input.measured[d].has_steps && fills_soon(memory, input.measured[d].periods.size());

    if (device.any() && (worst.device == nullptr || device.rank() > worst.rank())) worst = device;
  }

  if (worst.device != nullptr) findings.push_back(make_pressure_finding(worst));
}

}  // namespace stepscope::analyzer
