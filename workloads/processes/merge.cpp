// Results travel as JSON: a few numbers a step, once; see merge.h. Losses by their bits: JSON has
// no NaN.
#include "workloads/processes/merge.h"

#include <algorithm>
#include <bit>

#include <nlohmann/json.hpp>

namespace stepscope::workloads {
namespace {

using Json = nlohmann::json;

Json to_json(TrainingResult const& result, int64_t correct) {
  Json json = {
      {"step_ns", result.step_ns},
      {"checksums", result.weights_checksums},
      {"correct", correct},
      {"interrupted", result.interrupted},
      {"counts",
       {result.counts.launches, result.counts.kernels, result.counts.copies,
        result.counts.collectives, result.counts.host_to_device_bytes,
        result.counts.device_to_host_bytes, result.counts.collective_bytes, result.counts.graphs}}};

  for (MemoryUse const& use : result.memory) {
    json["memory"].push_back({use.capacity_bytes, use.allocated_bytes, use.reserved_bytes,
                              use.peak_allocated_bytes, use.peak_reserved_bytes});
  }
  for (TrainingResult::Loss const& loss : result.losses) {
    Json& bits = json["losses"].emplace_back(Json::array());
    for (double const value : loss.by_step) bits.push_back(std::bit_cast<uint64_t>(value));
  }

  return json;
}

void add(TrainingResult& whole, Json const& part) {
  for (Json const& times : part["step_ns"])
    whole.step_ns.push_back(times.get<std::vector<int64_t>>());
  for (Json const& checksum : part["checksums"]) whole.weights_checksums.push_back(checksum);
  for (Json const& use : part["memory"])
    whole.memory.push_back({use[0], use[1], use[2], use[3], use[4]});

  Json const& counts = part["counts"];
  whole.counts = whole.counts + OpCounts{counts[0], counts[1], counts[2], counts[3],
                                         counts[4], counts[5], counts[6], counts[7]};
  whole.interrupted = whole.interrupted || part["interrupted"].get<bool>();

  auto const share = 1.0 / static_cast<double>(whole.processes);
  for (size_t i = 0; i < whole.losses.size(); ++i) {
    Json const& bits = part["losses"][i];
    std::vector<double>& mean = whole.losses[i].by_step;
    mean.resize(std::min(bits.size(), mean.size()));
    for (size_t step = 0; step < mean.size(); ++step)
      mean[step] += share * std::bit_cast<double>(bits[step].get<uint64_t>());
  }
}

}  // namespace

void merge_results(mpi::Processes& processes, TrainingResult& result, int64_t& correct) {
  std::vector<std::string> const parts = processes.all_gather(to_json(result, correct).dump());
  if (processes.failure()) return;

  result.step_ns.clear();
  result.weights_checksums.clear();
  result.memory.clear();
  result.counts = {};
  correct = 0;
  for (TrainingResult::Loss& loss : result.losses)
    std::fill(loss.by_step.begin(), loss.by_step.end(), 0.0);

  for (std::string const& part : parts) {
    Json const json = Json::parse(part);
    add(result, json);
    correct += json["correct"].get<int64_t>();
  }
}

}  // namespace stepscope::workloads
