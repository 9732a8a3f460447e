// Changes that make ranks alike: a straggler as fast as the others, the same work on all.
#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "analyzer/metrics/core/quantile.h"
#include "analyzer/metrics/core/saturate.h"
#include "analyzer/whatif/changes/changes.h"

namespace stepscope::analyzer {
namespace {

/// Ranks vary so much by themselves.
constexpr double kAlike = 1.02;

bool is_computing(ReplayNode const& node) {
  return node.kind == ReplayNodeKind::kOp && node.path_class == PathClass::kCompute;
}

/// The number by which people name a device and the thread that launches its work. It is the rank
/// of their process; in a run of one process it is that of the device.
class Numbers {
 public:
  explicit Numbers(ReplayContext const& context) : context_(context) {
    std::map<Thread, std::map<uint16_t, size_t>> launches;
    for (uint32_t number = 1; number < context.graph.nodes.size(); ++number) {
      ReplayNode const& node = context.graph.nodes[number];
      if (node.kind == ReplayNodeKind::kHost || node.kind == ReplayNodeKind::kTransfer) continue;
      for (uint32_t e = context.graph.first_edge[number]; e < context.graph.first_edge[number + 1];
           ++e)
        if (context.graph.edge_kind[e] == ReplayEdge::kLaunch)
          ++launches[thread_of(context.graph.nodes[context.graph.source[e]])][node.device];
    }

    for (auto const& [thread, of_device] : launches)
      device_of_thread_[thread] =
          std::max_element(of_device.begin(), of_device.end(), [](auto const& a, auto const& b) {
            return a.second < b.second;
          })->first;
  }

  /// None: a thread that launches nothing.
  [[nodiscard]] std::optional<int32_t> of(ReplayNode const& node) const {
    bool const is_one_process = context_.graph.processes.size() == 1;
    if (!is_one_process) return trace_of(context_, node).info().rank;

    uint16_t device = node.device;
    if (node.kind == ReplayNodeKind::kHost) {
      auto const launching = device_of_thread_.find(thread_of(node));
      if (launching == device_of_thread_.end()) return std::nullopt;
      device = launching->second;
    }
    return context_.graph.processes.front().devices[device].ref.device;
  }
  /// All that people may name, sorted.
  [[nodiscard]] std::vector<int32_t> all() const {
    std::vector<int32_t> numbers;
    auto const& processes = context_.graph.processes;
    for (ReplayProcess const& process : processes)
      for (DeviceOps const& device : process.devices)
        numbers.push_back(processes.size() == 1 ? device.ref.device : device.trace().info().rank);
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    return numbers;
  }

  using Thread = std::pair<uint32_t, uint32_t>;  ///< process, track
  static Thread thread_of(ReplayNode const& node) { return {node.process, node.track}; }

 private:
  ReplayContext const& context_;
  std::map<Thread, uint16_t> device_of_thread_;  ///< for which it launches most
};

bool is_meant(WhatIfChange const& change, Numbers const& numbers, ReplayNode const& node) {
  return !change.rank || numbers.of(node) == change.rank;
}

/// Mean duration of the kernels of each name on each device.
class KernelMeans {
 public:
  KernelMeans(ReplayContext const& context, ReplayWeights const& weights)
      : context_(context), number_of_name_(context.graph.processes.size()) {
    for (uint32_t number = 1; number < context.graph.nodes.size(); ++number) {
      ReplayNode const& node = context.graph.nodes[number];
      if (!is_computing(node)) continue;
      Sum& sum = sum_of(node);
      add_saturated(sum.ns, weights.own[number]);
      ++sum.count;
    }
    find_typical();
  }

  /// What the device's kernels of this name take in terms of the typical device's.
  double times_typical(ReplayNode const& node) {
    Sum const& sum = sum_of(node);
    double const typical = typical_[number_of(node)];
    return typical > 0 ? sum.mean() / typical : 1;
  }

 private:
  struct Sum {
    int64_t ns = 0, count = 0;
    [[nodiscard]] double mean() const {
      return count > 0 ? static_cast<double>(ns) / static_cast<double>(count) : 0;
    }
  };

  uint32_t number_of(ReplayNode const& node) {
    model::Trace const& trace = trace_of(context_, node);
    auto& numbers = number_of_name_[node.process];
    if (numbers.empty()) numbers.assign(trace.strings().size(), kNoNode);
    uint32_t& number = numbers[trace.columns().name[node.row].value];
    if (number == kNoNode)
      number = names_.try_emplace(trace.name(node.row), static_cast<uint32_t>(names_.size()))
                   .first->second;
    return number;
  }
  Sum& sum_of(ReplayNode const& node) {
    uint32_t const name = number_of(node);
    if (sums_.size() <= name) sums_.resize(name + 1);
    auto& of_name = sums_[name];
    if (of_name.size() <= node.device) of_name.resize(node.device + 1U);
    return of_name[node.device];
  }

