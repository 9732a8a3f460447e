#include "analyzer/compare/run_sample.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <unordered_map>

#include "analyzer/compare/host_sample.h"
#include "analyzer/metrics/core/quantile.h"
#include "analyzer/metrics/steps/interleave.h"
#include "analyzer/metrics/steps/measured_steps.h"
#include "trace/base/files/run_folder.h"

namespace stepscope::analyzer {
namespace {

/// Collectives of more sizes are seldom alike: those of most time are compared.
constexpr size_t kMostCollectiveSizes = 32;

/// A usual step of a device and what it is made of.
struct SampledStep {
  StepStats const* facts;
  Interval period;
  IdleSplit idle{};  ///< over the period
};

/// The steps of one device, by number.
using SampledSteps = std::map<int64_t, SampledStep>;

/// The idle time of the periods is all that the device's gaps say of them; periods and gaps come by
/// time.
void add_idle(MeasuredDevice const& device, std::vector<SampledStep*> const& by_period) {
  size_t gap = 0;
  for (size_t p = 0; p < device.periods.size(); ++p) {
    Interval const period = device.periods[p];

    for (; gap < device.gaps.size(); ++gap) {
      IdleGap const idle = device.gaps[gap];
      if (idle.when.begin >= period.end) break;
      if (by_period[p] == nullptr) continue;
      by_period[p]->idle[static_cast<size_t>(idle.cause)] +=
          std::min(idle.when.end, period.end) - std::max(idle.when.begin, period.begin);
    }
  }
}

/// `first`: the first row of the device in Analysis::steps.
SampledSteps steps_of_device(Analysis const& analysis, MeasuredDevice const& device, size_t first) {
  // A period ends where its step's window does.
  std::unordered_map<int64_t, StepStats const*> by_end;
  for (size_t i = first; i < analysis.steps.size() && analysis.steps[i].ref == device.ref; ++i)
    if (!analysis.steps[i].warmup) by_end.emplace(analysis.steps[i].window.end, &analysis.steps[i]);

  SampledSteps steps;
  std::vector<SampledStep*> by_period(device.periods.size(), nullptr);
  for (size_t p = 0; p < device.periods.size(); ++p) {
    auto const found = by_end.find(device.periods[p].end);
    if (found == by_end.end()) continue;
    auto const [at, is_new] =
        steps.emplace(found->second->step, SampledStep{found->second, device.periods[p], {}});
    if (is_new) by_period[p] = &at->second;
  }

  add_idle(device, by_period);
  return steps;
}

std::vector<int64_t> common_steps(std::vector<std::pair<DeviceRef, SampledSteps>> const& devices) {
  std::map<int64_t, size_t> holders;
  for (auto const& [ref, steps] : devices)
    for (auto const& [number, step] : steps) ++holders[number];
  std::vector<int64_t> common;
  for (auto const& [number, count] : holders)
    if (count == devices.size()) common.push_back(number);
  return common;
}

/// The steps with the least mean period, in their order.
std::vector<int64_t> fastest_of(std::vector<int64_t> const& steps,
                                std::vector<std::pair<DeviceRef, SampledSteps>> const& devices) {
  std::vector<std::pair<int64_t, int64_t>> by_length;  // Σ periods, number
  for (int64_t const number : steps) {
    int64_t sum = 0;
    for (auto const& [ref, of_device] : devices) sum += of_device.at(number).period.length();
    by_length.emplace_back(sum, number);
  }

  std::sort(by_length.begin(), by_length.end());
  auto const wanted =
      static_cast<size_t>(std::ceil(kFastestInTurn * static_cast<double>(by_length.size())));

  std::vector<int64_t> fastest;
  for (size_t i = 0; i < wanted; ++i) fastest.push_back(by_length[i].second);
  std::sort(fastest.begin(), fastest.end());
  return fastest;
}

void add_parts(RunMeasurements& sample, size_t at, SampledStep const& step, double share) {
  TimeSplit const& time = step.facts->time;
  auto const add = [&](StepPart part, int64_t ns) {
    sample.parts_ns[static_cast<size_t>(part)][at] += static_cast<double>(ns) * share;
  };

  int64_t rest = step.period.length();
  auto const take = [&](StepPart part, int64_t ns) {
    add(part, ns);
    rest -= ns;
  };

  take(StepPart::kCompute, time.compute_ns);
  take(StepPart::kCommunication, time.exposed_comm_ns - time.exposed_late_ns);
  take(StepPart::kWaiting, time.exposed_late_ns);
  take(StepPart::kCopies, time.exposed_copy_ns);
  for (size_t c = 0; c < step.idle.size(); ++c)
    take(idle_part(static_cast<IdleCause>(c)), step.idle[c]);

  // Nothing, unless gaps are missing.
  add(idle_part(IdleCause::kUnexplained), rest);
  sample.step_ns[at] += static_cast<double>(step.period.length()) * share;
}

/// Times of one device.
RunMeasurements::DeviceTime time_of(RunMeasurements const& sample, SampledSteps const& steps) {
  RunMeasurements::DeviceTime sums;
  for (int64_t const number : sample.steps) {
    TimeSplit const& time = steps.at(number).facts->time;
    sums.compute_ns += static_cast<double>(time.compute_ns);
    sums.busy_ns += static_cast<double>(time.busy_ns);
  }
  return sums;
}

/// Gathers kernels by name over the devices.
class KernelSampler {
 public:
  KernelSampler(Analysis const& analysis, RunMeasurements& sample)
      : analysis_(analysis), sample_(sample) {}

