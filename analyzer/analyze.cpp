// analyze(): the order in which facts are computed, and what the options leave of them. What one process tells is computed for
// some processes at once; what compares them, one after the other, in their order.
#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <span>

#include <tbb/info.h>
#include <tbb/parallel_invoke.h>
#include <tbb/parallel_pipeline.h>

#include "analyzer/metrics/communication/alpha_beta_fit.h"
#include "analyzer/metrics/communication/collectives.h"
#include "analyzer/metrics/communication/negotiations.h"
#include "analyzer/metrics/communication/pipeline.h"
#include "analyzer/metrics/communication/wait_attribution.h"
#include "analyzer/metrics/critical_path/critical_path.h"
#include "analyzer/metrics/critical_path/streamed_path.h"
#include "analyzer/metrics/host/host_ops.h"
#include "analyzer/metrics/host/host_time.h"
#include "analyzer/metrics/host/idle_causes.h"
#include "analyzer/metrics/memory/memory.h"
#include "analyzer/metrics/steps/step_detection.h"
#include "analyzer/metrics/steps/steps.h"
#include "analyzer/metrics/telemetry/device_telemetry.h"
#include "analyzer/metrics/telemetry/trace_integrity.h"
#include "analyzer/metrics/time/device_time.h"
#include "analyzer/metrics/time/phases.h"
#include "analyzer/metrics/time/readiness.h"
#include "analyzer/metrics/work/device_work.h"
#include "analyzer/results/analysis.h"
#include "analyzer/rules/gain_limits.h"
#include "analyzer/rules/rule.h"
#include "trace/model/build/row_copy.h"

