#include "analyzer/observe_process.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "analyzer/metrics/communication/collectives.h"
#include "analyzer/metrics/communication/negotiations.h"
#include "analyzer/metrics/communication/pipeline.h"
#include "analyzer/metrics/host/host_ops.h"
#include "analyzer/metrics/host/host_time.h"
#include "analyzer/metrics/host/long_gaps.h"
#include "analyzer/metrics/host/python_frames.h"
#include "analyzer/metrics/memory/memory.h"
#include "analyzer/metrics/telemetry/device_telemetry.h"
#include "analyzer/metrics/time/phases.h"
#include "analyzer/metrics/time/readiness.h"
#include "analyzer/metrics/work/attention_shape.h"
#include "analyzer/metrics/work/device_work.h"

namespace stepscope::analyzer {
namespace {

/// The part of one device's work that the options choose.
struct Selection {
  std::vector<StepStats> steps;
  std::vector<uint32_t> ops;
  Interval window;
  uint64_t outside_steps = 0;  ///< ops outside all steps
};

/// `window`: of all ops of the device.
Selection select(DeviceOps const& device, Interval window, DeviceSteps const& assigned,
                 AnalyzeOptions const& options) {
  Selection selection;
  auto const is_chosen = [&](StepStats const& step) {
    return !options.steps ||
           (options.steps->first <= step.step && step.step <= options.steps->second);
  };
  std::copy_if(assigned.steps.begin(), assigned.steps.end(), std::back_inserter(selection.steps),
               is_chosen);

  if (!options.steps) {
    auto const is_outside = [](int32_t step) { return step < 0; };
    selection.window = window;
    selection.ops = device.ops;
    selection.outside_steps = static_cast<uint64_t>(
        std::count_if(assigned.step_of_op.begin(), assigned.step_of_op.end(), is_outside));
    return selection;
  }

  for (size_t i = 0; i < device.ops.size(); ++i) {
    int32_t const step = assigned.step_of_op[i];
    if (step >= 0 && is_chosen(assigned.steps[static_cast<size_t>(step)]))
      selection.ops.push_back(device.ops[i]);
  }
  selection.window = selection.steps.empty() ? Interval{0, 0}
                                             : Interval{selection.steps.front().window.begin,
                                                        selection.steps.back().window.end};
  return selection;
}

void count_ops(DeviceOps const& device, std::vector<uint32_t> const& ops, DeviceStats& stats) {
  RowView const rows = device.rows();
  uint64_t copies = 0, collectives = 0, launches = 0;

  for (uint32_t const row : ops) {
    model::OpClass const op_class = rows.op_class(row);
    copies += op_class == model::OpClass::kCopy ? 1 : 0;
    collectives += op_class == model::OpClass::kComm ? 1 : 0;
    model::EventId const launch = rows.link(row);
    // A call that launched several ops links back to the first of them and counts once.
    launches += launch.valid() && rows.link(launch.value).value == row ? 1 : 0;
  }

  stats.copies += copies;
  stats.kernels += ops.size() - copies;
  stats.collectives += collectives;
  stats.launches += launches;
}

/// From the begin of the first host step to the end of the last: memory calls of the steps lie
/// here.
Interval host_window(std::vector<StepStats> const& steps) {
  Interval window = steps.empty() ? Interval{} : steps.front().host_window;
  for (StepStats const& step : steps)
    window = {std::min(window.begin, step.host_window.begin),
              std::max(window.end, step.host_window.end)};
  return window;
}

/// First begin to last end of the device window and the windows of its steps, which may begin
/// before the first op.
Interval explained_range(Interval window, std::vector<StepStats> const& steps) {
  for (StepStats const& step : steps) {
    window.begin = std::min(window.begin, step.window.begin);
    window.end = std::max(window.end, step.window.end);
  }
  return window;
}

/// Drops gaps and parts of gaps outside of the chosen window.
void clip_gaps(std::vector<IdleGap>& gaps, Interval window) {
  for (IdleGap& gap : gaps)
    gap.when = {std::max(gap.when.begin, window.begin), std::min(gap.when.end, window.end)};
  std::erase_if(gaps, [](IdleGap const& gap) { return gap.when.begin >= gap.when.end; });
}

/// Replaces rows of the skeleton by rows of the whole trace.
std::vector<PeerLaunch> in_whole(std::vector<PeerLaunch> peers, DeviceOps const& skeleton,
                                 DeviceOps const& whole) {
  if (skeleton.rank == whole.rank) return peers;

  std::vector<std::pair<uint32_t, uint32_t>> const rows = rows_in_whole(skeleton, whole);
  // The file changed between the two readings: no row of one can be found in the other.
  if (rows.empty()) return {};
  for (PeerLaunch& peer : peers) {
    auto const place = std::lower_bound(rows.begin(), rows.end(), std::pair(peer.row, uint32_t{0}));
    peer.row = place == rows.end() ? peer.row : place->second;
  }

  std::sort(peers.begin(), peers.end(),
            [](PeerLaunch const& a, PeerLaunch const& b) { return a.row < b.row; });
  return peers;
}

/// The devices of one process, one after the other.
class ProcessObserver {
 public:
  ProcessObserver(ProcessInput& input, std::span<DeviceOps const> devices,
                  AnalyzeOptions const& options)
      : input_(input),
        devices_(devices),
        options_(options),
        host_(input.rank,
              input.host_steps.threads[static_cast<size_t>(devices.front().ref.rank_index)]),
        memory_(memory_of_process(input.rank)),
        phases_(devices),
        python_frames_(input.rank),
        launch_places_(launch_places(input.rank)) {}