  void add_device(DeviceRef ref, SampledSteps const& steps) {
    auto const by_ref = [](KernelStats const& kernel, DeviceRef wanted) {
      return kernel.ref < wanted;
    };
    auto const first =
        std::lower_bound(analysis_.kernels.begin(), analysis_.kernels.end(), ref, by_ref);

    std::unordered_map<uint32_t, size_t> columns;
    double const share = 1 / static_cast<double>(sample_.devices);

    // The fastest steps are not typical in this: a copy ahead of its step makes another step
    // longer.
    uint64_t copied_in = 0;
    for (auto const& [number, step] : steps) {
      copied_in |= step.facts->copied_in_bytes;
      sample_.copied_in_bytes +=
          static_cast<double>(step.facts->copied_in_bytes) / static_cast<double>(steps.size());
    }

    for (size_t s = 0; s < sample_.steps.size(); ++s) {
      StepStats const& step = *steps.at(sample_.steps[s]).facts;

      for (StepKernel const& kernel : step.kernels) {
        auto const [found, is_new] = columns.emplace(kernel.kernel, 0);
        if (is_new) {
          bool const has_name = kernel.kernel != StepKernel::kOthers;
          found->second = column(has_name ? std::string_view((first + kernel.kernel)->name)
                                          : std::string_view());
        }
        RunMeasurements::Kernel& to = sample_.kernels[found->second];
        to.ns[s] += static_cast<double>(kernel.total_ns) * share;
        to.calls[s] += static_cast<double>(kernel.count) * share;
      }
    }

    sample_.fed_devices += copied_in > 0 ? 1 : 0;
  }
  /// After all devices.
  void finish() {
    auto const total = [](RunMeasurements::Kernel const& kernel) {
      double sum = 0;
      for (double const ns : kernel.ns) sum += ns;
      return sum;
    };

    std::vector<std::pair<double, RunMeasurements::Kernel>> sorted;
    for (RunMeasurements::Kernel& kernel : sample_.kernels) {
      for (double const calls : kernel.calls)
        sample_.kernel_calls += calls / static_cast<double>(sample_.steps.size());
      double const key = kernel.name.empty() ? -1 : total(kernel);
      sorted.emplace_back(key, std::move(kernel));
    }

    std::stable_sort(sorted.begin(), sorted.end(),
                     [](auto const& a, auto const& b) { return a.first > b.first; });

    sample_.kernels.clear();
    for (auto& [key, kernel] : sorted) sample_.kernels.push_back(std::move(kernel));
  }

 private:
  size_t column(std::string_view name) {
    auto const [found, is_new] = places_.emplace(std::string(name), sample_.kernels.size());
    if (is_new)
      sample_.kernels.push_back({std::string(name), std::vector<double>(sample_.steps.size(), 0),
                                 std::vector<double>(sample_.steps.size(), 0)});
    return found->second;
  }

