// Stages of a pipeline that compute for as long: layers that move, where ranges name them, else an
// ideal split.
#include <algorithm>
#include <charconv>
#include <map>

#include <fmt/format.h>

#include "analyzer/whatif/changes/changes.h"
#include "analyzer/whatif/pipeline/stage_split.h"
#include "trace/model/intervals.h"

namespace stepscope::analyzer {
namespace {

/// A range's name as a layer's: "layers.12 backward" is number 12 of "layers.".
struct LayerName {
  std::string_view prefix;
  uint32_t number = 0;
};
/// None: no number that a sign sets off, as in "aten::conv2d".
std::optional<LayerName> layer_name(std::string_view name) {
  size_t const last = name.find_last_of("0123456789");
  if (last == std::string_view::npos) return std::nullopt;
  size_t const before = name.find_last_not_of("0123456789", last);
  if (before == std::string_view::npos) return std::nullopt;
  constexpr std::string_view kSetsOff = "._-# :[(/";
  if (kSetsOff.find(name[before]) == std::string_view::npos) return std::nullopt;

  LayerName layer{name.substr(0, before + 1), 0};
  auto const [end, error] =
      std::from_chars(name.data() + before + 1, name.data() + last + 1, layer.number);
  return error == std::errc() ? std::optional(layer) : std::nullopt;
}

/// Device time by the number of a layer.
using LayerTimes = std::map<uint32_t, double>;

/// The layers of each stage, as ranges name them.
struct NamedLayers {
  std::string_view prefix;  ///< of the names
  std::vector<LayerTimes> stages;
};

/// The names with most time in all stages; no stages where no range is named like a layer.
NamedLayers layers_of(PipelineStats const& pipeline, std::vector<OpStats> const& ops) {
  std::map<std::string_view, std::vector<LayerTimes>> by_prefix;
  std::map<std::string_view, double> sums;
  for (OpStats const& op : ops) {
    if (op.level != OpStats::Level::kLayer || op.what != OpStats::What::kRange) continue;
    auto const stage = std::find_if(pipeline.stages.begin(), pipeline.stages.end(),
                                    [&](auto const& s) { return s.ref == op.ref; });
    auto const layer = layer_name(op.name);
    if (stage == pipeline.stages.end() || !layer) continue;

    auto& stages = by_prefix[layer->prefix];
    stages.resize(pipeline.stages.size());
    auto const place = static_cast<size_t>(stage - pipeline.stages.begin());
    stages[place][layer->number] += static_cast<double>(op.total_ns);
    sums[layer->prefix] += static_cast<double>(op.total_ns);
  }

  auto const most = std::max_element(
      sums.begin(), sums.end(), [](auto const& x, auto const& y) { return x.second < y.second; });
  return most == sums.end() ? NamedLayers{} : NamedLayers{most->first, by_prefix[most->first]};
}

/// Time of each stage with layers that moved, in terms of what its layers take now. None where
/// layers are not numbered through all stages.
std::optional<std::vector<double>> with_moved_layers(NamedLayers const& named) {
  std::vector<double> layers, now;
  std::optional<uint32_t> last;
  for (LayerTimes const& of_stage : named.stages) {
    if (of_stage.empty() || (last && of_stage.begin()->first <= *last)) return std::nullopt;
    last = of_stage.rbegin()->first;

    now.push_back(0);
    for (auto const& [number, ns] : of_stage) {
      layers.push_back(ns);
      now.back() += ns;
    }
  }

  constexpr size_t kMostLayers = 2000;
  if (now.empty() || layers.size() > kMostLayers) return std::nullopt;
  std::vector<double> const none(now.size(), 0);
  std::vector<double> factors = split_layers(layers, none);
  for (size_t s = 0; s < factors.size(); ++s) factors[s] = now[s] > 0 ? factors[s] / now[s] : 1;
  return factors;
}

/// When a process had ranges of layers open.
model::IntervalSet times_in_layers(model::RankTrace const& rank, std::string_view prefix) {
  std::vector<Interval> open;
  for (uint32_t row = 0; row < rank.trace.event_count(); ++row) {
    model::Trace const& trace = rank.trace;
    bool const is_of_host =
        trace.tracks()[trace.columns().track[row].value].kind == model::TrackKind::kThread;
    if (!is_of_host) continue;

    auto const layer = layer_name(trace.name(row));
    if (layer && layer->prefix == prefix)
      open.push_back({trace.start(row) + rank.offset_ns, trace.end(row) + rank.offset_ns});
  }
  return model::unite(std::move(open));
}

/// The same of stages that all take the mean.
std::vector<double> with_equal_stages(PipelineStats const& pipeline) {
  double sum = 0;
  for (PipelineStats::Stage const& stage : pipeline.stages)
    sum += static_cast<double>(stage.per_step(stage.compute_ns));
  double const mean = sum / static_cast<double>(pipeline.stages.size());

  std::vector<double> factors;
  for (PipelineStats::Stage const& stage : pipeline.stages) {
    auto const now = static_cast<double>(stage.per_step(stage.compute_ns));
    factors.push_back(now > 0 ? mean / now : 1);
  }
  return factors;
}

/// How the stages of a run change.
struct StageFactors {
  std::map<DeviceRef, double> of_device;
  std::map<DeviceRef, std::string_view> prefix;  ///< of layers: only what they launch changes
};

StageFactors factors_of(ReplayContext const& context) {
  StageFactors result;
  for (PipelineStats const& pipeline : context.pipelines) {
    NamedLayers const named = layers_of(pipeline, context.ops);
    auto const moved = with_moved_layers(named);
    std::vector<double> const factors = moved ? *moved : with_equal_stages(pipeline);

    for (size_t s = 0; s < factors.size(); ++s) {
      DeviceRef const ref = pipeline.stages[s].ref;
      result.of_device[ref] = factors[s];
      if (moved) result.prefix[ref] = named.prefix;
    }
  }
  return result;
}

/// Which ops change: those that layers launch, or all.
class ChangedOps {
 public:
  ChangedOps(ReplayContext const& context, StageFactors const& factors)
      : context_(context), factors_(factors), layers_(context.graph.processes.size()) {}

