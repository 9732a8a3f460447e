// The analysis in four phases: observe each process by itself, attribute waiting to the devices
// that cause it, summarise the run, judge it. Some processes are observed at once; what compares
// them takes them one after the other, in their order.
#include "analyzer/analyze.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <tbb/info.h>
#include <tbb/parallel_invoke.h>
#include <tbb/parallel_pipeline.h>

#include "analyzer/metrics/communication/alpha_beta_fit.h"
#include "analyzer/metrics/communication/collectives.h"
#include "analyzer/metrics/communication/pipeline.h"
#include "analyzer/metrics/communication/wait_attribution.h"
#include "analyzer/metrics/critical_path/critical_path.h"
#include "analyzer/metrics/critical_path/path_part.h"
#include "analyzer/metrics/critical_path/streamed_path.h"
#include "analyzer/metrics/pipeline/slowdown.h"
#include "analyzer/metrics/steps/step_detection.h"
#include "analyzer/metrics/steps/steps.h"
#include "analyzer/metrics/telemetry/device_telemetry.h"
#include "analyzer/metrics/telemetry/trace_integrity.h"
#include "analyzer/observe_process.h"
#include "analyzer/rules/gain_limits.h"
#include "analyzer/rules/rule.h"
#include "analyzer/rules/sums.h"
#include "analyzer/whatif/whatif.h"