  /// Appends the numbers of a device to `results`. `place`: of the device in its process.
  DeviceWork observe(size_t place, Analysis& results) {
    DeviceOps const& device = devices_[place];
    KnownOfDevice& known = input_.known[place];
    DeviceWork work{device.ref, {}, {}, {}};
    DeviceSets sets;
    int64_t const latency_limit = find_sets(place, sets, work.delays);

    DeviceSteps assigned = assign_steps(device, input_.host_steps, options_.warmup_steps);
    Interval const window = op_window(device);
    Selection selection = select(device, window, assigned, options_);
    std::vector<PeerLaunch> const peers =
        in_whole(std::move(known.peers), input_.skeleton[place], device);
    std::vector<IdleGap> gaps = explain_gaps(
        device, sets.busy, explained_range(window, assigned.steps), host_, peers, latency_limit);
    compare_delays(known.collectives, sets, gaps, assigned.steps, input_.rank.trace, work.delays);
    if (known.pipeline_waits)
      work.bubble = find_bubble(std::move(*known.pipeline_waits), sets, gaps, input_.rank.trace);
    if (options_.steps) clip_gaps(gaps, selection.window);

    DeviceStats stats;
    stats.ref = device.ref;
    stats.name = device.name;
    stats.window = selection.window;
    stats.all_ops = window;
    stats.are_steps_by_time = assigned.are_by_time;
    stats.is_softmax_between_products =
        is_softmax_between_products(input_.rank.trace, device.ref.device);
    stats.other_work_in_long_gaps = other_work_in_long_gaps(input_.rank, gaps);
    python_frames_.count(stats, selection.steps);
    stats.memory = memory_of(device, selection.steps);
    stats.telemetry =
        telemetry_of(device, sets, selection.window, selection.steps, devices_.size() == 1);
    add_host_work(device, sets, selection, gaps, results);
    add_device_results(device, sets, std::move(selection), gaps, stats, results);
    stats.launch.latency_limit_ns = latency_limit;
    stats.unexplained = unexplained_facts(device, gaps);
    results.devices.push_back(std::move(stats));
    results.gaps.append(DeviceGaps(device.ref, gaps, is_in_memory()));

    work.worker = worker_ops_of(device, assigned, options_);
    return work;
  }

 private:
  /// False: rows of the whole trace mean nothing later, as only the skeleton stays.
  [[nodiscard]] bool is_in_memory() const { return devices_.data() == input_.skeleton.data(); }

