// analyze(): the order in which facts are computed, and what the options leave of them.
#include <algorithm>

#include "analyzer/analysis.h"
#include "analyzer/facts/collectives.h"
#include "analyzer/facts/critical_path.h"
#include "analyzer/facts/device_time.h"
#include "analyzer/facts/device_work.h"
#include "analyzer/facts/health.h"
#include "analyzer/facts/host_ops.h"
#include "analyzer/facts/idle_causes.h"
#include "analyzer/facts/links.h"
#include "analyzer/facts/memory.h"
#include "analyzer/facts/phases.h"
#include "analyzer/facts/pipeline.h"
#include "analyzer/facts/quality.h"
#include "analyzer/facts/readiness.h"
#include "analyzer/facts/step_detection.h"
#include "analyzer/facts/steps.h"
#include "analyzer/facts/wait_attribution.h"
#include "analyzer/rules/rule.h"

namespace stepscope::analyzer {
namespace {

/// What was asked for, of one device.
struct Selection {
  std::vector<StepFacts> steps;
  std::vector<uint32_t> ops;
  Interval window;
  uint64_t outside = 0;
};

Selection select(DeviceIndex const& device, DeviceSteps const& assigned, AnalyzeOptions const& options) {
  Selection selection;
  selection.window = op_window(device);
  auto const chosen = [&](StepFacts const& step) {
    return !options.steps || (options.steps->first <= step.step && step.step <= options.steps->second);
  };
  std::copy_if(assigned.steps.begin(), assigned.steps.end(), std::back_inserter(selection.steps), chosen);
  for (size_t i = 0; i < device.ops.size(); ++i) {
    int32_t const step = assigned.step_of_op[i];
    if (step < 0) ++selection.outside;
    if (!options.steps || (step >= 0 && chosen(assigned.steps[static_cast<size_t>(step)])))
      selection.ops.push_back(device.ops[i]);
  }
  if (options.steps) {
    selection.outside = 0;
    selection.window = selection.steps.empty()
                           ? Interval{0, 0}
                           : Interval{selection.steps.front().window.begin, selection.steps.back().window.end};
  }
  return selection;
}

void count_ops(DeviceIndex const& device, std::vector<uint32_t> const& ops, DeviceFacts& facts) {
  for (uint32_t const row : ops) {
    model::OpClass const op_class = model::kind_info(device.trace().kind(row)).op_class;
    ++(op_class == model::OpClass::kCopy ? facts.copies : facts.kernels);
    if (op_class == model::OpClass::kComm) ++facts.collectives;
    auto const launch = device.launch_of(row);
    if (launch && device.trace().columns().link[*launch].value == row) ++facts.launches;
  }
}

/// From the begin of the first host step to the end of the last: where the memory calls of steps are.
Interval host_window(std::vector<StepFacts> const& steps) {
  Interval window = steps.empty() ? Interval{} : steps.front().host_window;
  for (StepFacts const& step : steps)
    window = {std::min(window.begin, step.host_window.begin), std::max(window.end, step.host_window.end)};
  return window;
}

MemoryFacts memory_of(DeviceIndex const& device, ProcessMemory& of_process, std::vector<StepFacts> const& steps,
                      AnalyzeOptions const& options) {
  std::vector<Interval> measured;
  for (StepFacts const& step : steps)
    if (!step.warmup) measured.push_back(step.host_window);
  return memory_facts(device, of_process, options.steps ? std::optional(host_window(steps)) : std::nullopt, measured);
}

/// Computes a device's time, steps, gaps and work, and appends them to the analysis. `places`: of its process.
void add_device(DeviceIndex const& device, DeviceSets const& sets, std::vector<LaunchPlace> const& places, Selection selection,
                std::vector<IdleGap> gaps, Analysis& analysis) {
  DeviceFacts facts;
  facts.ref = device.ref;
  facts.name = device.name;
  facts.window = selection.window;
  facts.time = split_window(sets, facts.window);
  add_idle_causes(facts.time, facts.window, gaps);
  count_ops(device, selection.ops, facts);
  for (StepFacts& step : selection.steps) {
    step.time = split_window(sets, step.window);
    add_idle_causes(step.time, step.window, gaps);
  }
  std::stable_sort(selection.steps.begin(), selection.steps.end(),
                   [](StepFacts const& a, StepFacts const& b) { return a.step < b.step; });
  analysis.ops_outside_steps += selection.outside;
  add_device_work(device, sets, places, selection.ops, facts, selection.steps, analysis);
  analysis.devices.push_back(std::move(facts));
  std::move(selection.steps.begin(), selection.steps.end(), std::back_inserter(analysis.steps));
  std::move(gaps.begin(), gaps.end(), std::back_inserter(analysis.gaps));
}

/// What the host did: its phases, and what it did while the device was idle. `gaps`: of the device.
void add_host_facts(DeviceIndex const& device, DeviceSets const& sets, ProcessPhases const& phases, Selection const& selection,
                    std::vector<IdleGap> const& gaps, AnalyzeOptions const& options, Analysis& analysis) {
  std::vector<HostOpFacts> host_ops = host_op_table(device, gaps);
  std::move(host_ops.begin(), host_ops.end(), std::back_inserter(analysis.host_ops));
  auto const within = options.steps ? std::optional(host_window(selection.steps)) : std::nullopt;
  std::vector<PhaseFacts> of_device = phases.of_device(device, sets, selection.ops, within);
  std::move(of_device.begin(), of_device.end(), std::back_inserter(analysis.phases));
}

/// First begin to last end of the device window and the windows of its steps, which may begin before the first op.
Interval explained_range(Interval window, std::vector<StepFacts> const& steps) {
  for (StepFacts const& step : steps) {
    window.begin = std::min(window.begin, step.window.begin);
    window.end = std::max(window.end, step.window.end);
  }
  return window;
}

/// Gaps outside `window` say nothing about what was asked for.
void clip_gaps(std::vector<IdleGap>& gaps, Interval window) {
  for (IdleGap& gap : gaps) gap.when = {std::max(gap.when.begin, window.begin), std::min(gap.when.end, window.end)};
  std::erase_if(gaps, [](IdleGap const& gap) { return gap.when.begin >= gap.when.end; });
}

bool is_in(Interval window, int64_t instant) { return window.begin <= instant && instant < window.end; }

/// Collectives of which a participant lies in the facts of a chosen device.
void keep_chosen(std::vector<CollectiveFacts>& collectives, std::vector<DeviceFacts> const& devices) {
  std::erase_if(collectives, [&](CollectiveFacts const& facts) {
    return std::none_of(facts.participants.begin(), facts.participants.end(), [&](auto const& participant) {
      auto const at = std::lower_bound(devices.begin(), devices.end(), participant.ref,
                                       [](DeviceFacts const& d, DeviceRef ref) { return d.ref < ref; });
      return at != devices.end() && at->ref == participant.ref && is_in(at->window, participant.when.begin);
    });
  });
}

/// What rules measure of each device.
std::vector<MeasuredTime> measured_times(MeasuredSteps const& steps) {
  std::vector<MeasuredTime> times;
  for (MeasuredDevice const& device : steps.usual)
    times.push_back({device.ref, device.has_steps, device.periods, device.compute_ns});
  return times;
}

}  // namespace

Analysis analyze(model::Run const& run, AnalyzeOptions const& options) {
  Analysis analysis;
  std::vector<DeviceIndex> const devices = index_devices(run);
  HostSteps host_steps = find_host_steps(run);
  if (host_steps.source == StepSource::kNone) detect_steps(devices, host_steps);
  analysis.step_source = host_steps.source;
  analysis.step_confidence = host_steps.confidence;
  // Across all ranks, whatever was asked for: a wait is known only from the peers.
  analysis.collectives = match_collectives(devices);
  std::vector<std::vector<PeerLaunch>> const peers = peer_launches(analysis.collectives, devices);
  std::vector<model::IntervalSet> const waits = wait_times(analysis.collectives, devices);
  WaitAttribution attribution(analysis.collectives);
  PipelineFinder pipelines(analysis.collectives);

  for (size_t first = 0, last = 0; first < devices.size(); first = last) {  // one process after the other
    model::RankTrace const& rank = *devices[first].rank;
    while (last < devices.size() && devices[last].rank == &rank) ++last;
    if (options.rank && rank.trace.info().rank != *options.rank) continue;
    HostActivity host(rank, host_steps.threads[static_cast<size_t>(devices[first].ref.rank_index)]);
    ProcessMemory memory = memory_of_process(rank);
    ProcessPhases const phases(std::span<DeviceIndex const>(devices).subspan(first, last - first));
    std::vector<LaunchPlace> const places = launch_places(rank);
    for (size_t d = first; d < last; ++d) {
      DeviceIndex const& device = devices[d];
      DeviceSets sets = unite_ops(device);
      sets.exposed_wait = model::intersect(sets.exposed_comm, waits[d]);
      Readiness readiness = find_readiness(device, sets);
      sets.blocking_comm = std::move(readiness.blocking_comm);
      add_unhidden(sets, explain_late_launches(device, readiness.late_launches, host, options.launch_latency_limit_ns));
      DeviceSteps const assigned = assign_steps(device, host_steps, options.warmup_steps);
      Selection selection = select(device, assigned, options);
      Interval const range = explained_range(op_window(device), assigned.steps);
      std::vector<IdleGap> gaps = explain_gaps(device, sets.busy, range, host, peers[d], options.launch_latency_limit_ns);
      sets.exposed_late = attribution.add_device(device.ref, sets, gaps, assigned.steps, device.trace());
      pipelines.add_device(device.ref, sets, gaps, device.trace());
      if (options.steps) clip_gaps(gaps, selection.window);
      add_host_facts(device, sets, phases, selection, gaps, options, analysis);
      MemoryFacts of_device = memory_of(device, memory, selection.steps, options);
      auto health = health_of(device, sets, selection.window, selection.steps, last - first == 1);
      add_device(device, sets, places, std::move(selection), std::move(gaps), analysis);
      analysis.devices.back().memory = std::move(of_device);
      analysis.devices.back().health = std::move(health);
    }
  }
  compare_clocks(analysis.devices);
  MeasuredSteps const steps = measure_steps(analysis);
  std::vector<MeasuredTime> const measured = measured_times(steps);
  analysis.waits = attribution.charge(measured);
  analysis.pipelines = pipelines.find(measured);
  analysis.critical_path = find_critical_path(
      {devices, host_steps, analysis.collectives, analysis.devices, analysis.steps, options.launch_latency_limit_ns});
  if (options.rank || options.steps) keep_chosen(analysis.collectives, analysis.devices);
  analysis.links = fit_links(analysis.collectives);
  analysis.quality = judge_quality(run);
  analysis.findings = find_all(run, analysis, steps);
  return analysis;
}

}  // namespace stepscope::analyzer
