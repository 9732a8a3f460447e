// The machine-readable summary of a training; see training.h.
#include <nlohmann/json.hpp>

#include "workloads/training/training.h"

namespace stepscope::workloads {

std::string summarize(std::string const& workload, TrainOptions const& options,
                      TrainingResult const& result) {
  nlohmann::json devices = nlohmann::json::array();
  for (size_t d = 0; d < result.step_ns.size(); ++d) {
    devices.push_back({{"device", d},
                       {"step_ns", result.step_ns[d]},
                       {"weights_checksum", fmt::format("{:016x}", result.weights_checksums[d])},
                       {"peak_allocated_bytes", result.memory[d].peak_allocated_bytes},
                       {"peak_reserved_bytes", result.memory[d].peak_reserved_bytes},
                       {"capacity_bytes", result.memory[d].capacity_bytes}});
  }

  // Every member counts a collective; it happened once.
  auto const members = static_cast<uint64_t>(result.step_ns.size());
  nlohmann::json json = {{"workload", workload},
                         {"device", options.device},
                         {"precision", precision_name(options.precision)},
                         {"processes", result.processes},
                         {"batch", options.batch},
                         {"first_step", result.first_step},
                         {"steps", result.loss.size()},
                         {"loss", result.loss},
                         {"devices", devices},
                         {"launches", result.counts.launches},
                         {"graph_launches", result.counts.graphs},
                         {"kernels", result.counts.kernels},
                         {"copies", result.counts.copies},
                         {"collectives", result.counts.collectives},
                         {"all_reduces", result.counts.collectives / members},
                         {"all_reduce_bytes", result.counts.collective_bytes / members},
                         {"host_to_device_bytes", result.counts.host_to_device_bytes},
                         {"device_to_host_bytes", result.counts.device_to_host_bytes},
                         {"interrupted", result.interrupted}};

  json["test_accuracy"] =
      result.test_accuracy ? nlohmann::json(*result.test_accuracy) : nlohmann::json();
  json["failure"] = result.failure ? nlohmann::json(*result.failure) : nlohmann::json();
  if (!result.staleness.empty()) json["staleness"] = result.staleness;
  if (result.losses.size() > 1) {
    for (TrainingResult::Loss const& loss : result.losses) json["losses"][loss.name] = loss.by_step;
  }
  return json.dump();
}

int finish_training(std::string const& workload, TrainOptions const& o,
                    TrainingResult const& result) {
  std::FILE* const log = o.json ? stderr : stdout;
  bool const tells = result.rank == 0;

  if (tells && result.test_accuracy)
    fmt::print(log, "test accuracy {:.1f} %\n", *result.test_accuracy * 100.0);
  if (tells && o.json) fmt::print("{}\n", summarize(workload, o, result));

  if (result.failure) {
    // All fail for the same reason, and rank 0 reports it. When a process is gone, it may be that
    // one: all report.
    if (tells || result.lost_processes) fmt::print(stderr, "stepscope: {}\n", *result.failure);
    return 1;
  }

  constexpr int kInterrupted = 130;  // 128 + SIGINT, as shells report it
  return result.interrupted ? kInterrupted : 0;
}

}  // namespace stepscope::workloads