namespace stepscope::analyzer {
namespace {

/// What was asked for, of one device.
struct Selection {
  std::vector<StepStats> steps;
  std::vector<uint32_t> ops;
  Interval window;
  uint64_t outside = 0;
};

/// `window`: of all its ops.
Selection select(DeviceOps const& device, Interval window, DeviceSteps const& assigned, AnalyzeOptions const& options) {
  Selection selection;
  selection.window = window;
  auto const chosen = [&](StepStats const& step) {
    return !options.steps || (options.steps->first <= step.step && step.step <= options.steps->second);
  };
  std::copy_if(assigned.steps.begin(), assigned.steps.end(), std::back_inserter(selection.steps), chosen);
  if (!options.steps) {
    selection.ops = device.ops;
    auto const is_outside = [](int32_t step) { return step < 0; };
    selection.outside = static_cast<uint64_t>(std::count_if(assigned.step_of_op.begin(), assigned.step_of_op.end(), is_outside));
  } else {
    for (size_t i = 0; i < device.ops.size(); ++i) {
      int32_t const step = assigned.step_of_op[i];
      if (step >= 0 && chosen(assigned.steps[static_cast<size_t>(step)])) selection.ops.push_back(device.ops[i]);
    }
    selection.window = selection.steps.empty()
                           ? Interval{0, 0}
                           : Interval{selection.steps.front().window.begin, selection.steps.back().window.end};
  }
  return selection;
}

void count_ops(DeviceOps const& device, std::vector<uint32_t> const& ops, DeviceStats& facts) {
  RowView const rows = device.rows();
  uint64_t copies = 0, collectives = 0, launches = 0;
  for (uint32_t const row : ops) {
    model::OpClass const op_class = rows.op_class(row);
    copies += op_class == model::OpClass::kCopy ? 1 : 0;
    collectives += op_class == model::OpClass::kComm ? 1 : 0;
    model::EventId const launch = rows.link(row);
    launches += launch.valid() && rows.link(launch.value).value == row ? 1 : 0;
  }
  facts.copies += copies;
  facts.kernels += ops.size() - copies;
  facts.collectives += collectives;
  facts.launches += launches;
}

/// From the begin of the first host step to the end of the last: where the memory calls of steps are.
Interval host_window(std::vector<StepStats> const& steps) {
  Interval window = steps.empty() ? Interval{} : steps.front().host_window;
  for (StepStats const& step : steps)
    window = {std::min(window.begin, step.host_window.begin), std::max(window.end, step.host_window.end)};
  return window;
}

MemoryStats memory_of(DeviceOps const& device, ProcessMemory& of_process, std::vector<StepStats> const& steps,
                      AnalyzeOptions const& options) {
  std::vector<Interval> measured;
  for (StepStats const& step : steps)
    if (!step.warmup) measured.push_back(step.host_window);
  return memory_facts(device, of_process, options.steps ? std::optional(host_window(steps)) : std::nullopt, measured);
}

/// Computes a device's time, steps, gaps and work, and appends them to the analysis. `places`: of its process.
void add_device(DeviceOps const& device, DeviceSets const& sets, std::vector<LaunchPlace> const& places, Selection selection,
                std::vector<IdleGap> const& gaps, Analysis& analysis) {
  DeviceStats facts;
  facts.ref = device.ref;
  facts.name = device.name;
  facts.window = selection.window;
  facts.time = split_with_steps(sets, gaps, facts.window, selection.steps);
  count_ops(device, selection.ops, facts);
  std::stable_sort(selection.steps.begin(), selection.steps.end(),
                   [](StepStats const& a, StepStats const& b) { return a.step < b.step; });
  analysis.ops_outside_steps += selection.outside;
  add_device_work(device, sets, places, selection.ops, facts, selection.steps, analysis);
  analysis.devices.push_back(std::move(facts));
  std::move(selection.steps.begin(), selection.steps.end(), std::back_inserter(analysis.steps));
}

/// What the host did: its phases, and what it did while the device was idle. `gaps`: of the device.
void add_host_facts(DeviceOps const& device, DeviceSets const& sets, ProcessPhases const& phases, Selection const& selection,
                    std::vector<IdleGap> const& gaps, AnalyzeOptions const& options, Analysis& analysis) {
  std::vector<HostOpStats> host_ops = host_op_table(device, gaps);
  std::move(host_ops.begin(), host_ops.end(), std::back_inserter(analysis.host_ops));
  auto const within = options.steps ? std::optional(host_window(selection.steps)) : std::nullopt;
  std::vector<PhaseStats> of_device = phases.of_device(device, sets, selection.ops, within);
  std::move(of_device.begin(), of_device.end(), std::back_inserter(analysis.phases));
}

/// First begin to last end of the device window and the windows of its steps, which may begin before the first op.
Interval explained_range(Interval window, std::vector<StepStats> const& steps) {
  for (StepStats const& step : steps) {
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
void keep_chosen(std::vector<CollectiveStats>& collectives, std::vector<DeviceStats> const& devices) {
  std::erase_if(collectives, [&](CollectiveStats const& facts) {
    return std::none_of(facts.participants.begin(), facts.participants.end(), [&](auto const& participant) {
      auto const at = std::lower_bound(devices.begin(), devices.end(), participant.ref,
                                       [](DeviceStats const& d, DeviceRef ref) { return d.ref < ref; });
      return at != devices.end() && at->ref == participant.ref && is_in(at->window, participant.when.begin);
    });
  });
}

/// What rules measure of each device.
std::vector<MeasuredTime> measured_times(MeasuredSteps const& steps) {
  std::vector<MeasuredTime> times;
  for (MeasuredDevice const& device : steps.steady)
    times.push_back({device.ref, device.has_steps, device.periods, device.compute_ns});
  return times;
}

/// What a device did, for those who compare devices.
struct DeviceWork {
  DeviceRef ref;
  DeviceSets sets;
  std::vector<IdleGap> gaps;     ///< of all its time
  std::vector<StepStats> steps;  ///< all
};

/// What one process tells.
struct ProcessPart {
  std::shared_ptr<model::RankTrace const> rank;
  std::vector<DeviceWork> work;
  Analysis facts;  ///< of its devices alone
};

template <class Row>
void append_all(std::vector<Row>& from, std::vector<Row>& to) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

void append_facts(Analysis from, Analysis& to) {
  to.ops_outside_steps += from.ops_outside_steps;
  append_all(from.devices, to.devices);
  append_all(from.steps, to.steps);
  to.gaps.append(std::move(from.gaps));
  append_all(from.host_ops, to.host_ops);
  append_all(from.phases, to.phases);
  append_all(from.hosts, to.hosts);
  append_all(from.negotiations, to.negotiations);
  append_all(from.kernels, to.kernels);
  append_all(from.ops, to.ops);
  append_all(from.graphs, to.graphs);
  append_all(from.copies, to.copies);
}

/// By rows of the whole instead of rows of the outline.
std::vector<PeerLaunch> in_whole(std::vector<PeerLaunch> peers, DeviceOps const& outline, DeviceOps const& whole) {
  if (outline.rank == whole.rank) return peers;
  std::vector<std::pair<uint32_t, uint32_t>> const rows = rows_in_whole(outline, whole);
  // The file was changed between the two readings: no row of one can be found in the other.
  if (rows.empty()) return {};
  for (PeerLaunch& peer : peers) {
    auto const place = std::lower_bound(rows.begin(), rows.end(), std::pair(peer.row, uint32_t{0}));
    peer.row = place == rows.end() ? peer.row : place->second;
  }

  std::sort(peers.begin(), peers.end(), [](PeerLaunch const& a, PeerLaunch const& b) { return a.row < b.row; });
  return peers;
}

/// Whether of any device op it is known which call launched it, or a device marks its steps itself.
bool has_launches(std::vector<DeviceOps> const& devices) {
  return std::any_of(devices.begin(), devices.end(), [](DeviceOps const& device) {
    RowView const rows = device.rows();
    auto const tracks = device.trace().tracks();
    bool const marks_steps = std::any_of(tracks.begin(), tracks.end(), [&](model::Track const& track) {
      return track.kind == model::TrackKind::kThread && track.device == device.ref.device;
    });
    return marks_steps || std::any_of(device.ops.begin(), device.ops.end(), [&](uint32_t row) { return rows.link(row).valid(); });
  });
}

/// The processes of a run as analyze() reads them.
struct Processes {
  using Whole = base::Expected<std::shared_ptr<model::RankTrace const>>;
  model::Run const& outline;
  std::function<Whole(size_t process)> read;
};

class RunAnalyzer {
 public:
  RunAnalyzer(Processes const& processes, AnalyzeOptions const& options)
      : processes_(processes), options_(options), devices_(index_devices(processes.outline)) {
    host_steps_ = find_host_steps(processes.outline);
    // Marked steps tell nothing of devices whose launches are not recorded.
    if (host_steps_.source == StepSource::kNone || !has_launches(devices_)) detect_steps(devices_, host_steps_);
    analysis_.step_source = host_steps_.source;
    analysis_.step_confidence = host_steps_.confidence;
    analysis_.layers = host_steps_.layers;
    // Across all ranks, whatever was asked for: a wait is known only from the peers.
    analysis_.collectives = match_collectives(devices_);
    tbb::parallel_invoke([&] { peers_ = peer_launches(analysis_.collectives, devices_); },
                         [&] { waits_ = wait_times(analysis_.collectives, devices_); },
                         [&] { attribution_.emplace(analysis_.collectives); },
                         [&] { pipelines_.emplace(analysis_.collectives); });
  }

  /// What each process tells: then facts() has devices, steps and collectives.
  std::optional<base::Error> look_at_processes() {
    WaitAttribution& attribution = *attribution_;
    std::vector<std::span<DeviceOps const>> const groups = chosen_groups();
    std::optional<base::Error> error;  // of the first process that cannot be read
    size_t next = 0;
    auto const take = [&](tbb::flow_control& control) -> size_t {
      if (next == groups.size() || stop_) control.stop();
      return next == groups.size() ? 0 : next++;
    };
    using Part = std::shared_ptr<base::Expected<ProcessPart>>;
    auto const look = [&](size_t group) {
      return std::make_shared<base::Expected<ProcessPart>>(part_of(groups[group], attribution));
    };
    auto const compare = [&](Part const& part) {
      if (!*part) {
        if (!error) error = part->error();
        stop_ = true;
        return;
      }
      model::Trace const& trace = (*part)->rank->trace;
      for (DeviceWork const& work : (*part)->work) {
        attribution.add_device(work.ref, work.sets, work.gaps, work.steps, trace);
        pipelines_->add_device(work.ref, work.sets, work.gaps, trace);
      }
      append_facts(std::move((*part)->facts), analysis_);
    };
    tbb::parallel_pipeline(processes_at_once(), tbb::make_filter<void, size_t>(tbb::filter_mode::serial_in_order, take) &
                                                    tbb::make_filter<size_t, Part>(tbb::filter_mode::parallel, look) &
                                                    tbb::make_filter<Part, void>(tbb::filter_mode::serial_in_order, compare));
    return error ? error : look_at_hosts();
  }

  using Path = base::Expected<std::optional<CriticalPathStats>>;
  /// What compares processes, and the critical path: find_path() gets it from facts(). Gives the analysis away: to be called
  /// once. Errors: those of find_path().
  base::Expected<Analysis> finish(std::function<Path()> const& find_path) {
    bool const is_part = options_.rank || options_.steps;
    Path path;
    auto const follow_path = [&] { path = find_path(); };
    auto const compare = [&] {
      compare_devices();
      if (is_part) keep_chosen(analysis_.collectives, analysis_.devices);
      judge();
    };
    // Of a part the path needs the collectives, too, that are not kept.
    if (is_part) {
      follow_path();
      compare();
    } else {
      tbb::parallel_invoke(follow_path, compare);
    }
    if (!path) return base::fail_with(path);
    analysis_.critical_path = std::move(*path);
    put_bottleneck_first(analysis_);
    return std::move(analysis_);
  }

  [[nodiscard]] std::vector<DeviceOps> const& devices() const { return devices_; }
  [[nodiscard]] HostSteps const& host_steps() const { return host_steps_; }
  [[nodiscard]] Analysis const& facts() const { return analysis_; }

 private:
  /// The processes that have no device at all.
  std::optional<base::Error> look_at_hosts() {
    std::vector<bool> has_device(processes_.outline.ranks.size());
    for (DeviceOps const& device : devices_) has_device[static_cast<size_t>(device.ref.rank_index)] = true;
    for (size_t process = 0; process < has_device.size(); ++process) {
      bool const is_chosen = !options_.rank || processes_.outline.ranks[process].trace.info().rank == *options_.rank;
      if (has_device[process] || !is_chosen) continue;
      auto const rank = processes_.read(process);
      if (!rank) return rank.error();
      add_host(**rank, static_cast<int32_t>(process), analysis_);
    }
    std::stable_sort(analysis_.hosts.begin(), analysis_.hosts.end(),
                     [](HostStats const& a, HostStats const& b) { return a.rank_index < b.rank_index; });
    return std::nullopt;
  }

  void add_host(model::RankTrace const& rank, int32_t rank_index, Analysis& facts) const {
    std::vector<std::vector<HostStep>> const& steps = host_steps_.threads[static_cast<size_t>(rank_index)];
    if (auto host = host_facts(rank, rank_index, steps, options_)) facts.hosts.push_back(std::move(*host));
    if (options_.steps) return;
    if (auto negotiations = find_negotiations(rank, rank_index)) facts.negotiations.push_back(std::move(*negotiations));
  }

  void compare_devices() {
    compare_clocks(analysis_.devices);
    steps_ = measure_steps(analysis_);
    std::vector<MeasuredTime> const measured = measured_times(steps_);
    analysis_.waits = attribution_->attribute_waits(measured);
    attribution_.reset();
    analysis_.pipelines = pipelines_->find(measured);
    pipelines_.reset();
  }

  void judge() {
    analysis_.links = fit_links(analysis_.collectives);
    analysis_.integrity = judge_quality(processes_.outline);
    auto const is_by_time = [](DeviceStats const& device) { return device.are_steps_by_time; };
    if (std::any_of(analysis_.devices.begin(), analysis_.devices.end(), is_by_time))
      analysis_.integrity.notes.emplace_back(
          "of a device no launch is recorded: each of its operations counts to the step in whose time it began, which is a later "
          "one where the "
          "device "
          "lags behind the host");
    analysis_.findings = find_all(processes_.outline, analysis_, steps_);
  }

  /// The devices of each process that was asked for.
  std::vector<std::span<DeviceOps const>> chosen_groups() const {
    std::vector<std::span<DeviceOps const>> groups;
    for (size_t first = 0, last = 0; first < devices_.size(); first = last) {
      while (last < devices_.size() && devices_[last].ref.rank_index == devices_[first].ref.rank_index) ++last;
      if (!options_.rank || devices_[first].trace().info().rank == *options_.rank)
        groups.push_back(std::span(devices_).subspan(first, last - first));
    }
    return groups;
  }

  /// `outline`: the devices of a process. From several threads at once.
  base::Expected<ProcessPart> part_of(std::span<DeviceOps const> outline, WaitAttribution const& attribution) const {
    int32_t const rank_index = outline.front().ref.rank_index;
    auto rank = processes_.read(static_cast<size_t>(rank_index));
    if (!rank) return base::fail_with(rank);
    ProcessPart part{std::move(*rank), {}, {}};
    std::vector<DeviceOps> whole;
    if (part.rank.get() != outline.front().rank) whole = index_devices(*part.rank, rank_index);
    std::span<DeviceOps const> const devices = whole.empty() ? outline : std::span<DeviceOps const>(whole);
    if (devices.size() != outline.size()) return base::fail("{}: has changed while it was read", part.rank->file);
    auto const is_idle = [](DeviceOps const& device) { return device.ops.empty(); };
    if (std::all_of(devices.begin(), devices.end(), is_idle)) add_host(*part.rank, rank_index, part.facts);
    auto const first = static_cast<size_t>(outline.data() - devices_.data());
    HostActivity host(*part.rank, host_steps_.threads[static_cast<size_t>(rank_index)]);
    ProcessMemory memory = memory_of_process(*part.rank);
    ProcessPhases const phases(devices);
    std::vector<LaunchPlace> const places = launch_places(*part.rank);
    for (size_t d = 0; d < devices.size(); ++d) {
      DeviceOps const& device = devices[d];
      DeviceSets sets = unite_ops(device);
      sets.exposed_wait = model::intersect(sets.exposed_comm, waits_[first + d]);
      Readiness readiness = find_readiness(device, sets);
      sets.exposed_late = attribution.split_exposed_wait(device.ref, sets.exposed_comm, readiness.collectives);
      sets.blocking_comm = std::move(readiness.blocking_comm);
      int64_t const latency_limit = launch_latency_limit(device, sets.busy, options_.launch_latency_limit_ns);
      add_unhidden(sets, explain_late_launches(device, readiness.late_launches, host, latency_limit));
      DeviceSteps assigned = assign_steps(device, host_steps_, options_.warmup_steps);
      bool const are_steps_by_time = assigned.are_by_time;
      Interval const window = op_window(device);
      Selection selection = select(device, window, assigned, options_);
      Interval const range = explained_range(window, assigned.steps);
      std::vector<PeerLaunch> const peers = in_whole(peers_[first + d], outline[d], device);
      std::vector<IdleGap> gaps = explain_gaps(device, sets.busy, range, host, peers, latency_limit);
      DeviceWork& work = part.work.emplace_back(DeviceWork{device.ref, {}, {}, std::move(assigned.steps)});
      if (options_.steps) {
        work.gaps = gaps;
        clip_gaps(gaps, selection.window);
      }
      add_host_facts(device, sets, phases, selection, gaps, options_, part.facts);
      MemoryStats of_device = memory_of(device, memory, selection.steps, options_);
      auto telemetry = telemetry_of(device, sets, selection.window, selection.steps, devices.size() == 1);
      add_device(device, sets, places, std::move(selection), gaps, part.facts);
      part.facts.gaps.append(DeviceGaps(device.ref, gaps, whole.empty()));
      DeviceStats& facts = part.facts.devices.back();
      facts.all_ops = window;
      facts.are_steps_by_time = are_steps_by_time;
      facts.launch.latency_limit_ns = latency_limit;
      facts.unexplained = unexplained_facts(device, gaps);
      facts.memory = std::move(of_device);
      facts.telemetry = std::move(telemetry);
      work.sets = std::move(sets);
      if (!options_.steps) work.gaps = std::move(gaps);
    }
    return part;
  }

  Processes const& processes_;
  AnalyzeOptions const& options_;
  std::vector<DeviceOps> devices_;  ///< of the outline
  HostSteps host_steps_;
  Analysis analysis_;
  std::vector<std::vector<PeerLaunch>> peers_;
  std::vector<model::IntervalSet> waits_;
  std::optional<WaitAttribution> attribution_;
  std::optional<PipelineFinder> pipelines_;
  MeasuredSteps steps_;
  std::atomic<bool> stop_ = false;
};

}  // namespace

size_t processes_at_once() {
  constexpr int kMost = 8;
  return static_cast<size_t>(std::clamp(tbb::info::default_concurrency(), 1, kMost));
}

bool has_marked_steps(model::Run const& outline) { return find_host_steps(outline).source != StepSource::kNone; }

Analysis analyze(model::Run const& run, AnalyzeOptions const& options) {
  using Whole = std::shared_ptr<model::RankTrace const>;
  Processes const processes{run, [&](size_t process) { return Processes::Whole(Whole(Whole(), &run.ranks[process])); }};
  RunAnalyzer analyzer(processes, options);
  static_cast<void>(analyzer.look_at_processes());  // what is in memory can be read
  Analysis const& facts = analyzer.facts();
  auto const read_window = [&](size_t process, Interval window) -> base::Expected<model::RankTrace> {
    model::RankTrace const& rank = run.ranks[process];
    Interval const of_trace{window.begin - rank.offset_ns, window.end - rank.offset_ns};
    return model::RankTrace{model::window_of(rank.trace, of_trace), rank.offset_ns, rank.file, rank.drift};
  };
  auto const find_path = [&]() -> RunAnalyzer::Path {
    if (!is_path_of_all(run, facts))
      return find_streamed_path({run, {}, read_window}, {analyzer.devices(), analyzer.host_steps(), facts}, options);
    return find_critical_path({analyzer.devices(), analyzer.host_steps(), facts.collectives, facts.devices, facts.steps,
                               options.launch_latency_limit_ns});
  };
  return *analyzer.finish(find_path);
}

base::Expected<Analysis> analyze(StreamedRun const& run, AnalyzeOptions const& options) {
  using Whole = std::shared_ptr<model::RankTrace const>;
  Processes const processes{run.outline, [&](size_t process) -> Processes::Whole {
                              auto rank = run.read(process);
                              if (!rank) return base::fail_with(rank);
                              return Whole(std::make_shared<model::RankTrace const>(std::move(*rank)));
                            }};
  RunAnalyzer analyzer(processes, options);
  if (auto error = analyzer.look_at_processes()) return base::fail("{}", error->message);
  return analyzer.finish([&] {
    return find_streamed_path(run, {analyzer.devices(), analyzer.host_steps(), analyzer.facts()}, options);
  });
}

}  // namespace stepscope::analyzer
