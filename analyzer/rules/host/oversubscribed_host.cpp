// oversubscribed-host: the threads of host devices wait for cores, because they are more than the
// machine has, or other programs use them. No device time means what it seems to then. Only for
// devices that are executed by the host's cores. Cost: idle time in which a device's thread had
// work and did not run, per step; what devices take from each other while they compute looks like
// compute time.
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string>

#include "analyzer/metrics/work/kernels.h"
#include "analyzer/rules/host/idle_cost.h"
#include "analyzer/rules/rules.h"

namespace stepscope::analyzer {
namespace {

/// A thread that sleeps is woken within some tens of µs where a core is free; what takes longer
/// waits for one.
constexpr int64_t kLongestWakeNs = 50'000;

uint32_t cores_of(model::TraceInfo const& info) {
  for (auto const& [key, value] : info.facts) {
    uint32_t cores = 0;
    if (key == "cores" &&
        std::from_chars(value.data(), value.data() + value.size(), cores).ec == std::errc{})
      return cores;
  }
  return 0;
}

struct CoresOfMachine {
  uint64_t threads = 0, devices = 0, cores = 0;
};

/// Cores, devices and threads of each machine, by host.
std::map<std::string, CoresOfMachine> machines_of(RuleInput const& input) {
  std::map<std::string, CoresOfMachine> machines;
  for (model::RankTrace const& rank : input.run.ranks) {
    CoresOfMachine& machine = machines[rank.trace.info().host];
    machine.cores = std::max<uint64_t>(machine.cores, cores_of(rank.trace.info()));

    for (model::Device const& device : rank.trace.devices()) {
      if (!is_host_device(device.name)) continue;
      ++machine.devices;
      machine.threads += std::max<uint32_t>(device.threads, 1);
    }
  }

  return machines;
}

/// The device that loses most to waiting for cores.
std::optional<Finding> find_waiting_for_cores(RuleInput const& input) {
  auto const waits = [&](MeasuredDevice const& device, size_t place) {
    DeviceStats const& facts =
        input.facts.devices[static_cast<size_t>(&device - input.measured.data())];
    return is_host_device(facts.name) && device.gaps.cause(place) == IdleCause::kLaunchLatency &&
           device.gaps.when(place).length() > kLongestWakeNs;
  };
  return find_idle_cost("oversubscribed-host", input, kWarningShare, {IdleCause::kLaunchLatency},
                        waits);
}

}  // namespace

void find_oversubscribed_host(RuleInput const& input, std::vector<Finding>& findings) {
  auto waiting = find_waiting_for_cores(input);
  model::RankTrace const* const rank =
      waiting ? &input.run.ranks[static_cast<size_t>(waiting->where->rank_index)] : nullptr;

  for (auto const& [host, machine] : machines_of(input)) {
    if (rank != nullptr && rank->trace.info().host == host) {
      waiting->metrics.emplace_back("threads", static_cast<double>(machine.threads));
      if (machine.cores > 0)
        waiting->metrics.emplace_back("cores", static_cast<double>(machine.cores));
      waiting->subjects.emplace_back("host", host);
      continue;
    }

    if (machine.cores == 0 || machine.threads <= machine.cores) continue;
    Finding finding;
    finding.rule = "oversubscribed-host";
    finding.severity = Severity::kWarning;
    finding.metrics = {{"threads", static_cast<double>(machine.threads)},
                       {"devices", static_cast<double>(machine.devices)},
                       {"cores", static_cast<double>(machine.cores)}};
    finding.subjects = {{"host", host}};
    findings.push_back(std::move(finding));
  }

  if (waiting) findings.push_back(std::move(*waiting));
}

}  // namespace stepscope::analyzer
