#include "analyzer/whatif/changes/work.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "analyzer/whatif/changes/changes.h"

namespace stepscope::analyzer {
namespace {

/// Kernels that the probe does not have may take this share of the compute time without a caution.
/// Above the second share the change is refused.
constexpr double kUnknownWorkCaution = 0.02, kUnknownWorkRefusal = 0.3;

double sum_of(std::vector<double> const& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}
double mean_of(std::vector<double> const& values) {
  return values.empty() ? 0 : sum_of(values) / static_cast<double>(values.size());
}

/// Sums over a step of a device.
struct KernelTime {
  double ns = 0, calls = 0;
};
KernelTime time_of(RunMeasurements::Kernel const& kernel) {
  auto const steps = static_cast<double>(std::max<size_t>(kernel.ns.size(), 1));
  return {sum_of(kernel.ns) / steps, sum_of(kernel.calls) / steps};
}

/// None where one of both takes no time.
std::optional<WorkRatios::Kernel> ratio_of_times(KernelTime const& run, KernelTime const& probe) {
  bool const takes_time = run.ns > 0 && run.calls > 0 && probe.ns > 0 && probe.calls > 0;
  if (!takes_time) return std::nullopt;
  double const step = probe.ns / run.ns;
  return WorkRatios::Kernel{step, step * run.calls / probe.calls};
}

/// Mean transfer of a message between two ranks.
std::optional<double> message_ns(RunMeasurements const& run) {
  double ns = 0, count = 0;
  for (RunMeasurements::Collective const& messages : run.collectives) {
    if (!model::is_point_to_point(messages.op) || messages.transfer_ns.empty()) continue;
    double const mean =
        sum_of(messages.transfer_ns) / static_cast<double>(messages.transfer_ns.size());
    ns += mean * messages.per_step;
    count += messages.per_step;
  }

  if (count <= 0) return std::nullopt;
  return ns / count;
}

/// What each kernel's time is multiplied by, looked up once a name and process.
class KernelFactors {
 public:
  KernelFactors(WorkChange const& change, ReplayContext const& context)
      : change_(change),
        context_(context),
        of_name_(context.graph.processes.size()),
        of_others_(factor(context.probe->all)) {}

  /// NaN: the probe does not have this kernel.
  double of(ReplayNode const& node) {
    model::Trace const& trace = trace_of(context_, node);
    auto& known = of_name_[node.process];
    if (known.empty()) known.assign(trace.strings().size(), kNotAsked);

    double& of_name = known[trace.columns().name[node.row].value];
    if (of_name == kNotAsked) {
      auto const found = context_.probe->kernels.find(std::string(trace.name(node.row)));
      of_name = found == context_.probe->kernels.end() ? std::nan("") : factor(found->second);
    }
    return of_name;
  }
  [[nodiscard]] double of_others() const { return of_others_; }

 private:
  static constexpr double kNotAsked = -1;

  [[nodiscard]] double factor(WorkRatios::Kernel const& kernel) const {
    return time_at_work(kernel.*change_.ratio, change_.probe_work, change_.work);
  }