  void find_typical() {
    for (auto const& of_name : sums_) {
      std::vector<double> means;
      for (Sum const& sum : of_name)
        if (sum.count > 0) means.push_back(sum.mean());
      typical_.push_back(means.size() < 2 ? 0 : lower_median(means));
    }
  }

  ReplayContext const& context_;
  std::vector<std::vector<uint32_t>> number_of_name_;  ///< by process, by StringId
  std::unordered_map<std::string_view, uint32_t> names_;
  std::vector<std::vector<Sum>> sums_;  ///< by name, by device
  std::vector<double> typical_;         ///< by name; 0: on one device only
};

uint64_t shorten_kernels(WhatIfChange const& change, Numbers const& numbers,
                         ReplayContext const& context, ReplayWeights& weights) {
  KernelMeans means(context, weights);
  uint64_t changed = 0;

  for (uint32_t number = 1; number < context.graph.nodes.size(); ++number) {
    ReplayNode const& node = context.graph.nodes[number];
    if (!is_computing(node) || !is_meant(change, numbers, node)) continue;
    double const times = means.times_typical(node);
    if (times < kAlike) continue;
    weights.own[number] = HowMuch{1 / times, {}}.of(weights.own[number]);
    ++changed;
  }
  return changed;
}

/// The stretches of threads with steps, step by step.
class StretchesOfSteps {
 public:
  using OfThread = std::map<Numbers::Thread, std::vector<uint32_t>>;  ///< nodes

  explicit StretchesOfSteps(ReplayContext const& context) {
    std::map<Numbers::Thread, int64_t> step_of_thread;
    for (uint32_t number = 1; number < context.graph.nodes.size(); ++number) {
      ReplayNode const& node = context.graph.nodes[number];
      if (node.kind != ReplayNodeKind::kHost) continue;

      Numbers::Thread const thread = Numbers::thread_of(node);
      if (node.starts_step) {
        auto const [at, is_first] = step_of_thread.try_emplace(thread, 0);
        if (!is_first) ++at->second;
      }
      auto const step = step_of_thread.find(thread);
      if (step != step_of_thread.end()) steps_[step->second][thread].push_back(number);
    }
  }
  [[nodiscard]] std::map<int64_t, OfThread> const& all() const { return steps_; }

 private:
  std::map<int64_t, OfThread> steps_;
};

/// Whether all threads do the same one after the other.
bool are_alike(ReplayContext const& context, StretchesOfSteps::OfThread const& of_thread) {
  auto const& nodes = context.graph.nodes;
  std::vector<uint32_t> const& first = of_thread.begin()->second;
  auto const is_like = [&](uint32_t a, uint32_t b) {
    return nodes[a].path_class == nodes[b].path_class;
  };

  return std::all_of(of_thread.begin(), of_thread.end(), [&](auto const& entry) {
    return std::equal(first.begin(), first.end(), entry.second.begin(), entry.second.end(),
                      is_like);
  });
}

/// Makes the stretches of the host as long as on the typical rank.
class HostShortener {
 public:
  HostShortener(WhatIfChange const& change, Numbers const& numbers, ReplayContext const& context,
                ReplayWeights& weights)
      : change_(change),
        numbers_(numbers),
        context_(context),
        weights_(weights),
        recorded_(weights.own) {}

  uint64_t shorten() {
    StretchesOfSteps const steps(context_);
    for (auto const& [step, of_thread] : steps.all()) {
      if (of_thread.size() < 2) continue;
      if (are_alike(context_, of_thread))
        shorten_by_place(of_thread);
      else
        shorten_by_kind(of_thread);
    }
    return changed_;
  }

 private:
  /// All ranks do the same in this step.
  void shorten_by_place(StretchesOfSteps::OfThread const& of_thread) {
    for (size_t i = 0; i < of_thread.begin()->second.size(); ++i) {
      std::vector<int64_t> lengths;
      for (auto const& [thread, nodes] : of_thread) lengths.push_back(recorded_[nodes[i]]);
      int64_t const typical = lower_median(lengths);

      for (auto const& [thread, nodes] : of_thread)
        limit(nodes[i], static_cast<double>(recorded_[nodes[i]]), static_cast<double>(typical));
    }
  }

  /// Ranks do different work, such as stages of a pipeline: what a kind of stretch takes on the
  /// mean is alike. What one rank has more lies in its longest stretches.
  void shorten_by_kind(StretchesOfSteps::OfThread const& of_thread) {
    std::map<Kind, StretchesOfSteps::OfThread> of_kind;
    for (auto const& [thread, nodes] : of_thread)
      for (uint32_t const node : nodes) of_kind[kind_of(node)][thread].push_back(node);

    for (auto const& [kind, nodes_of] : of_kind) {
      std::vector<double> means;
      for (auto const& [thread, nodes] : nodes_of) means.push_back(mean_of(nodes));
      double const typical = means.size() < 2 ? means.front() : lower_median(means);
      for (auto const& [thread, nodes] : nodes_of)
        if (mean_of(nodes) > typical * kAlike) cut_longest(nodes, typical);
    }
  }