  /// Fills the unions of the device's ops; returns its latency limit.
  int64_t find_sets(size_t place, DeviceSets& sets, DeviceDelays& delays) {
    DeviceOps const& device = devices_[place];
    sets = unite_ops(device);
    sets.exposed_wait = model::intersect(sets.exposed_comm, input_.known[place].waits);

    Readiness readiness = find_readiness(device, sets);
    sets.exposed_late = split_exposed_wait(input_.known[place].collectives, sets.exposed_comm,
                                           readiness.collectives, delays.exposed);
    sets.blocking_comm = std::move(readiness.blocking_comm);

    int64_t const latency_limit =
        launch_latency_limit(device, sets.busy, options_.launch_latency_limit_ns);
    add_unhidden(sets,
                 explain_late_launches(device, readiness.late_launches, host_, latency_limit));
    return latency_limit;
  }

  MemoryStats memory_of(DeviceOps const& device, std::vector<StepStats> const& steps) {
    std::vector<Interval> measured;
    for (StepStats const& step : steps)
      if (!step.warmup) measured.push_back(step.host_window);
    return memory_facts(device, memory_,
                        options_.steps ? std::optional(host_window(steps)) : std::nullopt,
                        measured);
  }

  /// What the host did: its phases, and its ops while the device was idle.
  void add_host_work(DeviceOps const& device, DeviceSets const& sets, Selection const& selection,
                     std::vector<IdleGap> const& gaps, Analysis& results) const {
    std::vector<HostOpStats> host_ops = host_op_table(device, gaps);
    std::move(host_ops.begin(), host_ops.end(), std::back_inserter(results.host_ops));

    auto const within = options_.steps ? std::optional(host_window(selection.steps)) : std::nullopt;
    std::vector<PhaseStats> phases = phases_.of_device(device, sets, selection.ops, within);
    std::move(phases.begin(), phases.end(), std::back_inserter(results.phases));
  }

  /// The device's time, steps and work. `stats`: has its window.
  void add_device_results(DeviceOps const& device, DeviceSets const& sets, Selection selection,
                          std::vector<IdleGap> const& gaps, DeviceStats& stats,
                          Analysis& results) const {
    stats.time = split_with_steps(sets, gaps, stats.window, selection.steps);
    count_ops(device, selection.ops, stats);
    std::stable_sort(selection.steps.begin(), selection.steps.end(),
                     [](StepStats const& a, StepStats const& b) { return a.step < b.step; });

    results.ops_outside_steps += selection.outside_steps;
    add_device_work(device, sets, launch_places_, selection.ops, stats, selection.steps, results);
    std::move(selection.steps.begin(), selection.steps.end(), std::back_inserter(results.steps));
  }

  ProcessInput& input_;
  std::span<DeviceOps const> devices_;  ///< of the whole trace
  AnalyzeOptions const& options_;
  HostActivity host_;
  ProcessMemory memory_;
  ProcessPhases phases_;
  PythonFrames python_frames_;
  std::vector<LaunchPlace> launch_places_;
};

}  // namespace

base::Expected<ObservedProcess> observe_process(ProcessInput input, AnalyzeOptions const& options) {
  int32_t const rank_index = input.skeleton.front().ref.rank_index;
  std::vector<DeviceOps> whole;
  if (&input.rank != input.skeleton.front().rank) whole = index_devices(input.rank, rank_index);
  std::span<DeviceOps const> const devices =
      whole.empty() ? input.skeleton : std::span<DeviceOps const>(whole);
  if (devices.size() != input.skeleton.size())
    return base::fail("{}: has changed while it was read", input.rank.file);

  ObservedProcess process;
  auto const is_idle = [](DeviceOps const& device) { return device.ops.empty(); };
  if (std::all_of(devices.begin(), devices.end(), is_idle))
    observe_host(input.rank, rank_index, input.host_steps, options, process.results);

  ProcessObserver observer(input, devices, options);
  for (size_t place = 0; place < devices.size(); ++place)
    process.work.push_back(observer.observe(place, process.results));
  return process;
}

void observe_host(model::RankTrace const& rank, int32_t rank_index, HostSteps const& host_steps,
                  AnalyzeOptions const& options, Analysis& results) {
  std::vector<std::vector<HostStep>> const& steps =
      host_steps.threads[static_cast<size_t>(rank_index)];
  if (auto host = host_facts(rank, rank_index, steps, options))
    results.hosts.push_back(std::move(*host));
  if (options.steps) return;
  if (auto negotiations = find_negotiations(rank, rank_index))
    results.negotiations.push_back(std::move(*negotiations));
}

}  // namespace stepscope::analyzer