  bool has(ReplayNode const& node, DeviceRef ref) {
    auto const prefix = factors_.prefix.find(ref);
    if (prefix == factors_.prefix.end()) return true;
    DeviceOps const& device = context_.graph.processes[node.process].devices.front();
    auto const launch = device.launch_of(node.row);
    if (!launch) return true;

    auto& open = layers_[node.process];
    if (!open) open = times_in_layers(*device.rank, prefix->second);
    int64_t const start = device.start(*launch);
    auto const layer = std::partition_point(open->begin(), open->end(),
                                            [&](Interval const& i) { return i.end <= start; });
    return layer != open->end() && layer->begin <= start;
  }

 private:
  ReplayContext const& context_;
  StageFactors const& factors_;
  std::vector<std::optional<model::IntervalSet>> layers_;  ///< by process
};

}  // namespace

AppliedChange balance_stages(WhatIfChange const&, ReplayContext const& context,
                             ReplayWeights& weights) {
  AppliedChange applied;
  if (context.pipelines.empty()) {
    applied.refusal = "the run has no pipeline whose stages hand on micro-batches";
    return applied;
  }

  StageFactors const factors = factors_of(context);
  ChangedOps ops(context, factors);
  ReplayGraph const& graph = context.graph;
  for (uint32_t number = 1; number < graph.nodes.size(); ++number) {
    ReplayNode const& node = graph.nodes[number];
    bool const computes = node.kind == ReplayNodeKind::kOp &&
                          node.path_class == PathClass::kCompute && node.step >= 0;
    if (!computes) continue;
    DeviceRef const ref = graph.steps[static_cast<size_t>(node.step)].ref;
    auto const factor = factors.of_device.find(ref);
    if (factor == factors.of_device.end() || !ops.has(node, ref)) continue;
    weights.own[number] = HowMuch{factor->second, {}}.of(weights.own[number]);
    ++applied.changed;
  }

  bool const is_ideal = factors.prefix.size() < factors.of_device.size();
  if (applied.changed == 0)
    applied.refusal = "no measured step has kernels of the pipeline's stages";
  else if (is_ideal)
    applied.cautions.emplace_back(
        "no ranges name the layers of all stages, numbered through the model: each stage computes "
        "for the mean of all, which layers as a whole reach at best");
  else
    applied.cautions.emplace_back(
        "whole layers move, as ranges name them, each with the time that it takes now");
  return applied;
}

}  // namespace stepscope::analyzer