namespace stepscope::analyzer {
namespace {

/// Keeps the collectives in which a chosen device took part within its window.
void keep_chosen(std::vector<CollectiveStats>& collectives,
                 std::vector<DeviceStats> const& devices) {
  auto const is_chosen = [&](CollectiveStats::Participant const& participant) {
    auto const at =
        std::lower_bound(devices.begin(), devices.end(), participant.ref,
                         [](DeviceStats const& d, DeviceRef ref) { return d.ref < ref; });
    return at != devices.end() && at->ref == participant.ref &&
           at->window.begin <= participant.when.begin && participant.when.begin < at->window.end;
  };

  std::erase_if(collectives, [&](CollectiveStats const& collective) {
    return std::none_of(collective.participants.begin(), collective.participants.end(), is_chosen);
  });
}

/// What rules measure of each device.
std::vector<MeasuredTime> measured_times(MeasuredSteps const& steps) {
  std::vector<MeasuredTime> times;
  for (MeasuredDevice const& device : steps.steady)
    times.push_back({device.ref, device.has_steps, device.periods, device.compute_ns});
  return times;
}

template <class Row>
void append_all(std::vector<Row>& from, std::vector<Row>& to) {
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

void append_results(Analysis from, Analysis& to) {
  append_all(from.devices, to.devices);
  append_all(from.steps, to.steps);
  to.ops_outside_steps += from.ops_outside_steps;

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

/// The processes of a run as analyze() reads them.
struct Processes {
  using Whole = base::Expected<std::shared_ptr<model::RankTrace const>>;
  model::Run const& skeleton;
  std::function<Whole(size_t process)> read;
  ProcessObservers observers;  ///< may be empty
};

class RunAnalyzer {
 public:
  using Path = base::Expected<std::optional<CriticalPathStats>>;

  RunAnalyzer(Processes const& processes, AnalyzeOptions const& options)
      : processes_(processes), options_(options), devices_(index_devices(processes.skeleton)) {}

  /// Phase 1. Everything that is found without comparing devices. Then results() has devices, steps
  /// and collectives. Errors: those of reading.
  std::optional<base::Error> observe() {
    observe_skeletons();
    narrow_to_slice();
    auto error = processes_.observers ? observe_elsewhere() : observe_here();
    peers_ = {};
    waits_ = {};
    return error;
  }

  /// Phases 2 to 4, once, after observe(). `find_path` gets the critical path from results().
  /// Errors: those of find_path().
  base::Expected<Analysis> finish(std::function<Path()> const& find_path) {
    bool const is_part = options_.rank || options_.steps;
    results_.is_of_chosen_steps = options_.steps.has_value();
    Path path;
    auto const follow_path = [&] { path = find_path(); };
    auto const conclude = [&] {
      attribute();
      if (is_part) keep_chosen(results_.collectives, results_.devices);
      summarise();
      judge();
    };

    // The path of a part needs also the collectives that keep_chosen() drops.
    if (is_part) {
      follow_path();
      conclude();
    } else {
      tbb::parallel_invoke(follow_path, conclude);
    }

    if (!path) return base::fail_with(path);
    if (!is_of_sums(processes_.skeleton)) results_.critical_path = std::move(*path);
    put_bottleneck_first(results_);
    return std::move(results_);
  }

  [[nodiscard]] std::vector<DeviceOps> const& devices() const { return devices_; }
  [[nodiscard]] HostSteps const& host_steps() const { return host_steps_; }
  /// The options as asked for; after observe() with the steps of a slice.
  [[nodiscard]] AnalyzeOptions const& options() const { return options_; }
  [[nodiscard]] Analysis const& results() const { return results_; }

 private:
  /// Steps and collectives: the skeletons of all processes suffice.
  void observe_skeletons() {
    host_steps_ = find_steps(processes_.skeleton, devices_);
    results_.step_source = host_steps_.source;
    results_.step_confidence = host_steps_.confidence;
    results_.layers = host_steps_.layers;

    // Across all ranks, whatever the options choose: a wait is known only from the peers.
    results_.collectives = match_collectives(devices_);
    tbb::parallel_invoke([&] { peers_ = peer_launches(results_.collectives, devices_); },
                         [&] { waits_ = wait_times(results_.collectives, devices_); },
                         [&] { attribution_.emplace(results_.collectives); },
                         [&] { pipelines_.emplace(results_.collectives); });
  }

  /// A slice is analyzed as the steps that it was made for: others are in it for what led to them.
  /// One of a time without a whole step was made for none, and all of it counts.
  void narrow_to_slice() {
    if (options_.steps) return;
    std::optional<std::pair<int64_t, int64_t>> wanted;
    bool is_any_there = false;
    for (size_t process = 0; process < host_steps_.threads.size(); ++process) {
      model::WholeSteps const& slice = processes_.skeleton.ranks[process].trace.info().whole_steps;
      for (std::vector<HostStep> const& steps : host_steps_.threads[process]) {
        if (steps.empty()) continue;
        std::pair const chosen(slice.chosen_first, slice.chosen_last);
        if (!slice.has_choice() || wanted.value_or(chosen) != chosen) return;
        wanted = chosen;
        is_any_there =
            is_any_there || std::any_of(steps.begin(), steps.end(), [&](HostStep const& step) {
              return chosen.first <= step.index && step.index <= chosen.second;
            });
      }
    }

    if (is_any_there) options_.steps = wanted;
  }

  std::optional<base::Error> observe_here() {
    if (auto error = observe_devices()) return error;
    return observe_hosts();
  }

  /// The processes with devices, several at once. Each leaves memory as soon as its numbers are
  /// taken.
  std::optional<base::Error> observe_devices() {
    std::vector<std::span<DeviceOps const>> const groups = chosen_groups();
    std::optional<base::Error> error;  // of the first process that cannot be read
    size_t next = 0;
    using Observed = std::shared_ptr<base::Expected<ObservedProcess>>;

    auto const take = [&](tbb::flow_control& control) -> size_t {
      if (next == groups.size() || stop_) control.stop();
      return next == groups.size() ? 0 : next++;
    };
    auto const observe = [&](size_t group) {
      return std::make_shared<base::Expected<ObservedProcess>>(observe_group(groups[group]));
    };
    auto const keep = [&](Observed const& observed) {
      if (*observed) {
        keep_observed(std::move(**observed));
        return;
      }
      if (!error) error = observed->error();
      stop_ = true;
    };

    tbb::parallel_pipeline(
        processes_at_once(),
        tbb::make_filter<void, size_t>(tbb::filter_mode::serial_in_order, take) &
            tbb::make_filter<size_t, Observed>(tbb::filter_mode::parallel, observe) &
            tbb::make_filter<Observed, void>(tbb::filter_mode::serial_in_order, keep));
    return error;
  }

  /// The devices of each process that the options choose.
  std::vector<std::span<DeviceOps const>> chosen_groups() const {
    std::vector<std::span<DeviceOps const>> groups;
    for (size_t first = 0, last = 0; first < devices_.size(); first = last) {
      while (last < devices_.size() &&
             devices_[last].ref.rank_index == devices_[first].ref.rank_index)
        ++last;
      if (!options_.rank || devices_[first].trace().info().rank == *options_.rank)
        groups.push_back(std::span(devices_).subspan(first, last - first));
    }
    return groups;
  }

  /// What the skeletons tell about the devices of a process.
  std::vector<KnownOfDevice> known_of(std::span<DeviceOps const> skeleton) const {
    std::vector<KnownOfDevice> known;
    auto const first = static_cast<size_t>(skeleton.data() - devices_.data());
    for (size_t device = first; device < first + skeleton.size(); ++device)
      known.push_back({peers_[device], waits_[device],
                       attribution_->collectives_of(devices_[device].ref),
                       pipelines_->waits_of(devices_[device].ref)});
    return known;
  }

  /// The same as observe_devices() and observe_hosts(), by whom the run's reader has for it.
  std::optional<base::Error> observe_elsewhere() {
    std::vector<std::span<DeviceOps const>> devices(processes_.skeleton.ranks.size());
    std::vector<size_t> processes;
    for (std::span<DeviceOps const> const group : chosen_groups()) {
      auto const process = static_cast<size_t>(group.front().ref.rank_index);
      devices[process] = group;
      processes.push_back(process);
    }
    for (size_t const process : chosen_hosts()) processes.push_back(process);

    auto const ask = [&](size_t process) {
      ProcessQuestion question;
      question.rank_index = static_cast<int32_t>(process);
      question.has_devices = !devices[process].empty();
      if (question.has_devices) question.known = known_of(devices[process]);
      question.step_source = host_steps_.source;
      question.has_layers = host_steps_.layers.has_value();
      question.threads = host_steps_.threads[process];
      question.options = options_;
      return question;
    };
    auto error = processes_.observers(
        processes, ask, [&](ObservedProcess observed) { keep_observed(std::move(observed)); });
    sort_hosts();
    return error;
  }

  /// `skeleton`: the devices of a process. From several threads at once.
  base::Expected<ObservedProcess> observe_group(std::span<DeviceOps const> skeleton) const {
    auto rank = processes_.read(static_cast<size_t>(skeleton.front().ref.rank_index));
    if (!rank) return base::fail_with(rank);

    return observe_process({**rank, skeleton, known_of(skeleton), host_steps_}, options_);
  }

  void keep_observed(ObservedProcess process) {
    for (DeviceWork& work : process.work) {
      if (work.worker) workers_.push_back(std::move(*work.worker));
      attribution_->add_device(work.ref, work.delays);
      pipelines_->add_device(work.ref, std::move(work.bubble));
    }
    append_results(std::move(process.results), results_);
  }

  /// The processes without any device that the options choose.
  std::vector<size_t> chosen_hosts() const {
    std::vector<bool> has_device(processes_.skeleton.ranks.size());
    for (DeviceOps const& device : devices_)
      has_device[static_cast<size_t>(device.ref.rank_index)] = true;

    std::vector<size_t> hosts;
    for (size_t process = 0; process < has_device.size(); ++process) {
      bool const is_chosen =
          !options_.rank || processes_.skeleton.ranks[process].trace.info().rank == *options_.rank;
      if (!has_device[process] && is_chosen) hosts.push_back(process);
    }
    return hosts;
  }

  std::optional<base::Error> observe_hosts() {
    for (size_t const process : chosen_hosts()) {
      auto const rank = processes_.read(process);
      if (!rank) return rank.error();
      observe_host(**rank, static_cast<int32_t>(process), host_steps_, options_, results_);
    }
    sort_hosts();
    return std::nullopt;
  }

  void sort_hosts() {
    std::stable_sort(
        results_.hosts.begin(), results_.hosts.end(),
        [](HostStats const& a, HostStats const& b) { return a.rank_index < b.rank_index; });
  }

  /// Phase 2. What devices cost each other: waiting in collectives, bubbles of pipelines.
  void attribute() {
    compare_clocks(results_.devices);
    steps_ = measure_steps(results_);
    std::vector<MeasuredTime> const measured = measured_times(steps_);

    results_.waits = attribution_->attribute_waits(measured);
    attribution_.reset();
    results_.pipelines = pipelines_->find(measured);
    pipelines_.reset();
  }

  /// Phase 3. Numbers of the whole run: the speed of its links, and how far its recording can be
  /// trusted.
  void summarise() {
    results_.links = fit_links(results_.collectives);
    results_.integrity = judge_trace_integrity(processes_.skeleton);

    compare_workers();

    auto const is_by_time = [](DeviceStats const& device) { return device.are_steps_by_time; };
    if (std::any_of(results_.devices.begin(), results_.devices.end(), is_by_time))
      results_.integrity.notes.emplace_back(
          "a device has no recorded launch: each of its operations counts to the step in whose "
          "time "
          "it began. Where the device lags behind the host, this is a later step");
  }

  /// What unequal workers of a pipeline cost. One process of several does not tell.
  void compare_workers() {
    bool const is_part_of_workers = options_.rank && processes_.skeleton.ranks.size() > 1;
    if (workers_.size() < 2 || is_part_of_workers) return;
    auto slowdown = find_slowdown(std::move(workers_));
    if (slowdown) {
      results_.slowdown = std::move(*slowdown);
    } else {
      results_.integrity.notes.push_back(
          "what unequal workers of the pipeline cost is not known: " + slowdown.error().message);
    }
  }

  /// Phase 4. put_bottleneck_first() completes it once the critical path is known.
  void judge() { results_.findings = find_all(processes_.skeleton, results_, steps_); }

  Processes const& processes_;
  AnalyzeOptions options_;
  std::vector<DeviceOps> devices_;  ///< of the skeleton
  HostSteps host_steps_;
  Analysis results_;
  std::vector<std::vector<PeerLaunch>> peers_;  ///< by device
  std::vector<model::IntervalSet> waits_;       ///< by device
  std::optional<WaitAttribution> attribution_;
  std::optional<PipelineFinder> pipelines_;
  std::vector<WorkerOps> workers_;  ///< of a pipeline
  MeasuredSteps steps_;
  std::atomic<bool> stop_ = false;
};

/// Some ranks of a run do not show what the others would wait for; of some steps `whatif` tells.
bool wants_gains(AnalyzeOptions const& options) {
  return options.wants_gains && !options.steps && !options.rank;
}

}  // namespace

size_t processes_at_once() {
  constexpr int kMost = 8;
  return static_cast<size_t>(std::clamp(tbb::info::default_concurrency(), 1, kMost));
}

bool has_marked_steps(model::Run const& skeleton) {
  return find_host_steps(skeleton).source != StepSource::kNone;
}

Analysis analyze(model::Run const& run, AnalyzeOptions const& options) {
  using Whole = std::shared_ptr<model::RankTrace const>;
  Processes const processes{
      run,
      [&](size_t process) { return Processes::Whole(Whole(Whole(), &run.ranks[process])); },
      {}};
  RunAnalyzer analyzer(processes, options);
  static_cast<void>(analyzer.observe());  // reading memory never fails

  Analysis const& results = analyzer.results();
  auto const find_path = [&]() -> RunAnalyzer::Path {
    ReadRange read;
    if (!is_path_of_all(run, results))
      return find_streamed_path(streamed_in_memory(run),
                                {analyzer.devices(), analyzer.host_steps(), results},
                                analyzer.options(), read);
    return find_critical_path({analyzer.devices(), analyzer.host_steps(), results.collectives,
                               results.devices, results.steps, options.launch_latency_limit_ns});
  };
  Analysis analysis = *analyzer.finish(find_path);
  if (wants_gains(options)) find_replayed_gains(run, analyzer.host_steps(), analysis);
  return analysis;
}

base::Expected<Analysis> analyze(StreamedRun const& run, AnalyzeOptions const& options,
                                 ProcessObservers const& observers) {
  using Whole = std::shared_ptr<model::RankTrace const>;
  auto const read = [&](size_t process) -> Processes::Whole {
    auto rank = run.read(process);
    if (!rank) return base::fail_with(rank);
    return Whole(std::make_shared<model::RankTrace const>(std::move(*rank)));
  };
  Processes const processes{run.skeleton, read, observers};
  RunAnalyzer analyzer(processes, options);
  if (auto error = analyzer.observe()) return base::fail("{}", error->message);

  ReadRange of_path;  // the replay looks into less of the run
  auto analysis = analyzer.finish([&] {
    return find_streamed_path(run, {analyzer.devices(), analyzer.host_steps(), analyzer.results()},
                              analyzer.options(), of_path);
  });
  if (!analysis || !wants_gains(options)) return analysis;

  auto const found = find_replayed_gains(run, analyzer.host_steps(), *analysis, std::move(of_path));
  if (!found) return base::fail_with(found);
  return analysis;
}

}  // namespace stepscope::analyzer
