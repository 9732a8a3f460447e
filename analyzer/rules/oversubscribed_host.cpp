// oversubscribed-host: host devices have more threads in all than the machine has cores, so they wait for each other's time
// slices and no device time means what it seems to. Only for devices that are executed by the host's cores.
#include <charconv>
#include <map>

#include "analyzer/rules/rules.h"

namespace stepscope::analyzer {
namespace {

/// How host devices are named (tracer/api/device_events.h: the runtime names its devices; ours are "host:0", "host:1", …).
constexpr std::string_view kHostDevice = "host";

uint32_t cores_of(model::TraceInfo const& info) {
  for (auto const& [key, value] : info.facts) {
    uint32_t cores = 0;
    if (key == "cores" && std::from_chars(value.data(), value.data() + value.size(), cores).ec == std::errc{}) return cores;
  }
  return 0;
}

}  // namespace

void find_oversubscribed_host(RuleInput const& input, std::vector<Finding>& findings) {
  struct Machine {
    uint64_t threads = 0, devices = 0, cores = 0;
  };
  std::map<std::string, Machine> machines;
  for (model::RankTrace const& rank : input.run.ranks) {
    Machine& machine = machines[rank.trace.info().host];
    machine.cores = std::max<uint64_t>(machine.cores, cores_of(rank.trace.info()));
    for (model::Device const& device : rank.trace.devices()) {
      if (!device.name.starts_with(kHostDevice)) continue;
      ++machine.devices;
      machine.threads += std::max<uint32_t>(device.threads, 1);
    }
  }
  for (auto const& [host, machine] : machines) {
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
}

}  // namespace stepscope::analyzer