  WorkChange const& change_;
  ReplayContext const& context_;
  std::vector<std::vector<double>> of_name_;  ///< by process, by StringId
  double of_others_;
};

}  // namespace

ProbeRun probe_of(model::Run const& run, Analysis const& analysis) {
  ProbeRun probe{sample_run(run, analysis), 0};
  for (PipelineStats const& pipeline : analysis.pipelines)
    probe.micro_batches = std::max(probe.micro_batches, pipeline.micro_batches);
  return probe;
}

WorkRatios compare_work(ProbeRun const& run, ProbeRun const& probe) {
  std::unordered_map<std::string_view, KernelTime> of_probe;
  for (RunMeasurements::Kernel const& kernel : probe.measurements.kernels)
    of_probe.emplace(kernel.name, time_of(kernel));

  WorkRatios ratios;
  KernelTime all, all_of_probe;
  for (RunMeasurements::Kernel const& kernel : run.measurements.kernels) {
    auto const other = of_probe.find(kernel.name);
    bool const is_in_both = !kernel.name.empty() && other != of_probe.end();
    if (!is_in_both) continue;
    KernelTime const here = time_of(kernel), there = other->second;
    auto const ratio = ratio_of_times(here, there);
    if (!ratio) continue;

    ratios.kernels.emplace(kernel.name, *ratio);
    all.ns += here.ns;
    all.calls += here.calls;
    all_of_probe.ns += there.ns;
    all_of_probe.calls += there.calls;
  }
  ratios.all = ratio_of_times(all, all_of_probe).value_or(WorkRatios::Kernel{});

  double const step_ns = mean_of(run.measurements.step_ns);
  if (step_ns > 0) ratios.step = mean_of(probe.measurements.step_ns) / step_ns;
  auto const here = message_ns(run.measurements), there = message_ns(probe.measurements);
  if (here && there && *here > 0) ratios.message = *there / *here;
  ratios.devices = run.measurements.devices;
  ratios.probe_devices = probe.measurements.devices;
  ratios.micro_batches = run.micro_batches;
  ratios.probe_micro_batches = probe.micro_batches;
  return ratios;
}

double time_at_work(double ratio, double probe_work, double work) {
  double const slope = std::clamp((1 - ratio) / (1 - probe_work), 0.0, 1.0);
  return 1 - slope + slope * work;
}

void change_work(WorkChange const& change, ReplayContext const& context, ReplayWeights& weights,
                 AppliedChange& applied) {
  KernelFactors factors(change, context);
  double all_ns = 0, unknown_ns = 0;

  for (uint32_t number = 1; number < context.graph.nodes.size(); ++number) {
    ReplayNode const& node = context.graph.nodes[number];
    if (node.kind != ReplayNodeKind::kOp || node.path_class != PathClass::kCompute) continue;
    double const known = factors.of(node);
    auto const own = static_cast<double>(weights.own[number]);
    all_ns += own;
    if (std::isnan(known)) unknown_ns += own;

    double const factor = std::isnan(known) ? factors.of_others() : known;
    weights.own[number] = HowMuch{factor, {}}.of(weights.own[number]);
    ++applied.changed;
  }

  double const unknown = all_ns > 0 ? unknown_ns / all_ns : 0;
  if (unknown > kUnknownWorkRefusal)
    applied.refusal = fmt::format(
        "{:.0f} % of the compute time is of kernels that the run behind --probe does not have: "
        "give a run of the same program with only this setting changed",
        unknown * 100);
  else if (unknown > kUnknownWorkCaution)
    applied.cautions.push_back(
        fmt::format("{:.1f} % of the compute time is of kernels that the probe does not have: they "
                    "change as the others together do",
                    unknown * 100));
}

void change_messages(double probe_work, double work, ReplayContext const& context,
                     ReplayWeights& weights, AppliedChange& applied) {
  auto const& message = context.probe->message;
  double const factor = message ? time_at_work(*message, probe_work, work) : work;
  for (ReplayTransfer const& transfer : transfers_of(context)) {
    if (!model::is_point_to_point(transfer.op)) continue;
    weights.own[transfer.node] = HowMuch{factor, {}}.of(weights.own[transfer.node]);
    ++applied.changed;
  }
}

void change_batch_copies(double share, ReplayContext const& context, ReplayWeights& weights) {
  for (uint32_t number = 1; number < context.graph.nodes.size(); ++number) {
    ReplayNode const& node = context.graph.nodes[number];
    if (node.kind != ReplayNodeKind::kOp || node.path_class != PathClass::kCopy) continue;
    model::Trace const& trace = trace_of(context, node);
    bool const is_memcpy = trace.kind(node.row) == model::EventKind::kMemcpy;
    if (is_memcpy &&
        trace.detail<model::CopyDetail>(node.row).direction == model::CopyDirection::kHostToDevice)
      weights.own[number] = HowMuch{share, {}}.of(weights.own[number]);
  }
}

}  // namespace stepscope::analyzer
