#include "analyzer/compare/host_sample.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "analyzer/metrics/core/quantile.h"
#include "analyzer/metrics/steps/interleave.h"

namespace stepscope::analyzer {
namespace {

/// The usual steps of one thread, by number.
using StepsOfThread = std::map<int64_t, HostStepStats const*>;

/// Steps of a process that do not count: the warm-up, and those whose period has the other
/// program's turn in it.
class LeftOut {
 public:
  LeftOut(model::Run const& run, HostStats const& host) {
    model::TraceInfo const& info = run.ranks[static_cast<size_t>(host.rank_index)].trace.info();
    turns_ = turns_of(info);
    first_ = info.whole_steps.count > 0 ? info.whole_steps.first : INT64_MAX;
    if (info.whole_steps.count > 0) return;
    for (HostStepStats const& step : host.steps) first_ = std::min(first_, step.step);
  }
  [[nodiscard]] bool in_turn() const { return turns_.has_value(); }
  [[nodiscard]] bool contains(HostStepStats const& step) const {
    return step.warmup || (turns_ && turns_->is_after_pause(step.step - first_));
  }

 private:
  std::optional<InterleaveTurns> turns_;
  int64_t first_ = 0;
};

std::vector<StepsOfThread> steady_steps_by_thread(model::Run const& run, Analysis const& analysis) {
  std::map<std::pair<int32_t, uint32_t>, StepsOfThread> threads;
  for (HostStats const& host : analysis.hosts) {
    LeftOut const left_out(run, host);
    for (HostStepStats const& step : host.steps) {
      StepsOfThread& steady = threads[{host.rank_index, step.track}];
      if (!left_out.contains(step) && !step.outlier) steady.emplace(step.step, &step);
    }
  }

  std::vector<StepsOfThread> result;
  for (auto& [thread, steps] : threads)
    if (!steps.empty()) result.push_back(std::move(steps));
  return result;
}

/// Numbers that all threads have. Threads that share the steps among themselves have none in
/// common: then all numbers.
std::vector<int64_t> numbers_of(std::vector<StepsOfThread> const& threads) {
  std::map<int64_t, size_t> holders;
  for (StepsOfThread const& steps : threads)
    for (auto const& [number, step] : steps) ++holders[number];

  std::vector<int64_t> all, common;
  for (auto const& [number, count] : holders) {
    all.push_back(number);
    if (count == threads.size()) common.push_back(number);
  }
  return common.empty() ? all : common;
}

/// The mean over the threads that have the step.
void add_step_values(std::vector<StepsOfThread> const& threads, RunMeasurements& sample) {
  sample.step_ns.assign(sample.steps.size(), 0);
  sample.parts_ns.assign(kStepPartCount, std::vector<double>(sample.steps.size(), 0));

  for (size_t s = 0; s < sample.steps.size(); ++s) {
    double period = 0, input = 0, count = 0;
    for (StepsOfThread const& steps : threads) {
      auto const found = steps.find(sample.steps[s]);
      if (found == steps.end()) continue;
      period += static_cast<double>(found->second->period.length());
      input += static_cast<double>(found->second->input_ns);
      ++count;
    }

    sample.step_ns[s] = period / count;
    sample.parts_ns[static_cast<size_t>(idle_part(IdleCause::kInput))][s] = input / count;
    sample.parts_ns[static_cast<size_t>(StepPart::kCompute)][s] = (period - input) / count;
  }
}

/// Counts of steps that are left out, and the means with and without them.
void add_left_out(model::Run const& run, Analysis const& analysis, RunMeasurements& sample) {
  std::set<int64_t> warmup, outliers, steady;
  std::vector<int64_t> lengths;
  double all_ns = 0, steady_ns = 0, steady_count = 0;
  for (HostStats const& host : analysis.hosts) {
    LeftOut const left_out(run, host);
    for (HostStepStats const& step : host.steps) {
      if (step.warmup) warmup.insert(step.step);
      if (left_out.contains(step)) continue;
      (step.outlier ? outliers : steady).insert(step.step);
      auto const length = static_cast<double>(step.period.length());
      lengths.push_back(step.period.length());
      all_ns += length;
      if (step.outlier) continue;
      steady_ns += length;
      ++steady_count;
    }
  }

  sample.warmup_steps = warmup.size();
  sample.outlier_steps = outliers.size();
  sample.incomplete_steps = steady.size() - sample.steps.size();
  if (!lengths.empty()) sample.all_steps_ns = all_ns / static_cast<double>(lengths.size());
  if (steady_count > 0) sample.steady_steps_ns = steady_ns / steady_count;
  if (!lengths.empty()) sample.p95_ns = static_cast<double>(quantile(lengths, 95));
}

/// Own time by name, the mean over the processes with steps.
void add_ranges(Analysis const& analysis, RunMeasurements& sample) {
  std::map<std::string, RunMeasurements::HostRange> by_name;
  double processes = 0;
  for (HostStats const& host : analysis.hosts) processes += host.counted_steps > 0 ? 1 : 0;
  for (HostStats const& host : analysis.hosts) {
    if (host.counted_steps == 0) continue;
    for (HostRangeStats const& range : host.ranges) {
      if (range.names != 1 || !range.steady_exclusive_ns) continue;
      RunMeasurements::HostRange& row = by_name[range.name];
      row.name = range.name;
      row.waits = row.waits || range.kind == HostRangeKind::kInput;
      row.ns += static_cast<double>(*range.steady_exclusive_ns) / processes;
    }
  }

  for (auto& [name, row] : by_name) sample.ranges.push_back(std::move(row));
  std::stable_sort(sample.ranges.begin(), sample.ranges.end(),
                   [](auto const& a, auto const& b) { return a.ns > b.ns; });
  if (sample.ranges.size() > kMostComparedRanges) sample.ranges.resize(kMostComparedRanges);
}

void keep_fastest(RunMeasurements& sample) {
  sample.steps_in_turn = sample.steps.size();
  std::vector<size_t> order(sample.steps.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return sample.step_ns[a] < sample.step_ns[b]; });
  order.resize(static_cast<size_t>(std::ceil(kFastestInTurn * static_cast<double>(order.size()))));
  std::sort(order.begin(), order.end());

  auto const keep = [&](auto& values) {
    for (size_t i = 0; i < order.size(); ++i) values[i] = values[order[i]];
    values.resize(order.size());
  };
  keep(sample.steps);
  keep(sample.step_ns);
  for (std::vector<double>& part : sample.parts_ns) keep(part);
}

}  // namespace

void sample_hosts(model::Run const& run, Analysis const& analysis, RunMeasurements& sample) {
  std::vector<StepsOfThread> const threads = steady_steps_by_thread(run, analysis);
  if (threads.empty()) return;
  sample.of_hosts = true;
  sample.steps = numbers_of(threads);
  add_step_values(threads, sample);
  add_left_out(run, analysis, sample);

  bool const in_turn =
      std::any_of(analysis.hosts.begin(), analysis.hosts.end(),
                  [&](HostStats const& host) { return LeftOut(run, host).in_turn(); });
  if (in_turn)
    keep_fastest(sample);
  else
    add_ranges(analysis, sample);
}

}  // namespace stepscope::analyzer
