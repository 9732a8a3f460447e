// The pathologies of the bundled workloads, trained on host devices and analyzed by the stepscope
// program. What they cost depends on the machine, so they are shown and not counted against a cost.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/ground_truth/scenarios.h"

namespace stepscope::ground_truth {
namespace {

struct Workload {
  char const* fault_injection;
  char const* training;
  int devices = 2;  ///< one where the fault needs no second: with as many devices as cores the
                    ///< launching threads slow one of them
};
// Small trainings in which the pathology costs enough to be seen (docs/guide/WORKLOADS.md, "Known
// faults"). Without tiny-kernels and pageable-copies: on host devices a launch and a copy cost next
// to nothing.
constexpr char kCifar[] = "cifar10 --batch 4 --steps 12";
constexpr char kLargeMessages[] = "cifar10 --batch 1 --bucket-mb 4 --steps 40";
constexpr char kManyMessages[] = "gpt --batch 1 --steps 12";  // 54 parameters: cifar10 has nine
constexpr Workload kWorkloads[] = {{"slow-input=150", kCifar},
                                   {"leak=8388608", kCifar},
                                   {"alloc-every-step=128", kCifar},
                                   {"host-bound=2000", kCifar},
                                   {"sync-every-op", kCifar},
                                   {"late-rank=1", kCifar},
                                   {"straggler=1", "cifar10 --batch 16 --steps 12"},
                                   {"checkpoint-stall=300", "cifar10 --batch 4 --steps 35"},
                                   {"imbalanced-split=3", "split --steps 12"},
                                   {"no-overlap=4", kLargeMessages},
                                   {"small-buckets", kManyMessages},
                                   {"fragmentation", "cifar10 --batch 16 --steps 40", 1}};
/// Other programs take the cores of a machine now and then, which is then the largest loss of a
/// training of a second. What most of so many trainings show is the fault's.
constexpr int kTrainings = 3;

nlohmann::json read_json(std::string const& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file, nullptr, false);
}

/// Returns what went wrong, or nothing.
std::string read_run(std::string const& folder, Outcome& outcome) {
  nlohmann::json const analysis = read_json(folder + "/analysis.json"),
                       injected = read_json(folder + "/pathology.json");
  if (!analysis.is_object() || !injected.is_object())
    return fmt::format("{} lacks analysis.json or pathology.json", folder);

  outcome.expected = injected.at("pathologies").at(0).at("expected_finding");
  auto const& findings = analysis.at("findings");
  if (!findings.empty() && findings.front().at("severity") != "info")
    outcome.found = findings.front().at("rule");

  for (auto const& finding : findings)
    if (finding.at("rule") == outcome.expected && finding.at("cost_ns_per_step").is_number() &&
        !outcome.stated_ns)
      outcome.stated_ns = finding.at("cost_ns_per_step").get<int64_t>();
  return {};
}

/// One training with the fault.
Outcome train(Workload const& workload, std::string const& stepscope, std::string const& run,
              std::string const& scenario) {
  Outcome outcome;
  outcome.scenario = scenario;
  std::string const command = fmt::format(
      "'{}' profile {} --no-evaluate --log-every 0 -o '{}' --force --device host:{} --pathology {} "
      ">'{}.log' 2>&1",
      stepscope, workload.training, run, workload.devices, workload.fault_injection, run);

  int const status = std::system(command.c_str());
  outcome.error =
      status == 0 ? read_run(run, outcome) : fmt::format("status {}: {}", status, command);

  return outcome;
}

/// A right training if most are right, else a wrong one. Its name says how many are right.
Outcome most_of(std::vector<Outcome> const& trained) {
  auto const right = std::count_if(trained.begin(), trained.end(),
                                   [](Outcome const& outcome) { return outcome.is_right(); });
  bool const are_right = 2 * static_cast<size_t>(right) > trained.size();
  Outcome outcome = *std::find_if(trained.begin(), trained.end(),
                                  [&](Outcome const& o) { return o.is_right() == are_right; });
  outcome.scenario += fmt::format(" ({} of {})", right, trained.size());
  return outcome;
}

}  // namespace

std::vector<Outcome> play_workloads(std::string const& stepscope, std::string const& folder,
                                    std::string const& only) {
  std::vector<Outcome> outcomes;
  std::filesystem::create_directories(folder);
  for (Workload const& workload : kWorkloads) {
    std::string const training = workload.training;
    std::string const scenario =
        fmt::format("{} {}", training.substr(0, training.find(' ')), workload.fault_injection);
    if (scenario.find(only) == std::string::npos) continue;

    std::vector<Outcome> trained;
    for (int i = 0; i < kTrainings; ++i)
      trained.push_back(train(workload, stepscope,
                              fmt::format("{}/{}-{}", folder, workload.fault_injection, i + 1),
                              scenario));
    outcomes.push_back(most_of(trained));
  }
  return outcomes;
}

}  // namespace stepscope::ground_truth