  Analysis const& analysis_;
  RunMeasurements& sample_;
  std::unordered_map<std::string, size_t> places_;
};

/// Most that the device held from the begin of each of its steps' host ranges to the end; ranges
/// that overlap share nothing.
void add_memory(RunMeasurements& sample, MemoryStats const& memory, SampledSteps const& steps) {
  if (memory.timeline.empty()) return;

  sample.allocated_bytes.resize(sample.steps.size(), 0);
  if (memory.peak_reserved_bytes) sample.reserved_bytes.resize(sample.steps.size(), 0);
  std::vector<MemoryPoint> const timeline = memory.timeline.points();

  size_t at = 0;
  for (size_t s = 0; s < sample.steps.size(); ++s) {
    Interval const step = steps.at(sample.steps[s]).facts->host_window;
    while (at < timeline.size() && timeline[at].time_ns <= step.begin) ++at;

    uint64_t allocated = at > 0 ? timeline[at - 1].allocated_bytes : 0;
    uint64_t reserved = at > 0 ? timeline[at - 1].reserved_bytes : 0;
    for (; at < timeline.size() && timeline[at].time_ns < step.end; ++at) {
      allocated = std::max(allocated, timeline[at].allocated_bytes);
      reserved = std::max(reserved, timeline[at].reserved_bytes);
    }

    sample.allocated_bytes[s] = std::max(sample.allocated_bytes[s], static_cast<double>(allocated));
    if (memory.peak_reserved_bytes)
      sample.reserved_bytes[s] = std::max(sample.reserved_bytes[s], static_cast<double>(reserved));
  }
}

/// Each collective counts to the step in whose period its first participant begins on that one's
/// device.
void add_collectives(RunMeasurements& sample, Analysis const& analysis,
                     std::vector<std::pair<DeviceRef, SampledSteps>> const& devices) {
  struct Sum {
    double ns = 0, count = 0;
  };

  std::map<std::pair<model::CollectiveOp, uint64_t>, std::map<size_t, Sum>> by_size;
  for (CollectiveStats const& collective : analysis.collectives) {
    for (auto const& participant : collective.participants) {
      auto const device =
          std::lower_bound(devices.begin(), devices.end(), participant.ref,
                           [](auto const& known, DeviceRef ref) { return known.first < ref; });
      if (device == devices.end() || device->first != participant.ref) continue;

      // Steps come by number; within a run these are in the order of time.
      auto const step =
          std::partition_point(sample.steps.begin(), sample.steps.end(), [&](int64_t number) {
            return device->second.at(number).period.end <= participant.when.begin;
          });

      if (step != sample.steps.end() &&
          device->second.at(*step).period.begin <= participant.when.begin) {
        Sum& sum = by_size[{collective.op, collective.bytes}]
                          [static_cast<size_t>(step - sample.steps.begin())];
        sum.ns += static_cast<double>(collective.transfer_ns);
        ++sum.count;
      }
      break;
    }
  }

  for (auto const& [key, sums] : by_size) {
    RunMeasurements::Collective& to = sample.collectives.emplace_back();
    to.op = key.first;
    to.bytes = key.second;
    for (auto const& [step, sum] : sums) {
      to.transfer_ns.push_back(sum.ns / sum.count);
      to.per_step += sum.count / static_cast<double>(sample.steps.size());
      to.total_ns += sum.ns;
    }
  }

  std::stable_sort(sample.collectives.begin(), sample.collectives.end(),
                   [](auto const& a, auto const& b) { return a.total_ns > b.total_ns; });
  if (sample.collectives.size() > kMostCollectiveSizes)
    sample.collectives.resize(kMostCollectiveSizes);
}

/// Distinct step numbers in the periods of any device.
uint64_t count_steps(Analysis const& analysis, std::vector<MeasuredDevice> const& devices) {
  std::set<int64_t> numbers;
  size_t first = 0;
  for (MeasuredDevice const& device : devices) {
    while (first < analysis.steps.size() && analysis.steps[first].ref < device.ref) ++first;
    if (device.has_steps)
      for (auto const& [number, step] : steps_of_device(analysis, device, first))
        numbers.insert(number);
  }
  return numbers.size();
}

/// 95th percentile over the periods of all devices.
std::optional<double> p95_period(std::vector<MeasuredDevice> const& devices) {
  std::vector<int64_t> lengths;
  for (MeasuredDevice const& device : devices)
    if (device.has_steps)
      for (Interval const period : device.periods) lengths.push_back(period.length());
  return lengths.empty() ? std::nullopt : std::optional(static_cast<double>(quantile(lengths, 95)));
}

double mean_period(std::vector<MeasuredDevice> const& devices) {
  double total = 0, periods = 0;
  for (MeasuredDevice const& device : devices) {
    if (!device.has_steps) continue;
    total += static_cast<double>(device.total_ns);
    periods += static_cast<double>(device.periods.size());
  }
  return periods > 0 ? total / periods : 0;
}

/// What devices lose by late peers, for each ns of it that is charged to a late device: more than
/// one where collectives queue behind one that waited. They are exposed because of it, and waited
/// for no device themselves.
double lost_to_charged(MeasuredSteps const& measured, Analysis const& analysis) {
  constexpr double kLeastCharged = 0.1;
  double lost = 0, charged = 0;
  for (MeasuredDevice const& device : measured.steady)
    lost += static_cast<double>(device.exposed_late_ns);
  for (WaitStats const& waits : analysis.waits) charged += static_cast<double>(waits.exposed_ns);
  return charged > kLeastCharged * lost ? lost / charged : 1;
}

/// Idle time by what the host did meanwhile. Host ops are known of all steps together, warm-up too.
/// So each gets its share of what the sampled steps are idle for its cause.
void add_host_ops(RunMeasurements& sample, Analysis const& analysis) {
  std::array<double, kIdleCauseCount> of_cause{};
  for (HostOpStats const& op : analysis.host_ops)
    of_cause[static_cast<size_t>(op.cause)] += static_cast<double>(op.idle_ns);

  for (HostOpStats const& op : analysis.host_ops) {
    double const all_ns = of_cause[static_cast<size_t>(op.cause)];
    if (!op.host_op || all_ns <= 0) continue;
    double const share = static_cast<double>(op.idle_ns) / all_ns;
    std::vector<double> const& idle = sample.parts_ns[static_cast<size_t>(idle_part(op.cause))];
    if (idle.empty()) continue;
    double const idle_ns = std::accumulate(idle.begin(), idle.end(), 0.0);
    sample.host_ops.push_back(
        {op.cause, *op.host_op, share * idle_ns / static_cast<double>(idle.size())});
  }
}

/// Host ops and late devices, per step and device.
void add_blame(RunMeasurements& sample, model::Run const& run, Analysis const& analysis,
               MeasuredSteps const& measured) {
  if (analysis.steps.empty()) return;

  add_host_ops(sample, analysis);

  // Waiting by late rank: mean over the steady steps.
  double steady = 0;
  for (MeasuredDevice const& device : measured.steady)
    steady += static_cast<double>(device.periods.size());
  if (steady <= 0) return;

  double const lost_a_ns = lost_to_charged(measured, analysis);
  for (WaitStats const& waits : analysis.waits) {
    auto const index = static_cast<size_t>(waits.ref.rank_index);
    int32_t const rank =
        index < run.ranks.size() ? run.ranks[index].trace.info().rank : waits.ref.rank_index;
    sample.late.push_back({rank, waits.ref.device, cause_of(waits), waits.host_op,
                           lost_a_ns * static_cast<double>(waits.exposed_ns) / steady});
  }
}

void keep_most(std::optional<double>& most, std::optional<uint64_t> bytes) {
  if (bytes) most = std::max(most.value_or(0), static_cast<double>(*bytes));
}

bool is_in_turn(model::Run const& run) {
  return std::any_of(run.ranks.begin(), run.ranks.end(),
                     [](auto const& rank) { return turns_of(rank.trace.info()).has_value(); });
}

/// Which steps were left out, and how long all and the usual ones took; its common steps are there.
void add_step_counts(RunMeasurements& sample, Analysis const& analysis,
                     MeasuredSteps const& measured) {
  std::set<int64_t> warmup;
  for (StepStats const& step : analysis.steps)
    if (step.warmup && !step.after_pause) warmup.insert(step.step);
  sample.warmup_steps = warmup.size();
  sample.outlier_steps = count_steps(analysis, measured.outliers);
  sample.slow_start_steps = count_steps(analysis, measured.slow_start);
  sample.incomplete_steps = count_steps(analysis, measured.steady) - sample.steps.size();

  sample.all_steps_ns = mean_period(measured.all);
  sample.steady_steps_ns = mean_period(measured.steady);
  sample.p95_ns = p95_period(measured.all);
}

/// Facts that differ between any two runs and explain nothing: how many turns there were, why it
/// was written, and which job of its cluster a run was.
bool is_condition(std::string_view fact) {
  constexpr std::array<std::string_view, 8> kOfOneRun = {base::kWrittenBecauseFact,
                                                         kTurnsFact,
                                                         "Slurm job",
                                                         "Slurm array task",
                                                         "Slurm step",
                                                         "Slurm task",
                                                         "Kubernetes pod",
                                                         "Kubernetes job index"};
  return std::find(kOfOneRun.begin(), kOfOneRun.end(), fact) == kOfOneRun.end();
}

void add_conditions(RunMeasurements& sample, model::Run const& run, Analysis const& analysis) {
  sample.name = run.name;
  sample.processes = run.ranks.size();
  sample.step_source = analysis.step_source;
  sample.integrity = analysis.integrity.score;
  sample.missing_ranks = analysis.integrity.missing_ranks;

  std::set<std::string> names, hosts;
  double clocks = 0, counted = 0;
  for (DeviceStats const& device : analysis.devices) {
    if (!device.name.empty()) names.insert(device.name);
    keep_most(sample.peak_allocated_bytes, device.memory.peak_allocated_bytes);
    keep_most(sample.peak_reserved_bytes, device.memory.peak_reserved_bytes);
    if (!device.telemetry || !device.telemetry->busy_clock_mhz) continue;
    clocks += *device.telemetry->busy_clock_mhz;
    ++counted;
  }
  for (model::RankTrace const& rank : run.ranks)
    if (!rank.trace.info().host.empty()) hosts.insert(rank.trace.info().host);
  sample.device_names.assign(names.begin(), names.end());
  sample.hosts.assign(hosts.begin(), hosts.end());
  if (counted > 0) sample.busy_clock_mhz = clocks / counted;

  if (run.ranks.empty()) return;
  model::TraceInfo const& info = run.ranks.front().trace.info();
  sample.command = info.command;
  sample.tool = info.tool;
  for (auto const& fact : info.facts)
    if (is_condition(fact.first)) sample.facts.push_back(fact);
}

/// The first of several findings of a rule is the worst.
void add_findings(RunMeasurements& sample, Analysis const& analysis) {
  auto& findings = sample.findings.emplace();
  for (Finding const& finding : analysis.findings) {
    bool const is_known = std::any_of(findings.begin(), findings.end(), [&](auto const& found) {
      return found.rule == finding.rule;
    });
    if (!is_known)
      findings.push_back(
          {finding.rule, finding.severity, finding.cost_ns_per_step, finding.gain_alone});
  }
}

}  // namespace

char const* to_string(StepPart part) {
  switch (part) {
    case StepPart::kCompute:
      return "compute";
    case StepPart::kCommunication:
      return "exposed_comm";
    case StepPart::kWaiting:
      return "exposed_late";
    case StepPart::kCopies:
      return "exposed_copy";
    default:
      return to_string(static_cast<IdleCause>(static_cast<size_t>(part) -
                                              static_cast<size_t>(StepPart::kFirstIdle)));
  }
}

std::optional<StepPart> step_part_of(std::string_view key) {
  if (key == "exposed_wait") return StepPart::kWaiting;
  for (size_t p = 0; p < kStepPartCount; ++p)
    if (key == to_string(static_cast<StepPart>(p))) return static_cast<StepPart>(p);
  return std::nullopt;
}

RunMeasurements sample_run(model::Run const& run, Analysis const& analysis) {
  RunMeasurements sample;
  add_conditions(sample, run, analysis);
  add_findings(sample, analysis);
  MeasuredSteps const measured = measure_steps(analysis);
  std::vector<std::pair<DeviceRef, SampledSteps>> devices;
  size_t first = 0;
  for (MeasuredDevice const& device : measured.steady) {
    while (first < analysis.steps.size() && analysis.steps[first].ref < device.ref) ++first;
    if (!device.has_steps || device.periods.empty()) {
      ++sample.devices_without;
      continue;
    }
    devices.emplace_back(device.ref, steps_of_device(analysis, device, first));
  }

  sample.devices = devices.size();
  sample.steps = common_steps(devices);
  add_step_counts(sample, analysis, measured);
  if (devices.empty()) {
    sample_hosts(run, analysis, sample);
    return sample;
  }
  if (is_in_turn(run)) {
    sample.steps_in_turn = sample.steps.size();
    sample.steps = fastest_of(sample.steps, devices);
  }

  sample.step_ns.assign(sample.steps.size(), 0);
  sample.parts_ns.assign(kStepPartCount, std::vector<double>(sample.steps.size(), 0));
  if (sample.steps.empty()) return sample;
  for (KernelStats const& kernel : analysis.kernels)
    if (model::kind_info(kernel.kind).op_class == model::OpClass::kCompute)
      sample.kernel_names.insert(kernel.name);

  KernelSampler kernels(analysis, sample);
  for (auto const& [ref, steps] : devices) {
    for (size_t s = 0; s < sample.steps.size(); ++s)
      add_parts(sample, s, steps.at(sample.steps[s]), 1 / static_cast<double>(sample.devices));
    sample.device_times.push_back(time_of(sample, steps));
    kernels.add_device(ref, steps);
    auto const facts = std::lower_bound(
        analysis.devices.begin(), analysis.devices.end(), ref,
        [](DeviceStats const& device, DeviceRef wanted) { return device.ref < wanted; });
    if (facts != analysis.devices.end()) add_memory(sample, facts->memory, steps);
  }

  kernels.finish();
  add_collectives(sample, analysis, devices);
  add_blame(sample, run, analysis, measured);
  return sample;
}

}  // namespace stepscope::analyzer