  using Kind = std::pair<PathClass, bool>;  ///< and whether a step begins with it
  [[nodiscard]] Kind kind_of(uint32_t number) const {
    ReplayNode const& node = context_.graph.nodes[number];
    return {node.path_class, node.starts_step};
  }
  [[nodiscard]] double mean_of(std::vector<uint32_t> const& nodes) const {
    double sum = 0;
    for (uint32_t const node : nodes) sum += static_cast<double>(recorded_[node]);
    return sum / static_cast<double>(nodes.size());
  }

  /// No stretch longer than a limit, so that their mean is `typical`.
  void cut_longest(std::vector<uint32_t> const& nodes, double typical) {
    std::vector<double> lengths;
    for (uint32_t const node : nodes) lengths.push_back(static_cast<double>(recorded_[node]));
    std::sort(lengths.begin(), lengths.end());

    // The shortest ones keep their length; the rest shares what is left of the sum.
    double left = typical * static_cast<double>(lengths.size());
    double most = 0;
    for (size_t i = 0; i < lengths.size(); ++i) {
      most = left / static_cast<double>(lengths.size() - i);
      if (lengths[i] >= most) break;
      left -= lengths[i];
    }

    for (uint32_t const node : nodes) limit(node, static_cast<double>(recorded_[node]), most);
  }

  void limit(uint32_t number, double own, double typical) {
    if (own <= typical * kAlike || !is_meant(change_, numbers_, context_.graph.nodes[number]))
      return;
    weights_.own[number] = HowMuch{typical / own, {}}.of(weights_.own[number]);
    ++changed_;
  }

  WhatIfChange const& change_;
  Numbers const& numbers_;
  ReplayContext const& context_;
  ReplayWeights& weights_;
  base::Column<int64_t> recorded_;
  uint64_t changed_ = 0;
};

}  // namespace

AppliedChange remove_straggler(WhatIfChange const& change, ReplayContext const& context,
                               ReplayWeights& weights) {
  AppliedChange applied;
  auto const& processes = context.graph.processes;
  size_t devices = 0;
  for (ReplayProcess const& process : processes) devices += process.devices.size();
  if (devices < 2) {
    applied.select_nothing("the run has one device and no other one to compare it with");
    return applied;
  }

  Numbers const numbers(context);
  std::vector<int32_t> const known = numbers.all();
  if (change.rank && !std::binary_search(known.begin(), known.end(), *change.rank)) {
    applied.select_nothing(fmt::format("no such rank; there are {}", fmt::join(known, ", ")));
    return applied;
  }

  applied.changed = shorten_kernels(change, numbers, context, weights) +
                    HostShortener(change, numbers, context, weights).shorten();
  if (applied.changed == 0)
    applied.cautions.emplace_back("nothing of it takes longer than on the typical rank");
  return applied;
}

AppliedChange balance_steps(WhatIfChange const&, ReplayContext const& context,
                            ReplayWeights& weights) {
  // Compute of each step, by device.
  ReplayGraph const& graph = context.graph;
  std::vector<int64_t> compute(graph.steps.size());
  for (uint32_t number = 1; number < graph.nodes.size(); ++number)
    if (ReplayNode const& node = graph.nodes[number]; is_computing(node) && node.step >= 0)
      add_saturated(compute[static_cast<size_t>(node.step)], weights.own[number]);

  std::map<int64_t, std::pair<double, int>> of_number;  // step: sum, devices
  for (size_t i = 0; i < compute.size(); ++i) {
    auto& [sum, devices] = of_number[graph.steps[i].step];
    sum += static_cast<double>(compute[i]);
    ++devices;
  }

  AppliedChange applied;
  for (uint32_t number = 1; number < graph.nodes.size(); ++number) {
    ReplayNode const& node = graph.nodes[number];
    if (!is_computing(node) || node.step < 0) continue;
    auto const place = static_cast<size_t>(node.step);
    auto const& [sum, devices] = of_number[graph.steps[place].step];
    if (devices < 2 || compute[place] == 0) continue;

    double const factor = sum / devices / static_cast<double>(compute[place]);
    weights.own[number] = HowMuch{factor, {}}.of(weights.own[number]);
    ++applied.changed;
  }

  if (applied.changed == 0) applied.select_nothing("no step was recorded on two devices");
  return applied;
}

}  // namespace stepscope::analyzer
